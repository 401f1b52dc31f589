"""scribble.py shrink|any|head SEED: a recorded program that means harm to its collector, through the memory that
they share: tries to make that smaller and larger, or writes noise anywhere, or where its order is kept."""
import ctypes, os, random, re, signal, sys

kind = sys.argv[1]
random.seed(int(sys.argv[2]))
places = [(int(begin, 16), int(end, 16)) for begin, end in
          re.findall(r"^([0-9a-f]+)-([0-9a-f]+) rw-s.*memfd:tidemark", open("/proc/self/maps").read(), re.M)]
if kind == "shrink":
    begin, end = places[0]
    memory = os.open(f"/proc/self/map_files/{begin:x}-{end:x}", os.O_RDWR)
    for size in 0, 1 << 40:
        try:
            os.ftruncate(memory, size)
            print("resized")
        except OSError as error:
            print(error.strerror)
    sys.exit(0)
for i in range(200):
    begin, end = random.choice(places)
    count = min(end - begin, random.choice([1, 8, 64, 4096]))
    room = end - begin if kind == "any" else min(end - begin, 4096 + count)
    ctypes.memmove(begin + random.randrange(room - count + 1), random.randbytes(count), count)
os.kill(os.getpid(), signal.SIGKILL)
