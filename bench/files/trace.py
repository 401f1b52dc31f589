"""Traces: bytes per event of the whole file, the rates of writing and reading, the time to open, and
what `record --trace` costs above `record`; beside heaptrack's file (raw and as it writes it, packed).

  bytes/event    all of the file by the events in it: call paths, digests, index and supplement too
  write, read    one core, by bench_trace, which writes and reads once more what is in the file
  open           until the first question can be answered; nodes: until all call paths are known
  CPU, wall      medians of interleaved rounds: CPU of the program's process, of the whole tree
                 (program and collector), wall time; by rusage.c

heaptrack's events are its allocations and frees (lines + and - of its data); it keeps no times of
single events, no addresses and no sizes of the usable memory.
"""
import argparse
import glob
import json
import os
import re
import shutil
import statistics
import subprocess
import sys

PERL = ('my (%h, @l); for my $i (1 .. 400000) { $h{"key " . $i % 5000} .= "x" x ($i % 50); '
        'push @l, [$i]; shift @l if @l > 1000 }')


def workloads(work, root):
    compiler = subprocess.run(["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True)
    path = compiler.stdout.strip()
    if compiler.returncode == 0 and os.path.isfile(path):
        source = os.path.join(work, "heavy.ii")
        subprocess.run(["g++", "-std=c++17", "-E", os.path.join(root, "examples/heavy.cpp"),
                        "-o", source], check=True)
        yield "cc1plus", [path, "-quiet", "-std=c++17", "-fpreprocessed", "-fsyntax-only", source]
    loop = os.path.join(work, "workload")
    yield "loop, pairs", [loop, "pair", "12", "1", "2000000", "/dev/null"]
    yield "loop, live", [loop, "live", "12", "1", "2000000", "/dev/null"]
    if shutil.which("perl"):
        yield "perl", ["perl", "-e", PERL]
    yield "4 threads", [loop, "live", "12", "4", "2000000", "/dev/null"]


def run(work, argv):
    report = os.path.join(work, "rusage.json")
    done = subprocess.run([os.path.join(work, "rusage"), report] + argv,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"bench/trace: {argv[0]} failed with {done.returncode}")
    with open(report) as file:
        return json.load(file)


def costs(report, program):
    """CPU of the program's own process, of all, and wall time, in ms."""
    name = os.path.basename(program)
    own = [p["cpu_ns"] for p in report["processes"] if os.path.basename(p["program"]) == name]
    return (max(own) / 1e6 if own else None, report["cpu_ns"] / 1e6, report["wall_ns"] / 1e6)


def remove(pattern):
    for path in glob.glob(pattern):
        os.unlink(path)


def measure_costs(options, argv):
    base = os.path.join(options.work, "trace")
    tidemark = os.path.join(options.bin, "tidemark")
    ways = {"bare": argv,
            "record": [tidemark, "record", "-q", "-o", base + ".tmk"] + argv,
            "record --trace": [tidemark, "record", "-q", "--trace", "-o", base + ".tmk"] + argv}
    seen = {way: [] for way in ways}
    for _ in range(options.rounds):
        for way, command in ways.items():
            remove(base + ".tm*")
            seen[way].append(costs(run(options.work, command), argv[0]))
    return {way: dict(zip(("program_cpu_ms", "tree_cpu_ms", "wall_ms"),
                          (statistics.median(column) if None not in column else None
                           for column in zip(*rounds))))
            for way, rounds in seen.items()}


def measure_file(options):
    """Of the trace that the last round left."""
    trace = os.path.join(options.work, "trace.tmt")
    bench = os.path.join(options.bin, "..", "tests", "bench_trace")
    rounds = []
    for _ in range(options.rounds):
        text = subprocess.run([bench, "--json", trace, "zstd",
                               os.path.join(options.work, "again.tmt")],
                              check=True, capture_output=True, text=True).stdout
        rounds.append(json.loads(text))
    best = min(rounds, key=lambda found: found["write_ns_per_event"])
    best["read_ns_per_event"] = min(found["read_ns_per_event"] for found in rounds)
    best["file_bytes"] = os.path.getsize(trace)
    best["bytes_per_event"] = best["file_bytes"] / best["events"]
    return best


def measure_heaptrack(options, argv):
    base = os.path.join(options.work, "heaptrack.")
    remove(base + "*")
    subprocess.run(["heaptrack"] + argv, cwd=options.work, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    files = glob.glob(base + "*")
    if not files:
        return None
    raw = subprocess.run(["zstd" if files[0].endswith(".zst") else "gzip", "-dc", files[0]],
                         capture_output=True).stdout
    events = len(re.findall(rb"^[+-] ", raw, re.M))
    return {"file_bytes": os.path.getsize(files[0]), "raw_bytes": len(raw), "events": events,
            "bytes_per_event": os.path.getsize(files[0]) / max(events, 1),
            "raw_bytes_per_event": len(raw) / max(events, 1)}


def print_sizes(results):
    print(f"{'':12} {'events':>10} {'trace':>9} {'bytes/event':>11} {'raw':>6} {'write':>10} "
          f"{'read':>10} {'open':>8} {'nodes':>8}   heaptrack: bytes/event (raw)")
    for name, found in results.items():
        file, peer = found["trace"], found["heaptrack"]
        print(f"{name:12} {file['events']:10,} {file['file_bytes'] / 1e6:6.2f} MB "
              f"{file['bytes_per_event']:11.3f} {file['raw_bytes_per_event']:6.1f} "
              f"{1e3 / file['write_ns_per_event']:6.1f} M/s {1e3 / file['read_ns_per_event']:6.1f} M/s "
              f"{file['open_ms']:5.2f} ms {file['nodes_ms']:5.1f} ms   " +
              (f"{peer['bytes_per_event']:.2f} ({peer['raw_bytes_per_event']:.1f})" if peer else "-"))


def print_costs(results):
    print(f"\n{'':12} {'':14} {'program CPU':>12} {'tree CPU':>12} {'wall':>12}")
    for name, found in results.items():
        for way, cost in found["costs"].items():
            print(f"{name:12} {way:14} " + " ".join(
                f"{cost[key]:9.0f} ms" if cost[key] is not None else f"{'-':>12}"
                for key in ("program_cpu_ms", "tree_cpu_ms", "wall_ms")))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="one round")
    parser.add_argument("--only", default="", help="workloads that match")
    options, _ = parser.parse_known_args()
    options.rounds = 1 if options.quick else options.rounds
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    results = {}
    for name, argv in workloads(options.work, root):
        if not re.search(options.only, name):
            continue
        found = {"costs": measure_costs(options, argv), "trace": measure_file(options)}
        found["heaptrack"] = measure_heaptrack(options, argv) if shutil.which("heaptrack") else None
        results[name] = found
    print_sizes(results)
    print_costs(results)
    path = os.path.join(options.work, "trace.json")
    with open(path, "w") as file:
        json.dump(results, file, indent=1)
    print(f"\n{os.path.relpath(path, root)}")


main()
