"""Run by pages.sh: BFM's tracer on netbuild."""
import json
import os
import sqlite3
import statistics
import subprocess
import sys

BIN, WORK, ROOT = sys.argv[1:4]
OPTIONS = dict(argument[2:].split("=", 1) for argument in sys.argv[4:] if argument.startswith("--"))
ROUNDS, SHAPES = int(OPTIONS.get("rounds", 7)), int(OPTIONS.get("shapes", 1000000))
TIDEMARK = os.path.join(BIN, "tidemark")
LIBBFM = os.path.realpath(os.path.join(BIN, "..", "lib", "libbfm.so"))
BENCH = os.path.join(WORK, "bench_alloc")
TRACED = [TIDEMARK, "record", "-q", "--allocator=bfm", "--events=pages"]
EXACT = [TIDEMARK, "record", "-q", "--allocator=bfm"]


def profile(name):
    return os.path.join(WORK, name + ".tmk")


def run(command, preload=None):
    environment = dict(os.environ)
    environment.pop("LD_PRELOAD", None)
    if preload:
        environment["LD_PRELOAD"] = preload
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True)


def netbuild(pattern, how=(), preload=None):
    """One run's own figures."""
    done = run([*how, BENCH, pattern, f"--shapes={SHAPES}"], preload)
    return json.loads(done.stdout.strip().splitlines()[-1])


def turns(pattern, rounds):
    """Processor time and time of the program itself, plain and traced, turn by turn."""
    plain, traced = [], []
    for i in range(rounds):
        order = [(plain, (), LIBBFM), (traced, (*TRACED, "-o", profile("pages")), None)]
        for into, how, preload in order if i % 2 else reversed(order):
            into.append(netbuild(pattern, how, preload))
    return plain, traced


def slower(plain, traced, figure):
    """By how much, in per cent: the least of all rounds (what else the machine does only adds), and
    the median of the rounds' own ratios."""
    least = [min(run[figure] for run in runs) for runs in (plain, traced)]
    ratios = [100 * (b[figure] / a[figure] - 1) for a, b in zip(plain, traced)]
    return 100 * (least[1] / least[0] - 1), statistics.median(ratios), least


def say_time(pattern, rounds):
    plain, traced = turns(pattern, rounds)
    print(f"{pattern}, {SHAPES} shapes each, {plain[0]['pairs'] / 1e6:.1f} million pairs of malloc and "
          f"free, {rounds} rounds")
    for figure, name in (("cpu_ns", "processor time"), ("wall_ns", "time")):
        percent, median, least = slower(plain, traced, figure)
        print(f"  {name:15} {least[0] / 1e9:6.2f} s plain, {least[1] / 1e9:6.2f} s traced, the least "
              f"of each: {percent:+.1f} %; median of the rounds {median:+.1f} %")
    rss = [statistics.median(run["rss_peak_bytes"] for run in runs) / 2**20 for runs in (plain, traced)]
    print(f"  {'peak RSS':15} {rss[0]:6.1f} MiB plain, {rss[1]:.1f} traced")
    return slower(plain, traced, "cpu_ns")[1]


def say_accuracy():
    netbuild("netbuild:1/1", [*EXACT, "-o", profile("exact")])
    netbuild("netbuild:1/1", [*TRACED, "-o", profile("pages")])
    for name in ("exact", "pages"):
        database = os.path.join(WORK, name + ".db")
        if os.path.exists(database):
            os.remove(database)
        run([TIDEMARK, "unpack", profile(name), database])
    events = sqlite3.connect(os.path.join(WORK, "pages.db")).execute("SELECT events FROM program")
    print(f"profile: {os.path.getsize(profile('pages')) / 1024:.0f} KiB from {events.fetchone()[0]} "
          f"events; exact {os.path.getsize(profile('exact')) / 1024:.0f} KiB")
    sys.stdout.flush()
    return subprocess.run([sys.executable, os.path.join(ROOT, "tests", "lib", "shares.py"),
                           os.path.join(WORK, "exact.db"), os.path.join(WORK, "pages.db")],
                          check=False).returncode


def main():
    slowed = say_time("netbuild:1/1", ROUNDS)
    say_time("netbuild:4/2", max(1, ROUNDS // 3))
    inexact = say_accuracy()
    if slowed > 3:
        print(f"the tracer slows netbuild by {slowed:.1f} %, more than 3 %")
    sys.exit(1 if inexact or slowed > 3 else 0)


if __name__ == "__main__":
    main()
