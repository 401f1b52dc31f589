"""Gives every command a device where it takes a path, as operand and as the value of each option, and looks whether
it opens it: to open a watchdog or a tape is to act on it.

    devices.py DEVICE PROFILE TRACE PROGRAM

A command that has no row here fails the test: whoever adds a command adds the row. So does an option with a value that
is named like a path."""
import ctypes
import os
import re
import struct
import subprocess
import sys

device, profile, trace, program = sys.argv[1:5]
X = object()  # where the device stands
NONE = []     # takes no path
OPERANDS = {
    "record": [["-q", X], ["-q", program, X]], "attach": NONE, "count": [[X]], "report": [[X], ["--json", X]],
    "insight": [[X]], "leaks": [[X]], "content": [[X]], "held": [[X], [profile, X], [X, profile]], "annotate": [[X], [profile, X], [profile, "--source-path", X]], "plot": [["--terminal", X]],
    "top": [["--plain", "-n", "1", X]], "snapshot": [[X]], "diff": [[X, profile], [profile, X]], "check": [[X]],
    "serve": [["--no-open", X]], "html": [["-o", "made.html", X]], "viewer": [["-o", X]], "replay": [[X]], "at": [[X, "peak"]],
    "blocks": [[X]], "events": [[X]], "job": [[X], [profile, X]], "ps": [["--root", X]], "maps": [[X]], "query": [[X], [X, "SELECT 1"]],
    "export": [["-o", "made.out", X]], "import": [["-o", "made.tmk", X]], "unpack": [[X, "made.db"], [profile, X]],
    "bundle": [[X]], "doctor": [[X]], "help": NONE, "version": NONE,
}
# What else each needs where an option has the device.
REST = {
    "record": [program], "attach": ["999999999"], "count": [program], "annotate": [profile], "plot": [profile],
    "check": [profile], "html": [profile], "viewer": [], "replay": [trace], "job": [profile], "export": [profile], "import": [profile],
    "ps": [], "serve": [profile], "leaks": [profile], "content": [profile], "held": [profile], "at": [trace, "peak"], "bundle": ["made.bundle"],
}
PATHS = re.compile(r"(^|\W)(FILE|DIR|DIRECTORY|PATH|PROFILE|TRACE|LIBRARY|ALLOCATOR|PROGRAM)\b")
NO_PATHS = {("annotate", "context"), ("record", "only"), ("attach", "only")}
IN_OPEN, IN_MODIFY = 0x20, 0x2

libc = ctypes.CDLL(None, use_errno=True)
watch = libc.inotify_init1(os.O_NONBLOCK)
if libc.inotify_add_watch(watch, device.encode(), IN_OPEN | IN_MODIFY) < 0:
    sys.exit("no inotify")


def was_opened():
    try:
        return bool(os.read(watch, 65536))
    except BlockingIOError:
        return False


def run(command, arguments):
    full = ["tidemark", command] + [device if a is X else a for a in arguments]
    try:
        done = subprocess.run(full, capture_output=True, timeout=600, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        print(" ".join(full), "does not end")
        return
    if was_opened():
        print(" ".join(full), "opens it:", done.returncode, done.stderr.decode(errors="replace").split("\n")[0])
    elif done.returncode < 0 or b"unknown option" in done.stderr:
        print(" ".join(full), done.returncode, done.stderr)


os.close(os.open(device, os.O_RDONLY | os.O_NONBLOCK))
print("an opening is seen:", was_opened())
dump = lambda *of: subprocess.run(["tidemark", *of], capture_output=True, text=True).stdout.splitlines()
options = 0
for command in (line.split("\t")[0] for line in dump("--dump-commands")):
    if command not in OPERANDS:
        print(f"{command}: no row in devices.py")
        continue
    for arguments in OPERANDS[command]:
        run(command, arguments)
    if command in ("help", "version"):
        continue
    for line in dump(command, "--dump-options"):
        name, value = line.split("\t")[1:3]
        if not PATHS.search(value) or (command, name) in NO_PATHS:
            continue
        if command not in REST:
            print(f"{command}: --{name} takes a path; no row in devices.py")
            continue
        options += 1
        for more in ([], ["--force"]):
            run(command, [f"--{name}={device}", *more, *REST[command]] if not more or "force" in
                {l.split("\t")[1] for l in dump(command, "--dump-options")} else ["--help"])
print("options that take a path:", options >= 12 or options)
