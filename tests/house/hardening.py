"""How what we install is linked and built, as checksec would tell it.

    hardening.py DIRECTORY…     (bin/ and lib/ of a build)

Every program and library: relocations are read-only and resolved at the start, no stack is executable,
the program's shadow stack stays. Programs besides: position independent, canaries and checked copies."""
import pathlib
import platform
import re
import subprocess
import sys

PLAIN = re.compile(r"tidemark(-mpi.*)?$")  # no part of these runs inside other programs


def readelf(path, *options):
    return subprocess.run(["readelf", "-W", *options, str(path)], capture_output=True, text=True, check=True).stdout


def marks_shadow_stacks():
    """Does the C library's start code have the mark? A linker marks only what all of its objects have."""
    start = subprocess.run(["cc", "-print-file-name=crti.o"], capture_output=True, text=True, check=True).stdout.strip()
    return platform.machine() == "x86_64" and "SHSTK" in readelf(start, "-n")


def faults(path):
    head, segments, dynamic, notes = (readelf(path, o) for o in ("-h", "-l", "-d", "-n"))
    symbols = readelf(path, "--dyn-syms")
    if "GNU_RELRO" not in segments:
        yield "no RELRO"
    if not re.search(r"BIND_NOW|Flags:.*\bNOW\b", dynamic):
        yield "relocations are not resolved at the start (no BIND_NOW)"
    if re.search(r"GNU_STACK.*\bRWE\b", segments):
        yield "the stack is executable"
    if re.search(r"LOAD.*\bRWE\b", segments):
        yield "a segment is writable and executable"
    if "Type:" in head and "DYN" not in head:
        yield "not position independent"
    if CET and "SHSTK" not in notes:
        yield "not marked for shadow stacks (SHSTK)"
    if PLAIN.match(path.name):
        if "__stack_chk_fail" not in symbols:
            yield "no stack protector"
        if path.name == "tidemark" and not re.search(r"__\w+_chk\b", symbols.replace("__stack_chk_fail", "")):
            yield "no checked copies (_FORTIFY_SOURCE)"
        if CET and "IBT" not in notes:
            yield "not marked for indirect branch tracking (IBT)"


CET = marks_shadow_stacks()
looked = wrong = 0
for directory in sys.argv[1:]:
    for path in sorted(pathlib.Path(directory).iterdir()):
        if path.is_symlink() or not path.is_file() or path.read_bytes()[:4] != b"\x7fELF":
            continue
        looked += 1
        for fault in faults(path):
            wrong += 1
            print(f"{path.name}: {fault}")
print(f"{looked} programs and libraries, {wrong} faults"
      + ("" if CET else "; shadow stacks not looked at: the C library's own start code is not marked"))
sys.exit(1 if wrong or looked < 5 else 0)
