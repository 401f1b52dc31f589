"""What each call of tidemark.h costs where nobody profiles: see count.sh, which runs this."""
import os
import shutil
import subprocess
import sys

WORK, COUNT = sys.argv[1:3]
COUNTED = ("read_counters", "current", "peak", "total", "count", "reset_peak")
CALLS, STEPS, MOST_NS = 25_500_000, (1_000, 11_000), 2.0


def run(kind, arguments, before=(), preload=None):
    environment = dict(os.environ)
    if preload:
        environment |= {"LD_PRELOAD": preload, "TIDEMARK_COUNT_OUTPUT": "/dev/null"}
    argv = [*before, os.path.join(WORK, "api_" + kind), *map(str, arguments)]
    return subprocess.run(argv, env=environment, capture_output=True, text=True, check=True)


def times(kind, calls, preload=None):
    lines = run(kind, ("all", calls), preload=preload).stdout.splitlines()
    return {name: float(ns) for name, ns in (line.split() for line in lines)}


def instructions_of(kind, call):
    """Of one turn of its loop: what more turns cost more."""
    valgrind = ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null")
    least, most = (int(run(kind, (call, count), valgrind).stderr.split("Collected :")[1].split()[0]) for count in STEPS)
    return (most - least) / (STEPS[1] - STEPS[0])


def instructions(kind, names):
    if not shutil.which("valgrind"):
        return {}
    empty = instructions_of(kind, "empty")
    return {name: instructions_of(kind, name) - empty for name in names}


shared, static = times("shared", CALLS), times("static", CALLS)
counts = {kind: instructions(kind, shared) for kind in ("shared", "static")}
counted = times("shared", CALLS // 100, COUNT)
print("a call where nobody profiles: ns of CPU time (the least of 51 rounds), instructions")
for name in shared:
    line = f"  tidemark_{name:14}"
    for kind, ns in ("shared", shared[name]), ("static", static[name]):
        line += f"  {kind} {ns:5.2f} ns {counts[kind].get(name, float('nan')):5.1f}"
    if name in COUNTED:
        line += f"  counted {counted[name]:6.1f} ns"
    print(line)
beyond = [name for name in shared if max(shared[name], static[name]) > MOST_NS]
print("all within 2 ns" if not beyond else "beyond 2 ns: " + ", ".join(beyond))
sys.exit(bool(beyond))
