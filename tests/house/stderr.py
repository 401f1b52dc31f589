#!/usr/bin/env python3
"""Who writes to standard error, which is the recorded program's: names each place that does and is not listed.

    stderr.py SOURCE      one line for each fault; status 1 if there is one

Looked at are the rooms that run inside of programs or beside them: src/inprocess, src/pipeline, src/engine, src/host,
src/files, src/protocol, src/model, src/common. stderr.txt lists FILE COUNT REASON: so many lines of the file, at most,
speak of standard error, and why that is right. `tidemark record` itself holds back what all of them write
(cli/commands/held_stderr.h)."""
import glob
import os
import re
import sys

ROOMS = "inprocess pipeline engine host files protocol model common".split()
COMMENT = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
WRITES = re.compile(r"\bstderr\b|\bSTDERR_FILENO\b|\bperror\s*\(|\b(?:write|dprintf)\s*\(\s*2\s*,|"
                    r"\bSYS_write\s*,\s*2\b")


def writes(root):
    for room in ROOMS:
        for path in sorted(glob.glob(os.path.join(root, "src", room, "**/*.[ch]"), recursive=True)):
            text = COMMENT.sub(lambda match: "\n" * match[0].count("\n"), open(path, encoding="utf-8").read())
            lines = [line for line in text.split("\n") if WRITES.search(line)]
            if lines:
                yield os.path.relpath(path, root), len(lines)


def listed(root):
    for line in open(os.path.join(root, "tests/house/stderr.txt"), encoding="utf-8"):
        if line.strip() and not line.startswith("#"):
            path, count, reason = line.split(None, 2)
            yield path, int(count), reason


def main():
    root = sys.argv[1]
    wanted = {path: count for path, count, reason in listed(root)}
    found = dict(writes(root))
    faults = [f"{path}: {found.get(path, 0)} lines speak of standard error, tests/house/stderr.txt says {wanted.get(path, 0)}"
              for path in sorted(wanted.keys() | found.keys()) if found.get(path, 0) > wanted.get(path, 0)]
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
