"""What the pages of a process hold, page by page and by this script's own reading: pages.py PID NAME:START:END …
prints for each range its bytes, and how many of them are zeros, copies of a page at a lower address, and
what LZ4 spares of the others. Ends with 77 where the process cannot be read."""
import ctypes
import struct
import sys

PAGE = 4096
lz4 = ctypes.CDLL("liblz4.so.1")


def private_pages(pid):
    """Addresses and contents of the pages that are there and private, by address."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(f"/proc/{pid}/pagemap", "rb") as pagemap, \
            open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in maps:
            words = line.split()
            start, end = (int(word, 16) for word in words[0].split("-"))
            if "r" not in words[1] or "p" not in words[1] or words[-1] in ("[vvar]", "[vsyscall]", "[vdso]"):
                continue
            pagemap.seek(start // PAGE * 8)
            entries = struct.unpack(f"<{(end - start) // PAGE}Q", pagemap.read((end - start) // PAGE * 8))
            for number, entry in enumerate(entries):
                if entry >> 63 and not entry >> 61 & 1:
                    memory.seek(start + number * PAGE)
                    yield start + number * PAGE, memory.read(PAGE)


def spared(page):
    room = ctypes.create_string_buffer(PAGE)
    packed = lz4.LZ4_compress_default(page, room, PAGE, PAGE - 1)
    return PAGE - packed if packed > 0 else 0


def main():
    ranges = [(name, int(start, 16), int(end, 16)) for name, start, end in (word.split(":") for word in sys.argv[2:])]
    sums = {name: [0, 0, 0, 0] for name, _, _ in ranges}
    seen = set()
    for address, page in private_pages(int(sys.argv[1])):
        is_zero = not any(page)
        is_copy = not is_zero and page in seen
        seen.add(page)
        for name, start, end in ranges:
            part = min(end, address + PAGE) - max(start, address)
            if part <= 0:
                continue
            found = sums[name]
            found[0] += part
            if is_zero:
                found[1] += part
            elif is_copy:
                found[2] += part
            else:
                found[3] += spared(page) * part / PAGE
    for name, found in sums.items():
        print(name, *(int(number) for number in found))


try:
    main()
except PermissionError as error:
    print(error, file=sys.stderr)
    sys.exit(77)
