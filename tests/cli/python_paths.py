"""Calls its functions in each way that Python has, at random, and keeps a block of a size of its own at the end of each
path. "run SEED FILE": writes what the interpreter says of each path, and ends without freeing. "compare FILE DATABASE":
holds a recording against that: every function and line from the block up to the module."""
import asyncio
import collections
import contextlib
import functools
import itertools
import json
import os
import random
import sqlite3
import sys
import threading

MOST = 600
kept = [None] * (2 * MOST)
paths = []


def size_of_the_next():
    frame, path = sys._getframe(1), []
    while frame:
        path.append((frame.f_code.co_qualname, frame.f_lineno))
        frame = frame.f_back
    paths.append(path)
    return 50000 + 16 * len(paths)


def step(depth):
    if depth <= 0 or draw.random() < 0.1:
        kept[len(paths)] = bytes(size_of_the_next())
        return
    for _ in range(draw.choice([1, 1, 2])):
        if len(paths) < MOST:
            draw.choice(ways)(depth - 1)


def by_call(depth):
    step(depth)


def by_generator(depth):
    def generator():
        yield step(depth)

    list(generator())


def by_sent(depth):
    def generator():
        step((yield))

    running = generator()
    next(running)
    try:
        running.send(depth)
    except StopIteration:
        pass


def by_yield_from(depth):
    def inner():
        yield step(depth)

    def outer():
        yield from inner()

    for _ in outer():
        pass


def by_list(depth):
    return [step(depth) for _ in range(1)]


def by_dict(depth):
    return {i: step(depth) for i in range(1)}


def by_lambda(depth):
    (lambda: step(depth))()


def by_sorted(depth):
    sorted([1], key=lambda _: (step(depth), 0)[1])


def by_map(depth):
    list(map(lambda _: step(depth), [0]))


def by_reduce(depth):
    functools.reduce(lambda a, b: step(depth), [1, 2])


def by_partial(depth):
    functools.partial(step, depth)()


def by_grouping(depth):
    list(itertools.groupby([1], key=lambda _: step(depth)))


def by_default(depth):
    collections.defaultdict(lambda: step(depth))["x"]


def by_json(depth):
    json.dumps(object(), default=lambda _: (step(depth), 1)[1])


def by_exec(depth):
    exec("step(depth)", {"step": step, "depth": depth})


def by_eval(depth):
    eval("\n\nstep(depth)", {"step": step, "depth": depth})


def by_context(depth):
    @contextlib.contextmanager
    def context():
        step(depth)
        yield

    with context():
        pass


def by_exception(depth):
    try:
        raise ValueError
    except ValueError:
        step(depth)


def by_decorator(depth):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*arguments):
            return function(*arguments)

        return wrapper

    @decorate
    def decorated(depth):
        step(depth)

    decorated(depth)


def by_cache(depth):
    functools.lru_cache(lambda depth: step(depth))(depth)


def by_recursion(depth):
    def recurse(times):
        if times:
            recurse(times - 1)
        else:
            step(depth)

    recurse(draw.randrange(30))


def by_thread(depth):
    thread = threading.Thread(target=step, args=(depth,))
    thread.start()
    thread.join()


def by_coroutine(depth):
    async def coroutine():
        step(depth)

    async def main():
        await coroutine()

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(main())
    else:
        step(depth)


class Object:
    def __init__(self, depth, steps=True):
        self.depth = depth
        if steps:
            step(depth)

    @property
    def attribute(self):
        return step(self.depth)

    def __eq__(self, other):
        step(self.depth)
        return True

    def __len__(self):
        step(self.depth)
        return 1

    def __getattr__(self, name):
        return step(self.depth)


def by_class(depth):
    Object(depth)


def by_property(depth):
    Object(depth, False).attribute


def by_comparison(depth):
    Object(depth, False) == 1


def by_length(depth):
    len(Object(depth, False))


def by_attribute(depth):
    Object(depth, False).nothing


ways = [value for name, value in sorted(globals().items()) if name.startswith("by_")]


def run(file):
    for _ in range(60):
        step(draw.randrange(1, 9))
    with open(file, "w") as to:
        json.dump(paths, to)
    os._exit(0)


def compare(file, database):
    with open(file) as of:
        want = json.load(of)
    db = sqlite3.connect(database)
    up = {number: (parent, location) for number, parent, location in db.execute("SELECT id, parent, location FROM path")}
    frames = {
        location: [name, line]
        for location, name, line in db.execute("""SELECT frame.location, function.name, frame.line
            FROM location_frame AS frame JOIN function ON function.id = frame.function JOIN file ON file.id = function.file
            WHERE frame.depth = 0 AND (file.path LIKE '%.py' OR file.path LIKE '<%')""")
    }
    got = collections.Counter()
    for path, count in db.execute("SELECT path, live_count FROM site WHERE live_count > 0"):
        names = []
        while path:
            path, location = up[path]
            names += [frames[location]] if location in frames else []
        got[json.dumps(names)] += count
    wanted = collections.Counter(json.dumps(path) for path in want)
    missing = [path for path, count in wanted.items() if got[path] < count]
    print(*(f"not in the recording: {path}" for path in missing[:3]), sep="\n", end="" if not missing else "\n")
    print(f"{'many' if len(wanted) > 100 else len(wanted)} paths, {len(missing)} missing")


if sys.argv[1] == "run":
    draw = random.Random(int(sys.argv[2]))
    run(sys.argv[3])
compare(sys.argv[2], sys.argv[3])
