"""Object files whose packed sections would take gigabytes.

    packed.py zlib|gnu|xz|gz BYTES FILE    what such a section holds; unpacks to BYTES (but for its checksum)
    packed.py mark FILE SECTION            sets SHF_COMPRESSED in an object file"""
import gzip
import lzma
import struct
import sys
import zlib

PIECE = 16 << 20


def deflated(total):
    """Zeros: a stream of equal pieces, each of which begins anew."""
    packer = zlib.compressobj(9)
    first = packer.compress(bytes(PIECE)) + packer.flush(zlib.Z_FULL_FLUSH)
    piece = packer.compress(bytes(PIECE)) + packer.flush(zlib.Z_FULL_FLUSH)
    return first + piece * (total // PIECE - 1) + packer.flush()


def xz(total):
    whole = lzma.compress(bytes(PIECE), check=lzma.CHECK_NONE)
    head = 12 + (whole[12] + 1) * 4
    index = whole.rindex(b"\x00\x01")  # of one record
    chunks = whole[head:index].rstrip(b"\0")
    body = chunks * (total // PIECE) + b"\0"
    return whole[:head] + body + bytes(-len(body) % 4) + whole[index:]


def mark(path, wanted):
    data = bytearray(open(path, "rb").read())
    table, = struct.unpack_from("<Q", data, 40)
    count, names = struct.unpack_from("<HH", data, 60)
    strings, = struct.unpack_from("<Q", data, table + 64 * names + 24)
    for at in range(table, table + 64 * count, 64):
        name, _, flags = struct.unpack_from("<IIQ", data, at)
        if data[strings + name:].split(b"\0", 1)[0] == wanted.encode():
            struct.pack_into("<Q", data, at + 8, flags | 0x800)
    open(path, "wb").write(data)


if sys.argv[1] == "mark":
    mark(sys.argv[2], sys.argv[3])
else:
    kind, size = sys.argv[1], int(sys.argv[2])
    made = {"zlib": lambda: struct.pack("<IIQQ", 1, 0, size, 1) + deflated(size),
            "gnu": lambda: b"ZLIB" + struct.pack(">Q", size) + deflated(size),
            "gz": lambda: gzip.compress(b"", 9)[:10] + deflated(size)[2:],
            "xz": lambda: xz(size)}[kind]()
    open(sys.argv[3], "wb").write(made)
    print("%s: less than 4 MB: %s" % (kind, len(made) < 4e6))
