#!/usr/bin/env python3
"""No function without a caller: names what src/ and bfm/src/ define and never use.

    unused.py SOURCE BUILD      one line for each fault; status 1 if there is one, 77 if BUILD has no objects

A global function is used if another object file of src/ or bfm/src/ has a reference to it, or if its own source
names it twice: some other function of the file calls it or has its address. A `static inline` function of a
header is used if anything but its definition names it. The compiler itself warns of static functions that are
not used. Tests are no callers.

Excepted by rule: main and _start, what an export map lists (the functions that we stand in for, and the ABI), and what
unused.txt lists with a reason."""
import collections
import fnmatch
import glob
import json
import os
import re
import subprocess
import sys

COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)
WORD = re.compile(r"[A-Za-z_]\w*")
INLINE = re.compile(r"^static (?:inline|__always_inline)[^;={(]*?\b(\w+)\([^;{]*\)\s*\{", re.M)
STARTS = {"main", "_start"}  # the system calls these
PARTS = ("src/", "bfm/src/")


def objects(root, build):
    """(source, object file) of all that is compiled from src/ and bfm/src/, but into no test."""
    for entry in json.load(open(os.path.join(build, "compile_commands.json"), encoding="utf-8")):
        source = os.path.relpath(os.path.realpath(entry["file"]), root)
        output = re.search(r"(?:^|\s)-o\s+(\S+)", entry["command"])[1]
        if source.startswith(PARTS) and output.startswith(PARTS + ("bfm/",)) and "/bench/" not in output:
            yield source, os.path.join(build, output)


def symbols(paths):
    """Of each object file: functions that it defines, and names that it refers to. A process for each file would
    cost more than all the rest."""
    found = {path: (set(), set()) for path in paths}
    said = subprocess.run(["nm", "--no-sort", "--print-file-name", *paths], check=True, capture_output=True, text=True)
    for line in said.stdout.splitlines():
        path, _, rest = line.partition(":")
        kind, name = rest.split()[-2:]
        defined, wanted = found[path]
        (defined if kind in "TWi" else wanted if kind in "Uwv" else set()).add(name.split("@")[0])
    return found


def exported(root, build):
    """Patterns of the export maps' global parts (those of functions.def are made in the build), and the hooks
    that the exported names are aliases of."""
    yield "hook_*"
    for path in glob.glob(os.path.join(root, "src/**/*.map"), recursive=True) + \
            glob.glob(os.path.join(build, "src/**/*.map"), recursive=True) + \
            glob.glob(os.path.join(root, "bfm/src/*.map")):
        text = COMMENT.sub(" ", re.sub(r"#.*", "", open(path, encoding="utf-8").read()))
        for part in re.findall(r"global:(.*?)(?:local:|\})", text, re.S):
            yield from re.findall(r"[\w*?\[\]]+(?=\s*;)", part)


def excepted(root):
    for line in open(os.path.join(root, "tests/house/unused.txt"), encoding="utf-8"):
        if line.strip() and not line.startswith("#"):
            yield line.split()[0]


def sources(root):
    for part in PARTS:
        for path in glob.glob(os.path.join(root, part, "**"), recursive=True):
            if path.endswith((".c", ".h", ".def", ".S")):
                yield os.path.relpath(path, root), COMMENT.sub(" ", open(path, encoding="utf-8").read())


def unused_globals(found, texts, patterns):
    definers, users = collections.defaultdict(set), collections.defaultdict(set)
    in_objects = symbols([path for _, path in found])
    for source, path in found:
        defined, wanted = in_objects[path]
        for name in defined:
            definers[name].add(source)
        for name in wanted:
            users[name].add(source)
    for name, places in sorted(definers.items()):
        if name in STARTS or "." in name or users[name] - places or any(fnmatch.fnmatchcase(name, p) for p in patterns):
            continue
        for place in sorted(places):
            if texts[place].count(name) < 2:  # a first look, then words
                yield place, name
            elif sum(word == name for word in WORD.findall(texts[place])) < 2:
                yield place, name


def unused_inlines(texts, patterns):
    counts = collections.Counter()
    for text in texts.values():
        counts.update(WORD.findall(text))
    for place, text in sorted(texts.items()):
        if place.endswith(".h"):
            for name in INLINE.findall(text):
                if counts[name] < 2 and name not in patterns:
                    yield place, name


def main():
    root, build = os.path.realpath(sys.argv[1]), sys.argv[2]
    found = list(objects(root, build))
    if not found or any(not os.path.exists(path) for _, path in found):
        print("not all of src/ and bfm/ is built here")
        sys.exit(77)
    texts, patterns = dict(sources(root)), [*exported(root, build), *excepted(root)]
    faults = [*unused_globals(found, texts, patterns), *unused_inlines(texts, patterns)]
    for place, name in faults:
        print(f"{place}: {name}() has no caller")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
