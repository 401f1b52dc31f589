"""Allocates at known lines, and ends without freeing. With "oracle" tracemalloc says what lives by line, without it nothing
of the kind runs. Only types that the interpreter keeps no free objects of: one that is taken again from there is no allocation."""
import os
import sys
import threading

ORACLE = "oracle" in sys.argv
if ORACLE:
    import tracemalloc

    tracemalloc.start(1)

kept = [None] * 20000
place = 0


class Node:
    __slots__ = ("text", "next")


def keep(thing):
    global place
    kept[place] = thing
    place += 1


def strings(count):
    for i in range(count):
        keep("name number %d" % i)


def chain(count):
    for i in range(count):
        keep(Node())


def recursive(depth):
    if depth:
        recursive(depth - 1)
    else:
        keep(bytes(5000))


def generated(count):
    for i in range(count):
        yield bytearray(200 + i)


def from_generator():
    for block in generated(50):
        keep(block)


def sorted_by(text):
    keep(text * 100)
    return text


def from_native():
    sorted("ab", key=sorted_by)


def grown():
    buffer = kept[0] = bytearray()
    for i in range(2000):
        buffer.append(1)


def freed():
    for i in range(1000):
        bytes(3000)


def in_thread():
    for i in range(100):
        keep(bytes(1000 + i))


def made_again_and_again():
    """Each function is gone before the next is made, often at the same address."""
    for i in range(200):
        space = {}
        exec(compile("def f():\n return bytes(700)\n", "made-%d" % (i % 4), "exec"), space)
        keep(space["f"]())


def made_with_other_lines():
    """Name, file, first line and often the address are those of the one before, the line is another one."""
    for i in range(90):
        space = None
        space = {}
        exec(compile("def f():\n%s return bytes(900)\n" % ("\n" * (i % 3)), "made-x", "exec"), space)
        keep(space["f"]())


strings(1000)
chain(500)
recursive(30)
from_generator()
from_native()
grown()
freed()
thread = threading.Thread(target=in_thread)
thread.start()
thread.join()
made_again_and_again()
made_with_other_lines()
if "fork" in sys.argv and os.fork() == 0:
    strings(77)
    os._exit(0)
elif "fork" in sys.argv:
    os.wait()

MEANT = {"strings", "chain", "recursive", "generated", "sorted_by", "grown", "in_thread"}
if ORACLE:
    first = {code.co_firstlineno: name for name in MEANT for code in [globals()[name].__code__]}
    for line in tracemalloc.take_snapshot().statistics("lineno"):
        frame = line.traceback[0]
        names = [first[l] for l in sorted(first) if l <= frame.lineno]
        if frame.filename.startswith("made-"):
            print(frame.filename, frame.lineno, line.count, line.size)
        elif frame.filename == __file__ and names and max(l for l in first if l <= frame.lineno) <= frame.lineno:
            print(os.path.basename(frame.filename), frame.lineno, line.count, line.size)
sys.stdout.flush()
os._exit(0)
