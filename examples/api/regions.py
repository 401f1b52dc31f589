"""Tidemark's API from Python, through ctypes:
    tidemark record -o python.tmk python3 regions.py
    tidemark report --show regions python.tmk
"""
import contextlib
import ctypes
import os

_library = ctypes.CDLL(os.environ.get("TIDEMARK_API", "libtidemark-api.so.0"))
_library.tidemark_current.restype = ctypes.c_uint64
UNKNOWN = 2**64 - 1


def mark(name):
    _library.tidemark_mark(name.encode())


@contextlib.contextmanager
def region(name):
    _library.tidemark_region_begin(name.encode())
    try:
        yield
    finally:
        _library.tidemark_region_end(name.encode())


def current_bytes():
    """Bytes allocated and not freed; None: nobody counts."""
    bytes_now = _library.tidemark_current()
    return None if bytes_now == UNKNOWN else bytes_now


if __name__ == "__main__":
    with region("load"):
        data = bytearray(3_000_000)
        with region("parse"):
            copy = bytes(data)
        before = current_bytes()
        del copy
        after = current_bytes()
    mark("loaded")
    print("nobody counts" if before is None else f"freed {before - after >= 3_000_000}")
