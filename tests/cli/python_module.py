"""Everything of the module `tidemark` with sizes that are known: blocks of 100,000 bytes, so that the
module's own are told from them."""
import asyncio
import functools
import inspect
import os
import sys
import threading

import tidemark

kept = []


def take(count):
    kept.extend(bytes(100000) for _ in range(count))


class Bad:
    def __str__(self):
        raise ValueError("no")


@tidemark.region("plain")
def plain(count):
    take(count)
    return count


class Holder:
    @tidemark.region("static")
    @staticmethod
    def static():
        take(1)

    @tidemark.region
    def named(self):
        take(2)


@tidemark.region("generated")
def generated():
    take(3)
    got = yield 1
    take(got)
    try:
        yield 2
    except KeyError:
        take(1)
    return "end"


def around():
    return (yield from generated())


def drive():
    walk = around()
    assert next(walk) == 1
    take(50)  # outside: it is suspended
    assert walk.send(4) == 2
    try:
        walk.throw(KeyError("x"))
    except StopIteration as stop:
        assert stop.value == "end"


@tidemark.region("waiting")
async def waiting(event):
    take(5)
    await event.wait()
    take(6)
    return 7


@tidemark.region("stream")
async def stream():
    for count in (1, 2):
        take(count)
        await asyncio.sleep(0)
        try:
            yield count
        except GeneratorExit:
            take(4)
            raise


async def other(event):
    take(60)  # while the other one waits: in no region
    event.set()


async def tasks():
    event = asyncio.Event()
    assert (await asyncio.gather(waiting(event), other(event)))[0] == 7
    assert [each async for each in stream()] == [1, 2]
    last = stream()
    assert await last.__anext__() == 1
    await last.aclose()


def threads():
    with tidemark.region("of a thread"):
        other_thread = threading.Thread(target=plain, args=(8,))
        other_thread.start()
        other_thread.join()
        take(1)


def forks():
    with tidemark.region("forked"):
        child = os.fork()
        if child == 0:
            with tidemark.region("in the child"):
                take(2)
        else:
            os.waitpid(child, 0)
    if child == 0:
        os._exit(0)


def hostile():
    for name in ("a\nb\t\x1b[31m", "\udcff\ud800", "x" * 500, "é" * 40, "", "nul\0nul", b"\xff\xfe", None, 5, Bad(), "<b>&"):
        with tidemark.region(name):
            pass
        tidemark.mark(name)
    assert tidemark.region("x")(5) == 5 and tidemark.region("x")(Bad) is Bad
    try:
        with tidemark.region("thrown"):
            raise KeyError("mine")
    except KeyError:
        pass
    assert plain.__name__ == "plain" and inspect.iscoroutinefunction(waiting)
    assert tidemark.region("part")(functools.partial(plain, 0))() == 0


with open("pid", "w") as file:
    file.write(str(os.getpid()))
plain(10)
Holder.static()
Holder().named()
drive()
asyncio.run(tasks())
threads()
with tidemark.pause():
    take(70)
tidemark.mark("worked")
print("snapshot", tidemark.snapshot("look"), "recording", tidemark.is_recording(), "figures",
      (tidemark.current_bytes() or 0) > 10000000, tidemark.peak_bytes() is not None)
sys.stdout.flush()
forks()
hostile()
print("done")
