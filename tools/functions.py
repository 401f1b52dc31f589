#!/usr/bin/env python3
"""Compares src/inprocess/interpose/functions.def, the list of what Tidemark stands in for, with the files
that are not made from it when Tidemark is built.

    functions.py                one line for each difference; status 1 if there is one
    functions.py --write        writes what can be written: the browser's list and Debian's symbols
    functions.py --build DIR    looks into the libraries of a build, too: each exports its rows

Compared: web/src/model/allocators.ts; debian/libtidemark0.symbols; of bfm/, which is a project of its own,
src/export.map, tests/names.c and Debian's symbols."""
import argparse
import os
import re
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
FUNCTIONS = "src/inprocess/interpose/functions.def"
ALLOCATORS = "web/src/model/allocators.ts"
SYMBOLS = "debian/libtidemark0.symbols"
ROW = re.compile(r"^([A-Z_]+)\((\w+), ([a-z ]+)(?:,\s*\"([^\"]*)\")?", re.M)
CLASSES = {"ALLOCATION", "ALLOCATION_OUT", "RELEASE", "NEW", "DELETE", "REALLOCATION", "FUNCTION", "SAME_AS",
           "REPLACEMENT", "CALLED", "LEFT"}
MADE_BY_HOOKS = {"ALLOCATION", "ALLOCATION_OUT", "RELEASE", "NEW", "DELETE", "REALLOCATION"}
OF_MALLOC = {"ALLOCATION", "ALLOCATION_OUT", "RELEASE", "REALLOCATION"}
WORDS = {"recorder", "attach", "pages", "counters", "count", "bfm"}
# Classes whose calls return a block: the innermost frames of valgrind's stacks.
GIVE_BLOCKS = ("ALLOCATION", "ALLOCATION_OUT", "REALLOCATION", "NEW")
# What the libraries export besides (regular expressions).
LIBRARIES = {"tidemark": ({"recorder"}, r"tidemark_(recorder_1|late_\w+)"),
             "tidemark-bfm": ({"pages", "bfm"}, r"bfm_\w+|tidemark_recorder_1"),
             "tidemark-count": ({"counters", "count"}, r"tidemark_counter_1"),
             "tidemark-malloc-count": ({"counters"}, r"malloc_count_\w+|stack_count_\w+|tidemark_memprofile_\w+"),
             "tidemark-malloc-profile": ({"counters"}, r"malloc_count_\w+|malloc_(enter|exit_current)_region|memprofile_\w+")}


class Row:
    def __init__(self, match):
        self.kind, self.name, words, self.demangled = match.groups()
        self.words = set(words.split())


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def rows_of(text):
    return [row for row in map(Row, ROW.finditer(text)) if row.kind in CLASSES]


def row_faults(rows):
    named_rows = {row.name for row in rows}
    for kind, name in re.findall(r"^([A-Z_]+)\((\w+)", read(FUNCTIONS), re.M):
        if kind not in CLASSES:
            yield f"{FUNCTIONS}: {name}: no such class: {kind}"
        elif name not in named_rows:
            yield f"{FUNCTIONS}: {name}: its words do not stand behind its name, in the same line"
    for row in rows:
        for word in sorted(row.words - WORDS):
            yield f"{FUNCTIONS}: {row.name}: no such word: {word}"
        if row.kind in MADE_BY_HOOKS and not {"recorder", "attach", "counters"} <= row.words:
            yield f"{FUNCTIONS}: {row.name}: a hook of this class is in recorder, attach and counters"
        if row.kind in OF_MALLOC and "bfm" not in row.words:
            yield f"{FUNCTIONS}: {row.name}: BFM has to bring it: else the C library's would meet BFM's blocks"
    mangled = [row.name for row in rows if row.demangled]
    told = subprocess.run(["c++filt"], input="\n".join(mangled), capture_output=True, text=True, check=True)
    for row, name in zip((row for row in rows if row.demangled), told.stdout.split("\n")):
        if row.demangled != name:
            yield f"{FUNCTIONS}: {row.name} is {name}, not {row.demangled}"


def named(rows, *words):
    return {row.name for row in rows if row.words & set(words)}


def differences(place, has, wanted):
    for name in sorted(wanted - has):
        yield f"{place} lacks {name}, which has a row in {FUNCTIONS}"
    for name in sorted(has - wanted):
        yield f"{place} has {name}, which has no row in {FUNCTIONS} that says so"


# ---- The browser ----

def allocators(rows):
    names = []
    for row in rows:
        if row.kind in GIVE_BLOCKS:
            names += [row.name] + ([row.demangled] if row.demangled else [])
    lines = "".join(f'    "{name}",\n' for name in names)
    return (f"/* Written by tools/functions.py from {FUNCTIONS}: what\n"
            " * returns a block, as the innermost frame of a stack has it. */\n"
            f"export const allocators: readonly string[] = [\n{lines}];\n")


# ---- Debian ----

SYMBOL = re.compile(r"^ (\w+)@Base (\S+)$", re.M)
PARTS = re.compile(r"^lib\S+\.so\.\d+ .*\n(?:[ |*].*\n)*", re.M)


def is_own(library, name):
    return re.fullmatch(LIBRARIES[library][1], name)


def symbols(text, rows):
    """The symbols file with the rows of each library, new ones at this version."""
    version = re.search(r"\bVERSION (\d+\.\d+\.\d+)", read("CMakeLists.txt"))[1]

    def part(match):
        head, *lines = match[0].splitlines()
        library = re.match(r"lib(\S+)\.so", head)[1]
        if library not in LIBRARIES:
            return match[0]
        since = dict(SYMBOL.findall(match[0]))
        names = {name for name in since if is_own(library, name)} | named(rows, *LIBRARIES[library][0])
        others = [line for line in lines if not SYMBOL.match(line)]
        return "\n".join([head, *others, *(f" {name}@Base {since.get(name, version)}" for name in sorted(names))]) + "\n"

    return PARTS.sub(part, text)


# ---- BFM ----

def bfm_faults(rows):
    wanted = named(rows, "bfm")
    exported = {name for name in re.findall(r"\b(\w+);", read("bfm/src/export.map")) if not name.startswith("bfm_")}
    yield from differences("bfm/src/export.map", exported, wanted)
    tested = re.search(r"names\[\] = \{(.*?)\}", read("bfm/tests/names.c"), re.S)[1]
    yield from differences("bfm/tests/names.c", set(re.findall(r'"(\w+)"', tested)), wanted)
    packaged = {name for name, _ in SYMBOL.findall(read("debian/libbfm0.symbols")) if not name.startswith("bfm_")}
    yield from differences("debian/libbfm0.symbols", packaged, wanted)


# ---- Libraries ----

def library_faults(rows, build):
    for library, (words, own) in LIBRARIES.items():
        path = os.path.join(build, f"lib{library}.so")
        listed = subprocess.run(["nm", "-D", "--defined-only", "-P", path], capture_output=True, text=True, check=True)
        exported = {line.split()[0].split("@")[0] for line in listed.stdout.splitlines()}
        yield from differences(f"lib{library}.so", {name for name in exported if not re.fullmatch(own, name)},
                               named(rows, *words))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--build")
    arguments = parser.parse_args()
    rows = rows_of(read(FUNCTIONS))
    faults = [*row_faults(rows), *bfm_faults(rows)]
    if arguments.build:
        faults += library_faults(rows, arguments.build)
    for path, text in ((ALLOCATORS, allocators(rows)), (SYMBOLS, symbols(read(SYMBOLS), rows))):
        if arguments.write:
            with open(os.path.join(ROOT, path), "w", encoding="utf-8") as file:
                file.write(text)
        elif not os.path.exists(os.path.join(ROOT, path)) or read(path) != text:
            faults.append(f"{path} is not what {FUNCTIONS} says: tools/functions.py --write")
    print(*faults, sep="\n", end="\n" if faults else "")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
