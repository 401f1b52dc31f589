#!/usr/bin/env python3
"""Holds src/ and bfm/ to the rules of walls (ARCHITECTURE.md). Reads the sources and the list of rooms that
CMake has written (build/…/house.txt: "room NAME FOLDER USES…", in the order of the storeys).

    house.py SOURCE house.txt            the checks, one line for each fault; status 1 if there is one
    house.py SOURCE house.txt --uses     what each room's USES should be

Checked: a first-level folder uses only those before it; no circle; USES names each room whose headers the
room reads, directly or through other headers, and no other; no source is compiled into a target of another
room but those in borrowed.txt; no two files of one name but where the room says what a file is; at most a
dozen first-level folders; every .c file opens with a comment of at least 16 words of its own; comments wrap at 100
columns; nobody but a few looks into a struct figure; nobody but base/now.h asks what time it is; no OPTION_CALL has a place in its target; above the pipeline nobody but those in unknowns.txt says UINT64_MAX."""
import collections
import glob
import json
import os
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s+"([a-z_0-9]+)/([A-Za-z_0-9./]+)"', re.M)
# One name in several rooms: each of these says what it is by its room.
SAME_NAME = {"CMakeLists.txt", "README.md", "main.c"}
SAME_NAME_ROOMS = {"commands"}  # a file there is the command of its name
MOST_STOREYS = 12
LEAST_HEADING_WORDS = 16  # two short sentences
MOST_COLUMNS = 100
COMMENT = re.compile(r"^\s*\*|/\*|^\s*//")
DRAWING = re.compile(r"[\u2190-\u25ff]|^\s*\*  +\S")
# What may see how a figure says that it is not known: its own header, and the bytes that the processes of a
# job's analysis send each other.
RAW_FIGURE = re.compile(r"(?:\.|->)raw\b")
OPENS_FIGURES = {"src/model/figure.h", "src/analysis/job/job_summary_bytes.c", "src/analysis/job/job_tree.c"}
# UINT64_MAX was once the unknown. Here it is something else, and tests/house/unknowns.txt says what.
FIGURES_ONLY = ("src/analysis/", "src/show/", "src/formats/", "src/cli/")

# The kernel's clocks have one door, so that a library in front of the C library tells us none of its times. What
# runs inside programs has clocks of its own.
CLOCK = re.compile(r"\b(?:clock_gettime|gettimeofday)\s*\(")
READS_CLOCKS = ("src/common/base/now.h", "src/common/base/ticks.h", "src/inprocess/", "bfm/")


OPTION_ROW = re.compile(r'\{("[^{}]*\bOPTION_CALL\b[^{}]*)\}')
OPTION_PLACE = re.compile(r"\b(?:TO|COMMON|OPTION_TO)\(")


class Room:
    def __init__(self, name, folder, uses):
        self.name, self.folder, self.uses = name, folder, uses
        self.storey = folder.split("/")[1] if folder.startswith("src/") else folder.split("/")[0]


def read_rooms(path):
    rooms = {}
    for line in open(path, encoding="utf-8"):
        _, name, folder, *uses = line.split()
        rooms[name] = Room(name, folder, uses)
    return rooms


def files_of(root, room):
    folder = os.path.join(root, room.folder)
    return sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith((".c", ".h")))


def included(path, cache={}):
    if path not in cache:
        text = open(path, encoding="utf-8").read()
        cache[path] = [(room, name) for room, name in INCLUDE.findall(text)]
    return cache[path]


def read_borrowed(root):
    """(room, source) of each line "ROOM PATTERN" of borrowed.txt."""
    for line in open(os.path.join(root, "tests/house/borrowed.txt"), encoding="utf-8"):
        if line.strip() and not line.startswith("#"):
            room, pattern = line.split()
            for path in sorted(glob.glob(os.path.join(root, pattern))) or [os.path.join(root, pattern)]:
                yield room, os.path.relpath(path, root)


def rooms_read(root, rooms, room):
    """The rooms whose headers a room's sources, borrowed ones too, read, also through headers."""
    seen, open_files, found = set(), files_of(root, room), set()
    open_files += [os.path.join(root, source) for name, source in read_borrowed(root) if name == room.name]
    while open_files:
        path = open_files.pop()
        if path in seen:
            continue
        seen.add(path)
        for other, name in included(path):
            if other not in rooms:
                continue
            header = os.path.join(root, rooms[other].folder, name)
            if os.path.exists(header):
                found.add(other)
                open_files.append(header)
    return found - {room.name}


def storey_faults(root, rooms):
    order = re.findall(r"^add_subdirectory\((\w+)\)", open(os.path.join(root, "src/CMakeLists.txt")).read(), re.M)
    if len(order) > MOST_STOREYS:
        yield f"src/ has {len(order)} first-level folders; at most {MOST_STOREYS} are read in one go"
    for name in sorted(os.listdir(os.path.join(root, "src"))):
        if os.path.isdir(os.path.join(root, "src", name)) and name not in order:
            yield f"src/{name} is in no order (src/CMakeLists.txt)"
    place = {name: i for i, name in enumerate(order)}
    place["bfm"] = -1
    for room in rooms.values():
        for used in room.uses:
            if place[rooms[used].storey] > place[room.storey]:
                yield f"{room.folder} uses {rooms[used].folder}, which comes after it"


def circle_faults(rooms):
    done, path = set(), []

    def visit(name):
        if name in path:
            yield "a circle: " + " -> ".join(path[path.index(name):] + [name])
            return
        if name in done:
            return
        path.append(name)
        for used in rooms[name].uses:
            yield from visit(used)
        path.pop()
        done.add(name)

    for name in rooms:
        yield from visit(name)


def uses_faults(root, rooms):
    for room in rooms.values():
        read = rooms_read(root, rooms, room)
        for name in sorted(set(room.uses) - read):
            yield f"{room.folder}: USES names {name}, of which it reads no header"
        for name in sorted(read - set(room.uses)):
            yield f"{room.folder}: reads headers of {name}, which is not in its USES"


def borrowed_faults(root, rooms, build):
    """Sources compiled into a target of another room."""
    allowed, found = set(read_borrowed(root)), set()
    for entry in json.load(open(os.path.join(build, "compile_commands.json"), encoding="utf-8")):
        source = os.path.relpath(os.path.realpath(entry["file"]), root)
        target = re.search(r"(?:^|\s)-o\s+(\S+?)/CMakeFiles/([^/]+)\.dir/", entry["command"])
        if not target or not source.startswith(("src/", "bfm/src/")):
            continue
        if target[1].startswith(("tests", "bfm/bench")):
            continue  # a test may compile what it tests
        borrower = target[2][3:] if target[2][3:] in rooms else room_at(rooms, target[1])
        if borrower != room_at(rooms, os.path.dirname(source)):
            found.add((borrower, source))
    for room, source in sorted(found - allowed):
        yield f"{source} is compiled into a target of {room}, another room (tests/house/borrowed.txt)"
    for room, source in sorted(allowed - found):
        yield f"tests/house/borrowed.txt: {source} is not compiled into a target of {room} any more"


def room_at(rooms, folder):
    """The room of a folder; of bfm, which has its list above src/, too."""
    for room in rooms.values():
        if folder in (room.folder, room.folder.removesuffix("/src")):
            return room.name
    raise SystemExit(f"house.py: {folder} is no room")


def name_faults(root, rooms):
    places = collections.defaultdict(list)
    for room in rooms.values():
        for path in files_of(root, room):
            if room.name not in SAME_NAME_ROOMS:
                places[os.path.basename(path)].append(os.path.relpath(path, root))
    for name, paths in sorted(places.items()):
        if len(paths) > 1 and name not in SAME_NAME:
            yield f"{len(paths)} files are called {name}: {', '.join(paths)}"


def heading_words(comment):
    """What a head comment says of its own: "see x.h" and "(x.h)" send the reader elsewhere."""
    return re.findall(r"\w+", re.sub(r"\(?\b(?:[Ss]ee )?[\w/]+\.h\b\)?", " ", comment))


def heading_faults(root, rooms):
    for room in rooms.values():
        for path in files_of(root, room):
            text = open(path, encoding="utf-8").read()
            head = re.match(r"/\*(.*?)\*/", text, re.S)
            place = os.path.relpath(path, root)
            if not head:
                yield f"{place} does not open with a comment that says what it does"
            elif path.endswith(".c") and len(heading_words(head[1])) < LEAST_HEADING_WORDS:
                yield f"{place} opens with fewer than {LEAST_HEADING_WORDS} words on what it does and how"


SIZEOF = re.compile(r"sizeof\((\*{0,2}[a-z]\w*(?:(?:->|\.)\w+|\[\w+\])*)\)(?!\[|\.|->)")
MACRO = re.compile(r"^\s*#\s*define(?:[^\n]*\\\n)*[^\n]*", re.M)
TYPE = re.compile(r"(?:u?int\d*_t|int|char|void|bool|long|short|float|double|unsigned|size_t|\w+_t)$")


def dialect_faults(root, rooms):
    """`sizeof expression`, `sizeof(type)`."""
    for room in rooms.values():
        for path in files_of(root, room):
            text = MACRO.sub("", open(path, encoding="utf-8").read())  # a macro's parameter may be a type
            for operand in SIZEOF.findall(text):
                if not TYPE.match(operand):
                    yield f"{os.path.relpath(path, root)}: sizeof({operand}) is written sizeof {operand}"


def width_faults(root, rooms):
    """Comments wrap at 100 columns, which clang-format leaves alone. Drawings and tables may be wider."""
    for room in rooms.values():
        for path in files_of(root, room):
            for number, line in enumerate(open(path, encoding="utf-8"), 1):
                line = line.rstrip("\n")
                if len(line) > MOST_COLUMNS and COMMENT.search(line) and not DRAWING.search(line):
                    yield f"{os.path.relpath(path, root)}:{number}: a comment of {len(line)} columns"


def figure_faults(root, rooms):
    """Whether a number is known is asked by the functions of figure.h, not by looking into a figure."""
    for room in rooms.values():
        for path in files_of(root, room):
            place = os.path.relpath(path, root)
            if place not in OPENS_FIGURES and RAW_FIGURE.search(open(path, encoding="utf-8").read()):
                yield f"{place} looks into a struct figure; model/figure.h has functions for that"


def clock_faults(root, rooms):
    """What time it is says base/now.h."""
    for room in rooms.values():
        for path in files_of(root, room):
            place = os.path.relpath(path, root)
            if not place.startswith(READS_CLOCKS) and CLOCK.search(open(path, encoding="utf-8").read()):
                yield f"{place} asks the C library what time it is; base/now.h asks the kernel"


def read_unknowns(root):
    lines = open(os.path.join(root, "tests/house/unknowns.txt"), encoding="utf-8").read().splitlines()
    return {line for line in lines if line and not line.startswith("#")}


def unknown_faults(root, rooms):
    """A number that is not known is a struct figure: UINT64_MAX stands for other things only."""
    found = set()
    for room in rooms.values():
        for path in files_of(root, room):
            place = os.path.relpath(path, root)
            if place.startswith(FIGURES_ONLY) and "UINT64_MAX" in open(path, encoding="utf-8").read():
                found.add(place)
    allowed = read_unknowns(root)
    for place in sorted(found - allowed):
        yield f"{place} says UINT64_MAX; a number that is not known is a struct figure (tests/house/unknowns.txt)"
    for place in sorted(allowed - found):
        yield f"tests/house/unknowns.txt: {place} does not say UINT64_MAX any more"


def option_faults(root, rooms):
    """`call` of an OPTION_CALL has the whole target; an offset beside it says nothing and misleads."""
    for room in rooms.values():
        for path in files_of(root, room):
            for row in OPTION_ROW.findall(open(path, encoding="utf-8").read()):
                if OPTION_PLACE.search(row):
                    yield f"{os.path.relpath(path, root)}: {row.split(',')[0]} is an OPTION_CALL, whose offset is 0"


def main():
    root, listing = os.path.realpath(sys.argv[1]), sys.argv[2]
    rooms = read_rooms(listing)
    if sys.argv[3:] == ["--uses"]:
        for room in rooms.values():
            print(room.name, *sorted(rooms_read(root, rooms, room)))
        return
    faults = [*storey_faults(root, rooms), *circle_faults(rooms), *uses_faults(root, rooms),
              *borrowed_faults(root, rooms, os.path.dirname(os.path.abspath(listing))),
              *name_faults(root, rooms), *heading_faults(root, rooms), *dialect_faults(root, rooms), *width_faults(root, rooms),
              *figure_faults(root, rooms), *clock_faults(root, rooms), *option_faults(root, rooms), *unknown_faults(root, rooms)]
    print(*faults, sep="\n", end="\n" if faults else "")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
