"""Run by pages.sh: BFM's tracer on netbuild."""
import json
import os
import re
import shutil
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
COUNT = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]


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
    """By how much, in per cent: the median of the rounds' ratios, and the least and most."""
    ratios = sorted(100 * (b[figure] / a[figure] - 1) for a, b in zip(plain, traced))
    return statistics.median(ratios), ratios[0], ratios[-1]


def say_time(pattern, rounds):
    plain, traced = turns(pattern, rounds)
    print(f"{pattern}, {SHAPES} shapes each, {plain[0]['pairs'] / 1e6:.1f} million pairs, "
          f"{rounds} rounds")
    for figure, name in (("cpu_ns", "processor time"), ("wall_ns", "time")):
        middle, least, most = slower(plain, traced, figure)
        print(f"  {name:15} {statistics.median(a[figure] for a in plain) / 1e9:6.2f} s plain, "
              f"{statistics.median(b[figure] for b in traced) / 1e9:6.2f} s traced: "
              f"{middle:+.1f} % ({least:+.1f} to {most:+.1f})")
    rss = [statistics.median(a["rss_peak_bytes"] for a in runs) / 2**20 for runs in (plain, traced)]
    print(f"  {'peak RSS':15} {rss[0]:.1f} MiB plain, {rss[1]:.1f} traced")
    return slower(plain, traced, "cpu_ns")[0]


def instructions(shapes, traced):
    command = [*COUNT, BENCH, "netbuild:1/1", f"--shapes={shapes}"]
    if traced: # valgrind is another program than the one it runs
        command = [*TRACED, "-o", os.path.join(WORK, "counted.%p.tmk"), *command]
    done = run(command, None if traced else LIBBFM)
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1))


def say_instructions():
    if not shutil.which("valgrind"):
        print("instructions: valgrind is not there")
        return
    few, many = 20000, 120000
    plain = instructions(many, False) - instructions(few, False)
    traced = instructions(many, True) - instructions(few, True)
    print(f"instructions, beyond those of the start: {plain / 1e6:.1f} M plain, "
          f"{traced / 1e6:.1f} M traced: {100 * (traced / plain - 1):+.2f} %")
    for name in os.listdir(WORK):
        if name.startswith("counted."):
            os.remove(os.path.join(WORK, name))


def say_accuracy():
    netbuild("netbuild:1/1", [*EXACT, "-o", profile("exact")])
    netbuild("netbuild:1/1", [*TRACED, "-o", profile("pages")])
    for name in ("exact", "pages"):
        database = os.path.join(WORK, name + ".db")
        if os.path.exists(database):
            os.remove(database)
        run([TIDEMARK, "unpack", profile(name), database])
    print(f"profile: {os.path.getsize(profile('pages')) / 1024:.0f} KiB; "
          f"exact {os.path.getsize(profile('exact')) / 1024:.0f} KiB")
    return subprocess.run([sys.executable, os.path.join(ROOT, "tests", "lib", "shares.py"),
                           os.path.join(WORK, "exact.db"), os.path.join(WORK, "pages.db")],
                          check=False).returncode


def main():
    slowed = say_time("netbuild:1/1", ROUNDS)
    say_time("netbuild:4/2", max(1, ROUNDS // 3))
    say_instructions()
    sys.stdout.flush()
    inexact = say_accuracy()
    if slowed > 3:
        print(f"the tracer slows netbuild by {slowed:.1f} %, more than 3 %")
    sys.exit(1 if inexact or slowed > 3 else 0)


if __name__ == "__main__":
    main()
