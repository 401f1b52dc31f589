#!/usr/bin/env python3
"""One array: who makes memory grow without common/base/array.h, and is not listed.

    growth.py SOURCE      one line for each fault; status 1 if there is one

Counted are calls of realloc, reallocarray and arena_realloc in src/. growth.txt lists FILE COUNT REASON: so many calls
of the file, exactly, and why the array does not fit. src/inprocess is left out: it has no malloc, and its `realloc` is
a name that it stands in for."""
import glob
import os
import re
import sys

COMMENT = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
GROWS = re.compile(r"(?<![\w.])(?:realloc|reallocarray|arena_realloc)\s*\(")


def growths(root):
    for path in sorted(glob.glob(os.path.join(root, "src/**/*.[ch]"), recursive=True)):
        name = os.path.relpath(path, root)
        if name.startswith(("src/inprocess/", "src/common/base/array.")):
            continue
        text = COMMENT.sub(lambda match: "\n" * match[0].count("\n"), open(path, encoding="utf-8").read())
        count = sum(len(GROWS.findall(line)) for line in text.split("\n") if line.startswith(" "))  # else a definition
        if count:
            yield name, count


def listed(root):
    for line in open(os.path.join(root, "tests/house/growth.txt"), encoding="utf-8"):
        if line.strip() and not line.startswith("#"):
            path, count, reason = line.split(None, 2)
            yield path, int(count)


def main():
    root = sys.argv[1]
    wanted, found = dict(listed(root)), dict(growths(root))
    if "--list" in sys.argv:
        print("\n".join(f"{path} {count}" for path, count in found.items()))
        return 0
    faults = [f"{path}: {found.get(path, 0)} calls make memory grow, tests/house/growth.txt says {wanted.get(path, 0)}; "
              "src/common/base/array.h is the one array"
              for path in sorted(wanted.keys() | found.keys()) if found.get(path, 0) != wanted.get(path, 0)]
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
