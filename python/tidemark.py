"""Tidemark, from inside a Python program: regions, marks, snapshots, and windows of recording.

    import tidemark

    with tidemark.region("load"):          # or @tidemark.region("load") over a function
        data = load()
    tidemark.mark("loaded")                # a named moment of the timeline
    tidemark.snapshot("at its largest")    # a look at resident memory, and the profile on disk

    tidemark record -o run.tmk python3 program.py
    tidemark report --region load run.tmk

This is tidemark/tidemark.h by ctypes (tidemark-api(3) has the rules), in one file that needs
nothing else and may be copied beside a program. Where the process is not recorded, or Tidemark is
not there, all of it does nothing. No function raises an exception, whatever it is given. What it
has to say is one line on standard error. Python 3.8 or later, any thread. The child of a fork is in
none of its parent's regions and windows.

Names are cut at 59 bytes of UTF-8, at a character's end. What UTF-8 cannot say (a lone surrogate)
and NUL are written as escapes, as in `\\udcff`.
"""

from __future__ import annotations

import errno
import functools
import os
import sys
import time
from typing import Any, Callable, Optional, Union

__all__ = ["Tracker", "current_bytes", "is_recording", "mark", "pause", "peak_bytes", "region", "snapshot"]

_NAME_BYTES = 59
_UNKNOWN = 2**64 - 1
_WAIT_SECONDS = 10

# ---- The library --------------------------------------------------------------------------------


def _places() -> list:
    """Where libtidemark-api may be, the surest first."""
    name = "libtidemark-api.so.0"
    places = []
    if os.getuid() == os.geteuid() and os.getgid() == os.getegid():
        places.append(os.environ.get("TIDEMARK_API", ""))
        # `tidemark record` and `tidemark count` preload a library that lies beside ours.
        for path in os.environ.get("LD_PRELOAD", "").replace(":", " ").split():
            if os.path.basename(path).startswith("libtidemark") and os.path.isabs(path):
                places.append(os.path.join(os.path.dirname(path), name))
    prefix, tail = os.path.abspath(__file__), os.path.join("share", "tidemark", "python", "tidemark.py")
    if prefix.endswith(os.sep + tail):
        prefix = prefix[: -len(tail)]
        folders = [os.path.join("lib", getattr(sys.implementation, "_multiarch", "")), "lib", "lib64"]
        places += [os.path.join(prefix, folder, name) for folder in folders]
    return [place for place in places if place and os.path.exists(place)] + [name]


class _Nobody:
    """Stands in for the library where there is none: answers as where nobody records."""

    @staticmethod
    def _nothing(*_: Any) -> None:
        pass

    tidemark_mark = tidemark_region_begin = tidemark_region_end = _nothing
    tidemark_pause = tidemark_resume = _nothing

    @staticmethod
    def tidemark_is_recording() -> int:
        return 0

    @staticmethod
    def tidemark_current() -> int:
        return _UNKNOWN

    tidemark_peak = tidemark_current

    @staticmethod
    def tidemark_snapshot(_: bytes) -> int:
        return -1

    @staticmethod
    def tidemark_start() -> int:
        return -1


def _load() -> tuple:
    """The library twice: calls that keep the interpreter's lock, and calls that wait without it."""
    try:
        import ctypes
    except Exception:  # a Python without it
        return _Nobody, _Nobody
    for place in _places():
        try:
            quick, waiting = ctypes.PyDLL(place), ctypes.CDLL(place)
            for call in (quick.tidemark_mark, quick.tidemark_region_begin, quick.tidemark_region_end):
                call.argtypes, call.restype = [ctypes.c_char_p], None
            for call in (quick.tidemark_pause, quick.tidemark_resume):
                call.argtypes, call.restype = [], None
            for call in (waiting.tidemark_current, waiting.tidemark_peak):
                call.argtypes, call.restype = [], ctypes.c_uint64
            waiting.tidemark_snapshot.argtypes = [ctypes.c_char_p]
            waiting.tidemark_start.argtypes = quick.tidemark_is_recording.argtypes = []
            return quick, waiting
        except Exception:  # another library of that name, or none
            continue
    return _Nobody, _Nobody


_quick, _waiting = _load()
_mark = _quick.tidemark_mark
_begin = _quick.tidemark_region_begin
_end = _quick.tidemark_region_end

# ---- What all share -----------------------------------------------------------------------------

_forks = 0  # how many forks lie between this process and the one that imported the module
_windows = 0  # Trackers that are open, one within another or beside it
_said = set()  # of each sentence once


def _forked() -> None:
    global _forks, _windows
    _forks += 1
    _windows = 0


try:
    os.register_at_fork(after_in_child=_forked)
except Exception:
    pass


def _say(subject: str, sentence: str) -> None:
    if subject in _said:
        return
    _said.add(subject)
    try:
        sys.stderr.write("tidemark: " + sentence + "\n")
    except Exception:  # closed, or None
        pass


def _name(name: Any) -> bytes:
    try:
        text = name.decode("utf-8", "backslashreplace") if isinstance(name, (bytes, bytearray)) else str(name)
        encoded = text[: _NAME_BYTES + 1].replace("\0", "\\0").encode("utf-8", "backslashreplace")
        return encoded[:_NAME_BYTES].decode("utf-8", "ignore").encode()
    except Exception:  # its __str__ raises
        return b"(a name that cannot be written)"


# ---- Marks, snapshots, figures ------------------------------------------------------------------


def mark(name: Union[str, bytes]) -> None:
    """A moment with a name, for the timeline and for `tidemark at run.tmt mark:NAME`."""
    _mark(_name(name))


def snapshot(name: Union[str, bytes]) -> bool:
    """Makes a mark and has the process looked at now: what is resident goes into the profile under
    this name, and the profile on disk is brought up to date. Waits for that, 10 s at most; other
    threads go on. True: done. False: not recorded, or not in time."""
    return _waiting.tidemark_snapshot(_name(name)) == 0


def is_recording() -> bool:
    """Is this process being recorded with call paths?"""
    return _quick.tidemark_is_recording() == 1


def current_bytes() -> Optional[int]:
    """Bytes allocated and not freed, as requested; None: nobody counts. Under `tidemark record` the
    collector answers, in some ten microseconds."""
    figure = _waiting.tidemark_current()
    return None if figure == _UNKNOWN else figure


def peak_bytes() -> Optional[int]:
    """Most that current_bytes() was since the start; None: nobody counts."""
    figure = _waiting.tidemark_peak()
    return None if figure == _UNKNOWN else figure


class pause:
    """`with tidemark.pause():` no thread's new blocks are recorded; those before are followed on."""

    def __enter__(self) -> None:
        _quick.tidemark_pause()

    def __exit__(self, *_: Any) -> None:
        _quick.tidemark_resume()


# ---- Regions ------------------------------------------------------------------------------------

_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200  # co_flags; importing inspect takes 5 ms


class _Steps:
    """Runs an iterator (a generator's or a coroutine's) with the region open in each step only."""

    __slots__ = ("_inner", "_name")

    def __init__(self, inner: Any, name: bytes) -> None:
        self._inner, self._name = inner, name

    def __iter__(self) -> "_Steps":
        return self

    __await__ = __iter__

    def _step(self, call: Callable, *arguments: Any) -> Any:
        _begin(self._name)
        try:
            return call(*arguments)
        finally:
            _end(self._name)

    def __next__(self) -> Any:
        return self._step(next, self._inner)

    def send(self, value: Any) -> Any:
        return self._step(self._inner.send, value)

    def throw(self, *exception: Any) -> Any:
        return self._step(self._inner.throw, *exception)

    def close(self) -> None:
        self._step(self._inner.close)


def _around_plain(function: Callable, name: bytes) -> Callable:
    def wrapper(*arguments: Any, **named: Any) -> Any:
        _begin(name)
        try:
            return function(*arguments, **named)
        finally:
            _end(name)

    return wrapper


def _around_generator(function: Callable, name: bytes) -> Callable:
    def wrapper(*arguments: Any, **named: Any) -> Any:
        return (yield from _Steps(function(*arguments, **named), name))

    return wrapper


def _around_coroutine(function: Callable, name: bytes) -> Callable:
    async def wrapper(*arguments: Any, **named: Any) -> Any:
        return await _Steps(function(*arguments, **named).__await__(), name)

    return wrapper


def _around_async_generator(function: Callable, name: bytes) -> Callable:
    async def wrapper(*arguments: Any, **named: Any) -> Any:
        inner = function(*arguments, **named)
        step = inner.__anext__()
        while True:
            try:
                value = await _Steps(step.__await__(), name)
            except StopAsyncIteration:
                return
            try:
                sent = yield value
            except GeneratorExit:
                await _Steps(inner.aclose().__await__(), name)
                raise
            except BaseException as exception:
                step = inner.athrow(exception)
            else:
                step = inner.asend(sent)

    return wrapper


def _wrapper_of(function: Callable) -> Callable:
    inner = function
    while isinstance(inner, functools.partial):
        inner = inner.func
    flags = getattr(getattr(inner, "__code__", None), "co_flags", 0)
    if flags & _ASYNC_GENERATOR:
        return _around_async_generator
    if flags & _COROUTINE:
        return _around_coroutine
    return _around_generator if flags & _GENERATOR else _around_plain


class _Region:
    __slots__ = ("_name", "_forks")

    def __init__(self, name: Any) -> None:
        self._name, self._forks = _name(name), 0

    def __enter__(self) -> "_Region":
        self._forks = _forks
        _begin(self._name)
        return self

    def __exit__(self, *_: Any) -> None:
        if self._forks == _forks:
            _end(self._name)

    def __call__(self, function: Any) -> Any:
        if isinstance(function, (staticmethod, classmethod)):
            return type(function)(self(function.__func__))
        if not callable(function) or isinstance(function, type):
            return function
        wrapper = _wrapper_of(function)(function, self._name)
        return functools.update_wrapper(wrapper, function)


def region(name: Any) -> Any:
    """What this thread allocates inside is the region's, wherever it is freed: the figures of
    `tidemark report --region NAME`. Regions nest, and one may be entered again.

    `with tidemark.region("load"):`, or over a function: `@tidemark.region("load")`, and
    `@tidemark.region` by the function's own name. A region is a thread's. So over `async def` and
    over generators it is open while their own code runs (and what they await runs in this task), and
    closed while they are suspended: each step counts as an entry. A `with` that has an `await` or a
    `yield` inside stays open meanwhile, and has what other tasks of the thread allocate."""
    if callable(name) and hasattr(name, "__qualname__"):
        return _Region(name.__qualname__)(name)
    return _Region(name)


# ---- Windows ------------------------------------------------------------------------------------


class Tracker:
    """A window of recording: `with tidemark.Tracker("out.tmk"):`.

    In a process that nobody records, this records all of its threads from here to the end of the
    `with` into out.tmk, as `tidemark attach` would: what was allocated before is not known. Once in
    a process's life; a second window says so and records nothing. %p, %h and %n in the file's name
    are those of `tidemark record -o`. An older file becomes out.tmk.old. The `with` ends when the
    profile is complete, after 10 s at most.

    Under `tidemark record` the run has its profile already, and no other is written. There the
    window is the region "tracker" (of this thread) and the marks "tracker-begin" and "tracker-end"
    (of all): `tidemark record --start-on=tracker-begin --until=tracker-end` records it alone.

    follow: children of the process are recorded too, into profiles of their own."""

    def __init__(self, file: Optional[Union[str, bytes, os.PathLike]] = None, *, follow: bool = False) -> None:
        self._file, self._follow = file, follow
        self._path: Optional[str] = None  # of the profile that this window writes
        self._before: Optional[tuple] = None  # what had its name
        self._forks, self._outermost = 0, False

    def __enter__(self) -> "Tracker":
        global _windows
        self._forks, self._path = _forks, None
        _windows += 1
        self._outermost = _windows == 1
        if not is_recording():
            self._start()
        elif self._file is not None:
            _say("recorded", f"this process is recorded already: {self._file!r} is not written; "
                 "the window is region 'tracker' of that profile")
        if self._outermost:
            _mark(b"tracker-begin")
        _begin(b"tracker")
        return self

    def __exit__(self, *_: Any) -> None:
        global _windows
        if self._forks != _forks:  # the window is the parent's
            return
        _windows -= 1
        _end(b"tracker")
        if self._outermost:
            _mark(b"tracker-end")
        if self._path is not None:
            self._wait()

    def _start(self) -> None:
        try:
            problem = self._try()
        except Exception as exception:
            problem = str(exception)
        if problem:
            self._path = None
            _say("start", f"Tracker records nothing: {problem}. Run the program so: tidemark record "
                 "--start-on=tracker-begin --until=tracker-end -o FILE python3 PROGRAM")

    def _try(self) -> Optional[str]:
        """Begins the recording; or what is in its way."""
        if _waiting is _Nobody:
            return "libtidemark-api.so.0 is not there (TIDEMARK_API=PATH names it)"
        if self._file is None:
            return "it has no file"
        path = os.fsdecode(self._file)
        if not path or "\0" in path:
            return "its file has no name"
        if not os.access(os.path.dirname(path) or ".", os.W_OK):
            return f"{os.path.dirname(path) or '.'!r} cannot be written to"
        if _is_strange(path):
            return f"{path!r} is there already and is no file of Tidemark's"
        self._path, self._before = path, _identity(path)
        follow = "--follow" if self._follow else "--no-follow"
        status = _start_with(f"-q {follow} --output={_quoted(path)} --until=tracker-end")
        if status == 0:
            return None
        if status == -errno.ECONNREFUSED:
            return "no collector could be started"
        return os.strerror(-status) if status != -errno.ESTALE else "a process has one window, and it is over"

    def _wait(self) -> None:
        """Until the profile is complete: the collector writes it beside the program."""
        end = time.monotonic() + _WAIT_SECONDS
        path = self._path or ""
        known = "%" not in path  # else which name it became is the collector's affair
        while time.monotonic() < end:
            if not is_recording() and not known:
                return
            if not is_recording() and _identity(path) not in (None, self._before):
                if not os.path.exists(path + "-wal"):
                    return
            time.sleep(0.01)


def _identity(path: str) -> Optional[tuple]:
    try:
        found = os.stat(path)
        return found.st_ino, found.st_mtime_ns
    except OSError:
        return None


def _is_strange(path: str) -> bool:
    """Would the collector refuse to put its profile here? A profile that was there is kept as .old."""
    if not os.path.exists(path):
        return False
    if not os.path.isfile(path):
        return True
    with open(path, "rb") as file:
        head = file.read(16)
    return bool(head) and head[8:] != b"TMKPACK1" and head != b"SQLite format 3\0"


def _quoted(word: str) -> str:
    """As one word of TIDEMARK_OPTIONS, which is split as a shell would. (Importing shlex takes 3 ms.)"""
    return "'" + word.replace("'", "'\"'\"'") + "'"


def _start_with(options: str) -> int:
    """tidemark_start() reads its options from the environment, which is the program's own again
    afterwards. os.environ is not touched."""
    before = os.environ.get("TIDEMARK_OPTIONS")
    os.putenv("TIDEMARK_OPTIONS", options)
    try:
        return _waiting.tidemark_start()
    finally:
        if before is None:
            os.unsetenv("TIDEMARK_OPTIONS")
        else:
            os.putenv("TIDEMARK_OPTIONS", before)
