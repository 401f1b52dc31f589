"""Objects whose types are known: prints "TYPE COUNT" for what it keeps, and what gc has of some others."""
import abc
import collections
import enum
import gc


class Plain:
    def __init__(self, number):
        self.number = number


class Slotted:
    __slots__ = ("left", "right")


class NoAttributes:
    __slots__ = ()


class Items(list):
    pass


class Words(dict):
    pass


class Text(str):
    pass


class Number(int):
    pass


class Abstract(abc.ABC):
    pass


class Meta(type):
    pass


class Made(metaclass=Meta):
    def __init__(self):
        self.text = "made"


class Failure(Exception):
    pass


class Ünïcode:
    pass


Point = collections.namedtuple("Point", "x y")

makers = [
    (Plain, 700, lambda i: Plain(i)),
    (Slotted, 300, lambda i: Slotted()),
    (NoAttributes, 130, lambda i: NoAttributes()),
    (Items, 120, lambda i: Items([i] * 20)),
    (Words, 110, lambda i: Words({i: i})),
    (Text, 150, lambda i: Text("text %d" % i)),
    (Number, 160, lambda i: Number(i + 10**6)),
    (Abstract, 170, lambda i: Abstract()),
    (Made, 180, lambda i: Made()),
    (Failure, 190, lambda i: Failure(i)),
    (Ünïcode, 210, lambda i: Ünïcode()),
    (Point, 220, lambda i: Point(i, i)),
    (collections.OrderedDict, 90, lambda i: collections.OrderedDict(a=i)),
    (bytearray, 70, lambda i: bytearray(100)),
]
kept = [[make(i) for i in range(count)] for kind, count, make in makers]
gone = [Plain(i) for i in range(500)]
del gone
of_each = collections.Counter(type(one).__name__ for one in gc.get_objects())
for kind, count, make in makers:
    name = kind.__name__ if kind.__module__ == "__main__" else kind.__module__ + "." + kind.__name__
    print(name.replace("builtins.", ""), count)
for name in ("function", "module", "set", "property"):
    print("about", name, of_each[name])
