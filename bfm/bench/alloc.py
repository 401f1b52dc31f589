"""Allocators side by side; run by alloc.sh. bfm/doc/BFM-bench.md says what each figure is.

In every round each allocator runs each pattern, in an order that turns from round to round, so that a
machine that is busy for a while shifts all of them. Figures are medians over the rounds; the slowest
call is the least of its runs. An allocator is a library that LD_PRELOAD loads; whose malloc was used is
checked in every run. What failed or took too long is said and has no figure.
"""
import argparse
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "alloc"))
import plots      # noqa: E402
import programs   # noqa: E402
import tables     # noqa: E402

# glibc with huge pages is the same library with another environment.
DEBIAN = {"glibc": "libc.so.6", "glibc+THP": "libc.so.6", "jemalloc": "libjemalloc.so.2", "mimalloc": "libmimalloc.so.2.0",
          "tcmalloc": "libtcmalloc_minimal.so.4"}
PARTS = ("patterns", "streams", "threads", "latency", "count", "growth", "programs")
HUGE_PAGES = {"glibc+THP": {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}}
THREADS = ("netbuild:1/1", "netbuild:4/1", "netbuild:8/2", "netbuild:8/4", "netbuild:8/8",
           "netbuild:32/16", "worst:1", "worst:2", "worst:24")
COUNT_MEMORY = 4 << 30  # bytes of payload up to which instructions are counted
MIB = 1 << 20


class Failure(Exception):
    pass


# --- allocators ---------------------------------------------------------------------------------------

def library(name):
    """The path that ld.so would load for a soname, or None."""
    for directory in ("/sbin", "/usr/sbin", ""):
        ldconfig = os.path.join(directory, "ldconfig")
        try:
            text = subprocess.run([ldconfig, "-p"], capture_output=True, text=True).stdout
        except OSError:
            continue
        found = re.search(rf"^\s*{re.escape(name)} .*x86-64.* => (\S+)$", text, re.M) or \
            re.search(rf"^\s*{re.escape(name)} .* => (\S+)$", text, re.M)
        if found:
            return found.group(1)
    for directory in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"):
        path = os.path.join(directory, name)
        if os.path.exists(path):
            return path
    return None


def find_allocators(options):
    """{name: path}, glibc first."""
    found = {}
    for name, soname in DEBIAN.items():
        path = library(soname)
        if path:
            found[name] = path
    for directory in ("../lib", ".", "lib"):
        path = os.path.join(options.bin, directory, "libbfm.so")
        if os.path.exists(path):
            found["bfm"] = os.path.realpath(path)
    for given in options.with_allocators:
        name, equals, path = given.partition("=")
        if not equals or not os.path.isfile(path):
            sys.exit(f"bfm/bench/alloc.sh: --with={given}: that is not NAME=LIBRARY with a library that "
                     "exists; write --with=mine=/path/to/libmine.so")
        found[name] = os.path.realpath(path)
    if options.allocators:
        missing = set(options.allocators.split(",")) - set(found)
        if missing:
            sys.exit(f"bfm/bench/alloc.sh: --allocators: {', '.join(sorted(missing))} is not here; "
                     f"there are {', '.join(found)}")
        found = {name: path for name, path in found.items()
                 if name == "glibc" or name in options.allocators.split(",")}
    if "glibc" not in found:
        sys.exit("bfm/bench/alloc.sh: glibc (libc.so.6) is not found by ldconfig -p; everything is "
                 "compared with it")
    return found


# --- one run --------------------------------------------------------------------------------------------

class Bench:
    def __init__(self, options, allocators):
        self.options = options
        self.allocators = allocators
        self.worker = os.path.join(options.work, "bench_alloc")
        self.failures = {}
        self.runs = {}  # (part, pattern, allocator, mode or n) -> [result]
        self.began = time.monotonic()

    def say(self, text):
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\033[K{time.monotonic() - self.began:5.0f} s  {text}")
            sys.stderr.flush()

    def environment(self, allocator):
        return {"LD_PRELOAD": self.allocators[allocator], **HUGE_PAGES.get(allocator, {})}

    def command(self, argv, environment, allocator):
        """What one run said, as JSON."""
        try:
            done = subprocess.run(argv, env={**os.environ, **environment}, capture_output=True,
                                  text=True, timeout=self.options.patience)
        except subprocess.TimeoutExpired:
            raise Failure(f"took more than {self.options.patience} s") from None
        if done.returncode != 0:
            said = done.stderr.strip().splitlines()
            raise Failure(f"ended with {done.returncode}: {said[-1] if said else 'no word'}")
        result = json.loads(done.stdout.splitlines()[-1])
        used = os.path.basename(os.path.realpath(result["allocator"]))
        if used != os.path.basename(os.path.realpath(self.allocators[allocator])):
            raise Failure(f"malloc came from {result['allocator']}")
        return result

    def run(self, part, pattern, allocator, mode, *more):
        key = (part, pattern, allocator, mode)
        if key in self.failures:
            return
        self.say(f"{part}: {pattern}, {allocator}, {mode}")
        try:
            result = self.command([self.worker, pattern, f"--mode={mode}", *more],
                                  self.environment(allocator), allocator)
            self.runs.setdefault(key, []).append(result)
        except Failure as why:
            self.failures[key] = str(why)

    def count(self, pattern, allocator, blocks):
        """The instructions of each call, by qemu and count_plugin.c."""
        key = ("count", pattern, allocator, blocks)
        out = os.path.join(self.options.work, "count.json")
        self.say(f"count: {pattern}, {allocator}, {blocks}")
        try:
            result = self.command(
                ["qemu-x86_64", "-plugin",
                 os.path.join(self.options.work, "count_plugin.so") + f",out={out}",
                 "-E", f"LD_PRELOAD={self.allocators[allocator]}", "-E", "LD_BIND_NOW=1",
                 self.worker, pattern, "--mode=count", f"--blocks={blocks}"], {}, allocator)
            with open(out, encoding="utf-8") as file:
                result["instructions"] = json.load(file)
            self.runs.setdefault(key, []).append(result)
        except Failure as why:
            self.failures[key] = str(why)

    def turned(self, turn):
        names = list(self.allocators)
        turn %= len(names)
        return names[turn:] + names[:turn]

    # --- figures

    def values(self, part, pattern, allocator, mode, figure):
        return [figure(run) for run in self.runs.get((part, pattern, allocator, mode), [])]

    def median(self, part, pattern, allocator, mode, figure):
        """None if it is not known."""
        values = self.values(part, pattern, allocator, mode, figure)
        return statistics.median(values) if values and None not in values else None


# --- the parts ----------------------------------------------------------------------------------------------

def measure_times(bench, patterns):
    size = f"--bytes={bench.options.bytes}"
    for turn in range(bench.options.rounds):
        for part, pattern in patterns:
            for allocator in bench.turned(turn):
                bench.run(part, pattern, allocator, "time", size)
                bench.run(part, pattern, allocator, "plain", size)


def measure_threads(bench):
    for turn in range(bench.options.rounds):
        for pattern in THREADS:
            if not re.search(bench.options.only, pattern):
                continue
            for allocator in bench.turned(turn):
                bench.run("threads", pattern, allocator, "time",
                          f"--shapes={bench.options.shapes}",
                          f"--bytes={bench.options.bytes // 4}")


def measure_latency(bench, patterns):
    for turn in range(1 if bench.options.quick else 3):
        for pattern in patterns:
            for allocator in bench.turned(turn):
                bench.run("latency", pattern, allocator, "latency", f"--bytes={bench.options.bytes}")


def payload(bench, pattern, blocks):
    """What a pattern would ask for at its peak, counted without a call."""
    done = subprocess.run([bench.worker, pattern, "--mode=dry", f"--blocks={blocks}"],
                          capture_output=True, text=True)
    return json.loads(done.stdout)["payload_peak_bytes"] if done.returncode == 0 else math.inf


def measure_counts(bench, patterns):
    bench.counts = [10 ** power for power in
                    range(3, 1 + (4 if bench.options.quick else bench.options.count_to))]
    bench.not_counted = {}
    for blocks in bench.counts:
        for pattern in patterns:
            # what writes little still touches a page a block
            if max(payload(bench, pattern, blocks), blocks * 96) > COUNT_MEMORY:
                bench.not_counted.setdefault(pattern, blocks)
                continue
            for allocator in bench.allocators:
                bench.count(pattern, allocator, blocks)


def measure_growth(bench):
    """The report's figure 9: pattern 25 at several sizes."""
    bench.growth = [bench.options.bytes * step // 4 for step in (1, 2, 3, 4, 6)]
    for size in bench.growth:
        for allocator in bench.allocators:
            key = ("growth", "ma:1-250", allocator, size)
            try:
                bench.say(f"growth: {allocator}, {size >> 20} MiB")
                bench.runs[key] = [bench.command(
                    [bench.worker, "ma:1-250", f"--bytes={size}"],
                    bench.environment(allocator), allocator)]
            except Failure as why:
                bench.failures[key] = str(why)


def measure(bench, parts):
    listed = subprocess.run([bench.worker, "--list"], check=True, capture_output=True,
                            text=True).stdout.split("\n")
    rows = [row.split() for row in listed if row and re.search(bench.options.only, row.split()[1])]
    bench.patterns = [row[1] for row in rows if row[0] == "pattern"]
    bench.streams = [row[1] for row in rows if row[0] == "stream"]
    bench.headline = [row[1] for row in rows if row[3] == "1"]
    measure_times(bench, [(part, name) for part, names in
                          (("patterns", bench.patterns), ("streams", bench.streams))
                          if part in parts for name in names])
    if "threads" in parts:
        measure_threads(bench)
    if "latency" in parts:
        measure_latency(bench, bench.headline if bench.options.quick
                        else bench.patterns + bench.streams)
    if "count" in parts:
        measure_counts(bench, bench.headline)
    if "growth" in parts:
        measure_growth(bench)
    if "programs" in parts:
        programs.measure(bench)
    bench.say("")


# --- output ---------------------------------------------------------------------------------------------------

def machine():
    def first(path, pattern):
        try:
            with open(path, encoding="utf-8") as file:
                found = re.search(pattern, file.read(), re.M)
        except OSError:
            return None
        return found.group(1) if found else None
    return {"processor": first("/proc/cpuinfo", r"^model name\s*: (.*)$"),
            "processors": os.cpu_count(),
            "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            "kernel": os.uname().release,
            "huge_pages": first("/sys/kernel/mm/transparent_hugepage/enabled", r"\[(\w+)\]")}


def version(path):
    """Of the package that a library belongs to."""
    for candidate in (path, os.path.realpath(path)):
        for name in (candidate, re.sub("^/usr", "", candidate)):
            done = subprocess.run(["dpkg", "-S", name], capture_output=True, text=True)
            if done.returncode == 0:
                package = done.stdout.split(": ")[0].split(",")[0]
                said = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Version}", package],
                                      capture_output=True, text=True).stdout
                return said or package
    return None


def as_json(bench, head):
    return {**head,
            "runs": [{"part": part, "pattern": pattern, "by": name, "mode": mode, "rounds": results}
                     for (part, pattern, name, mode), results in bench.runs.items()],
            "failures": [{"part": key[0], "pattern": key[1], "by": key[2], "mode": key[3], "why": why}
                         for key, why in bench.failures.items()]}


def parse_options():
    parser = argparse.ArgumentParser(prog="bfm/bench/alloc.sh", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--work", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true",
                        help="under a minute: one round, 8 MiB, few counts, no growth, no programs")
    parser.add_argument("--rounds", type=int, help="default 5")
    parser.add_argument("--only", default="", metavar="REGEX", help="patterns that match")
    parser.add_argument("--parts", default="", help="of " + ",".join(PARTS))
    parser.add_argument("--allocators", default="", help="names, by commas; glibc always runs")
    parser.add_argument("--with", dest="with_allocators", action="append", default=[],
                        metavar="NAME=LIBRARY", help="one more allocator")
    parser.add_argument("--bytes", type=int, help="payload of a pattern, default 256 MiB")
    parser.add_argument("--shapes", type=int, help="of a netbuild, default 200000; the report: 10^6")
    parser.add_argument("--count-to", type=int, default=6, metavar="POWER",
                        help="count instructions up to 10^POWER blocks, default 6")
    parser.add_argument("--patience", type=int, default=300, help="seconds for one run")
    parser.add_argument("--json", help="where every round goes (default: alloc.json in WORK)")
    parser.add_argument("--plots", help="directory of the plots (default: alloc-plots in WORK)")
    options = parser.parse_args()
    options.rounds = options.rounds or (1 if options.quick else 5)
    options.bytes = options.bytes or (8 * MIB if options.quick else 256 * MIB)
    options.shapes = options.shapes or (10000 if options.quick else 200000)
    options.json = options.json or os.path.join(options.work, "alloc.json")
    options.plots = options.plots or os.path.join(options.work, "alloc-plots")
    default = [part for part in PARTS if not (options.quick and part in ("growth", "programs"))]
    options.parts = options.parts.split(",") if options.parts else default
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"--parts: there is no '{min(unknown)}'; there are {','.join(PARTS)}")
    return options


def main():
    options = parse_options()
    allocators = find_allocators(options)
    parts = list(options.parts)
    if "count" in parts and not shutil.which("qemu-x86_64"):
        print("Instructions are not counted: qemu-x86_64 is not here (apt install qemu-user).")
        parts.remove("count")
    if "programs" in parts and not os.path.exists(os.path.join(options.work, "rusage")):
        print("Programs are not measured: what they work on is in Tidemark's tree, and bfm/ stands alone.")
        parts.remove("programs")
    bench = Bench(options, allocators)
    load = [os.getloadavg()[0]]
    try:
        measure(bench, parts)
    except KeyboardInterrupt:
        print("\nStopped; this is what there was until then:")
    load.append(os.getloadavg()[0])
    head = {"date": time.strftime("%Y-%m-%d %H:%M:%S %z"), "rounds": options.rounds,
            "quick": options.quick, "bytes": options.bytes, "shapes": options.shapes,
            "machine": machine(), "load": load,
            "allocators": {name: {"version": version(path)} for name, path in allocators.items()}}
    head["figures"] = tables.show(bench, head)
    os.makedirs(options.plots, exist_ok=True)
    drawn = plots.draw(bench, head["figures"], options.plots)
    with open(options.json, "w", encoding="utf-8") as file:
        json.dump(as_json(bench, head), file, indent=1)
    for (part, pattern, name, mode), why in bench.failures.items():
        print(f"{name} has no figure for {part} {pattern} ({mode}): {why}")
    print(f"\nEvery round of every run: {options.json}\n{drawn} plots: {options.plots}")
    if any(key[2] in ("glibc", "bfm") for key in bench.failures):
        sys.exit(1)



if __name__ == "__main__":
    main()
