"""What a call costs with the counters and without: see count.sh, which runs this."""
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys

LIBRARY, WORK, ROOT = sys.argv[1:4]
ROUNDS, FRAMES, MOST_NS = int(os.environ.get("ROUNDS", 7)), 8, 8.0
PAIRS = {"pair": 8_000_000, "live": 8_000_000}
MODES = {"bare": {}, "quick": {"LD_PRELOAD": LIBRARY}, "exact": {"LD_PRELOAD": LIBRARY, "TIDEMARK_COUNT_PEAK": "exact"}}


def environment(mode):
    return os.environ | {"TIDEMARK_COUNT_OUTPUT": "/dev/null"} | MODES[mode]


def loop(mode, shape, threads, pairs, before=()):
    """Nanoseconds of CPU time for each of the loop's 2 * pairs calls."""
    report = os.path.join(WORK, "count.json")
    argv = [*before, os.path.join(WORK, "workload"), shape, str(FRAMES), str(threads), str(pairs), report]
    result = subprocess.run(argv, env=environment(mode), capture_output=True, text=True, check=True)
    with open(report) as file:
        return json.load(file)["cpu_ns"] / (2 * pairs), result.stderr


def loops():
    worst = 0.0
    print("ns of CPU time that a call costs more, median of", ROUNDS, "rounds; bare: what it costs without")
    for shape, pairs in PAIRS.items():
        for threads in 1, 2, 4, 16:
            samples = {mode: [] for mode in MODES}
            for turn in range(ROUNDS):
                for mode in sorted(MODES, key=lambda mode: (len(mode) * 7 + turn * 5) % 3):
                    samples[mode].append(loop(mode, shape, threads, pairs)[0])
            bare = statistics.median(samples["bare"])
            more = {mode: statistics.median(a - b for a, b in zip(samples[mode], samples["bare"]))
                    for mode in ("quick", "exact")}
            worst = max(worst, more["quick"])
            print(f"  {shape:5} {threads:2} thread{'s' if threads > 1 else ' '}   bare {bare:6.2f}"
                  f"   quick {more['quick']:+6.2f}   exact {more['exact']:+6.2f}")
    return worst


def instructions():
    if not shutil.which("valgrind"):
        return print("no valgrind: instructions are not counted")
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    for threads in 1, 2:
        counts = {}
        for mode in MODES:
            collected = []
            for pairs in 20_000, 120_000:
                text = loop(mode, "pair", threads, pairs, valgrind)[1]
                collected.append(int(text.split("Collected :")[1].split()[0]))
            counts[mode] = (collected[1] - collected[0]) / 200_000 / 1.1  # with the warm-up
        print(f"instructions a call, {threads} thread{'s' if threads > 1 else ''}: bare {counts['bare']:.1f}, "
              f"quick {counts['quick'] - counts['bare']:+.1f}, exact {counts['exact'] - counts['bare']:+.1f}")


def passed():
    """Large blocks in two threads; the worst that does not wait for the ledger's memory. Beside it what a
    counter must do at least: a size that goes from the thread that allocates to the one that frees."""
    worst = 0.0
    print("blocks in two threads, the counters alone: ns a call, visits of the level a call;"
          " the ledger alone, with a locked addition")
    for shape, least, most in ("pair", 8192, 8192), ("ring", 4200, 34000), ("any", 4200, 34000), ("any", 16, 271):
        argv = [os.path.join(WORK, "passed"), shape, "2", "1000000", str(least), str(most)]
        samples = [subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split() for _ in range(ROUNDS)]
        cost = statistics.median(float(sample[0]) for sample in samples)
        worst = max(worst, cost if shape == "pair" else 0)
        ledger, locked = (statistics.median(float(sample[at]) for sample in samples) for at in (2, 3))
        print(f"  {shape:4} of {least} to {most} bytes  {cost:6.2f}   {float(samples[0][1]):.4f}   {ledger:6.2f} {locked:6.2f}")
    return worst


def compiler():
    """CPU time of g++ and all it starts."""
    def cpu(mode):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(["g++", "-std=c++17", "-O1", "-c", os.path.join(ROOT, "examples", "heavy.cpp"),
                        "-o", os.path.join(WORK, "count.o")], env=environment(mode), check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    pairs = [(cpu("bare"), cpu("quick")) for _ in range(3)]
    bare = statistics.median(pair[0] for pair in pairs)
    ratio = statistics.median(pair[1] / pair[0] for pair in pairs)
    print(f"g++ on heavy.cpp: {bare:.2f} s, with counting x{ratio:.3f}")


worst = max(loops(), passed())
instructions()
compiler()
print(f"at most {worst:.2f} ns a call, {'within' if worst <= MOST_NS else 'beyond'} {MOST_NS:.0f} ns")
sys.exit(worst > MOST_NS)
