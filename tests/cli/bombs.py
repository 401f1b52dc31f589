"""Small files that would take all memory.

    bombs.py pprof FILE         samples of very long call paths, packed by gzip
    bombs.py profile DB FILE    a profile (an unpacked one, DB) that unpacks to three gigabytes of zeros"""
import gzip
import os
import struct
import subprocess
import sys

PIECE = 1 << 20


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def field(number, data):
    if isinstance(data, int):
        return varint(number << 3) + varint(data)
    return varint(number << 3 | 2) + varint(len(data)) + data


def write_pprof(path):
    """Every sample is a path of its own through 90,000 frames."""
    profile = b"".join(field(6, text) for text in (b"", b"inuse_space", b"bytes"))
    profile += field(1, field(1, 1) + field(2, 2))
    profile += b"".join(field(4, field(1, i) + field(3, i * 16)) for i in range(1, 120))
    for sample in range(1, 110):
        ids = varint(sample) + b"\x01" * 90000
        profile += field(2, field(1, ids[::-1]) + field(2, b"\x40"))
    with open(path, "wb") as file:
        file.write(gzip.compress(profile, 9))


def pack(data):
    return subprocess.run(["zstd", "-q", "-19", "--check", "-c"], input=data, capture_output=True, check=True).stdout


def write_profile(database, path):
    plain = open(database, "rb").read()
    pieces = -(-len(plain) // PIECE)
    plain = plain.ljust(pieces * PIECE, b"\0")
    zeros = 3 << 10
    with open(path, "wb") as file:
        file.write(struct.pack("<II8sQII", 0x184D2A5E, 24, b"TMKPACK1", (pieces + zeros) * PIECE, PIECE, 0))
        for i in range(pieces):
            file.write(pack(plain[i * PIECE:(i + 1) * PIECE]))
        file.write(pack(bytes(PIECE)) * zeros)


if sys.argv[1] == "pprof":
    write_pprof(sys.argv[2])
else:
    write_profile(sys.argv[2], sys.argv[3])
print(os.path.getsize(sys.argv[-1]) < 300000)
