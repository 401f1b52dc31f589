#!/usr/bin/env python3
"""What a short process costs when many are recorded: COUNT times PROGRAM, PARALLEL at a time, bare and
recorded by turns. CPU is that of all processes, the collector's included. Figures are medians a process,
and above bare."""
import argparse
import ctypes
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

PR_SET_CHILD_SUBREAPER = 36


def reap_orphans():
    """A collector that is nobody's child any more counts too."""
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return


def measure(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL).returncode
    wall = time.monotonic() - begin
    reap_orphans()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if status != 0:
        sys.exit(f"{' '.join(command)}: status {status}")
    return {
        "user": after.ru_utime - before.ru_utime,
        "system": after.ru_stime - before.ru_stime,
        "wall": wall,
        "faults": after.ru_minflt - before.ru_minflt,
    }


def median(turns, key):
    return statistics.median(turn[key] for turn in turns)


def say(name, turns, count):
    cpu = statistics.median(turn["user"] + turn["system"] for turn in turns)
    print(
        f"{name:12} {cpu / count * 1e3:8.3f} {median(turns, 'user') / count * 1e3:8.3f} "
        f"{median(turns, 'system') / count * 1e3:8.3f} {median(turns, 'wall') / count * 1e3:8.3f} "
        f"{median(turns, 'faults') / count:8.0f}"
    )
    return cpu, median(turns, "wall")


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--bin", action="append", required=True, help="more than one: builds side by side")
    options.add_argument("--work", required=True)
    options.add_argument("--count", type=int, default=1000)
    options.add_argument("--parallel", type=int, default=4)
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--program", default="true")
    wanted = options.parse_args()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    storm = [f"{wanted.work}/storm", str(wanted.count), str(wanted.parallel), *wanted.program.split()]
    names = ["bare"] + [str(place) for place in wanted.bin]
    turns = {name: [] for name in names}
    for _ in range(wanted.rounds):
        for name in names:
            scratch = tempfile.mkdtemp()
            record = [f"{name}/tidemark", "record", "-q", "-o", f"{scratch}/%p.tmk"] if name != "bare" else []
            turns[name].append(measure(record + storm))
            shutil.rmtree(scratch)
    print(f"{wanted.count} × {wanted.program}, {wanted.parallel} at a time; ms a process, medians of {wanted.rounds}")
    print(f"{'':12} {'CPU':>8} {'user':>8} {'system':>8} {'wall':>8} {'faults':>8}")
    bare_cpu, bare_wall = say("bare", turns["bare"], wanted.count)
    for name in names[1:]:
        cpu, wall = say("recorded", turns[name], wanted.count)
        print(
            f"{'above bare':12} {(cpu - bare_cpu) / wanted.count * 1e3:8.3f} {'':17} "
            f"{(wall - bare_wall) / wanted.count * 1e3:8.3f}   ×{wall / bare_wall:.2f} of bare's wall time"
        )


main()
