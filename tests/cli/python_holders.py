"""Variables whose blocks are known: name, module, least and most blocks that each alone keeps."""
import os
import sys
import weakref

sys.path.insert(0, os.getcwd())
with open("python_holders_lib.py", "w") as file:
    file.write("""DATA = [str(i) * 30 for i in range(3000)]
class Base:
    table = {i: str(i) * 20 for i in range(2000)}
""")
from python_holders_lib import DATA, Base

kept = [("a" * 100, str(i) * 50) for i in range(20000)]
table = {i: [i] * 10 for i in range(10000)}


class Node:
    def __init__(self, number):
        self.name = "node %d" % number
        self.next = None
        for i in range(8):
            setattr(self, "attribute%d" % i, str(number * i) * 3)


root = at = Node(0)
for i in range(2000):
    at.next = at = Node(i)
del at
seen = weakref.WeakSet()
at = root
while at:
    seen.add(at)
    at = at.next


def counter():
    cells = [str(i) * 10 for i in range(1500)]
    return lambda one: cells.append(one)


def lines():
    text = [str(i) for i in range(1200)]
    yield from text


add = counter()
once = lines()
next(once)
# A list that was longer: what it has let go of is another's.
short = [[i] for i in range(3000)]
taken = short[1000:]
del short[1000:]
