"""Measures what recording costs and prints it beside the goals of the project; run by record.sh.

Every tool runs on every workload in every round, in an order that turns from round to round. A figure
is the median over the rounds of a difference or ratio taken within a round, so that a machine that
is busy for a while shifts both sides of it. What is measured, and where:

  target CPU   loops: the program's own CPU clock around the loop (workload.c)
               programs: CPU of the program's process, of its threads and its exit (rusage.c)
  tree CPU     all processes from the first to the last, those that outlive the command included
  wall         loops: around the loop; programs: until the command that a user types is done
  peak         program: its largest resident set, less bare's; tool: the sum of the largest resident
               sets of the processes that stand by in the second half of its run. Resident is what is
               mapped: what both share counts in both, and a tool's symbol files count too
  output       bytes of what is left to look at

Nothing is pinned to a processor. Slow tools get fewer pairs in the loops and fewer rounds with the
programs; a figure per pair does not depend on how many there are. Memory and output of a loop do:
there they are comparable only among tools with the same count.
"""
import argparse
import glob
import json
import os
import platform
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEPTHS = (10, 30, 60)


# --- tools ------------------------------------------------------------------------------------------

class Tool:
    """How a tool is put in front of a command. Its output goes to files below OUT, its working
    directory."""

    def __init__(self, name, prefix, environment=None, scale=1.0, loops_only=None,
                 on_request=False):
        self.name = name
        self.prefix = prefix
        self.environment = environment or {}
        self.scale = scale  # of the pairs of a loop
        self.loops_only = loops_only  # REGEX of the workloads that it is for
        self.on_request = on_request  # runs only if --tools names it

    @property
    def slow(self):
        return self.scale < 1

    def runs(self, workload):
        return not self.loops_only or re.fullmatch(self.loops_only, workload.name)

    def command(self, argv):
        variables = ["env"] + [f"{k}={v}" for k, v in self.environment.items()]
        return self.prefix + (variables if self.environment else []) + argv


def find_library(name):
    listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
    found = re.search(rf"^\s*{re.escape(name)}\.so\S* .*x86-64.* => (\S+)$", listed, re.M)
    found = found or re.search(rf"^\s*{re.escape(name)}\.so\S* .* => (\S+)$", listed, re.M)
    return found and found.group(1)


def all_tools(bin_directory):
    tidemark = os.path.join(bin_directory, "tidemark")
    options = subprocess.run([tidemark, "record", "--help"], capture_output=True, text=True).stdout

    def record(*more):
        return [tidemark, "record", "-q", "-o", "%n.%p.tmk", *more, "--"]

    tools = [Tool("bare", []), Tool("tidemark", record()),
             Tool("stacks=none", record("--stacks=none"), loops_only="pair/.*/1")]
    if "free-stacks" in options:
        tools.append(Tool("free-stacks", record("--free-stacks"), loops_only="pair/.*/1",
                          on_request=True))
    if "--sample" in options:
        tools.append(Tool("sample=512K", record("--sample=512K"), loops_only="pair/.*/1"))
    if shutil.which("heaptrack"):
        tools.append(Tool("heaptrack", ["heaptrack", "-o", "heaptrack"]))
    if shutil.which("valgrind"):
        tools.append(Tool("massif", ["valgrind", "-q", "--tool=massif",
                                     "--massif-out-file=massif.out"], scale=0.1))
        tools.append(Tool("dhat", ["valgrind", "-q", "--tool=dhat",
                                   "--dhat-out-file=dhat.out"], scale=0.1))
    tcmalloc = find_library("libtcmalloc")
    if tcmalloc:
        tools.append(Tool("gperftools", [], {"LD_PRELOAD": tcmalloc, "HEAPPROFILE": "gperftools"},
                          scale=0.02))
    if shutil.which("malt"):
        tools.append(Tool("malt", ["malt"], scale=0.02))
    return tools


def versions(bin_directory):
    def first_line(*command):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=20)
            return (done.stdout or done.stderr).strip().split("\n")[0]
        except (OSError, subprocess.TimeoutExpired):
            return None
    known = {"tidemark": first_line(os.path.join(bin_directory, "tidemark"), "version"),
             "source": first_line("git", "-C", ROOT, "describe", "--always", "--dirty"),
             "heaptrack": first_line("heaptrack", "--version"),
             "valgrind": first_line("valgrind", "--version"),
             "malt": first_line("malt", "--version"),
             "g++": first_line("g++", "--version")}
    return {name: version for name, version in known.items() if version}


# --- workloads --------------------------------------------------------------------------------------

class Loop:
    def __init__(self, program, shape, frames, threads, pairs, slow_tools=True):
        self.name = f"{shape}/{frames}/{threads}"
        self.program = program
        self.shape, self.frames, self.threads, self.pairs = shape, frames, threads, pairs
        self.slow_tools = slow_tools

    def argv(self, tool, report):
        pairs = max(int(self.pairs * tool.scale), 1000)
        return [self.program, self.shape, str(self.frames), str(self.threads), str(pairs), report]


class Program:
    def __init__(self, name, argv, slow_tools=True):
        self.name = name
        self.fixed = argv
        self.slow_tools = slow_tools

    def argv(self, tool, report):
        del tool, report
        return self.fixed


def cc1plus_command(*options):
    """What g++ would run, without g++ around it."""
    source = os.path.join(ROOT, "examples", "heavy.cpp")
    said = subprocess.run(["g++", "-###", "-std=c++17", *options, source], capture_output=True,
                          text=True).stderr
    for line in said.split("\n"):
        if line.startswith(" ") and "cc1plus" in line:
            return shlex.split(line)
    return None


def all_programs(quick):
    def script(program, *argv):
        path = shutil.which(program)
        return [os.path.realpath(path), *argv] if path else None

    def here(name):
        return os.path.join(ROOT, "bench", "inprocess", name)
    # Debian's own where there is one: what `which` finds may be a script that looks for the real one
    python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
    wanted = [
        ("true", script("true"), True),
        ("cc1plus -fsyntax-only", cc1plus_command("-fsyntax-only"), not quick),
        ("cc1plus -O2", None if quick else cc1plus_command("-O2", "-S", "-o", "/dev/null"), False),
        ("perl", script("perl", here("record.pl")), not quick),
        ("python3", None if quick else [os.path.realpath(python), here("record_python.py")], True),
        ("gs", None if quick else script("gs", "-q", "-dBATCH", "-dNOPAUSE", "-sDEVICE=pnmraw", "-r72",
                      "-o", "/dev/null", here("record.ps")), True),
    ]
    return [Program(name, argv, slow) for name, argv, slow in wanted if argv]


def all_loops(program, quick):
    pairs = 300_000 if quick else 1_000_000
    shapes = ("pair", "live", "wander")
    if quick:
        return ([Loop(program, shape, frames, 1, pairs, slow_tools=(shape, frames) == ("pair", 30))
                 for shape in shapes for frames in DEPTHS] +
                [Loop(program, "pair", 30, threads, pairs, False) for threads in (2, 4)])
    return [Loop(program, shape, frames, threads, pairs, slow_tools=threads == 1)
            for shape in shapes for frames in DEPTHS for threads in (1, 2, 4)]


# --- one run ----------------------------------------------------------------------------------------

def is_program(process, argv):
    name = os.path.basename(process["program"])
    return name == os.path.basename(os.path.realpath(argv[0])) or name.startswith(("massif-", "dhat-"))


def attribute(report, argv):
    """Splits a tree of processes into the program and those that watch it."""
    program = max((p for p in report["processes"] if is_program(p, argv)),
                  key=lambda p: p["cpu_ns"], default=None)
    if not program:
        return {"target_cpu_ns": None, "tree_cpu_ns": report["cpu_ns"], "wall_ns": report["wall_ns"],
                "program_peak_kib": None, "tool_peak_kib": None}
    half_ns = (program["from_ns"] + program["to_ns"]) / 2
    watching = [p for p in report["processes"]
                if p is not program and p["from_ns"] < program["to_ns"] and p["to_ns"] > half_ns]
    return {"target_cpu_ns": program["cpu_ns"],
            "tree_cpu_ns": sum(p["cpu_ns"] for p in report["processes"]),
            "wall_ns": report["wall_ns"],
            "program_peak_kib": program["peak_kib"],
            "tool_peak_kib": sum(p["peak_kib"] for p in watching)}


def run_once(work, tool, workload, timeout_s):
    """A sample; one with "failed" says why there is nothing else in it."""
    with tempfile.TemporaryDirectory(dir=work, prefix="run.") as out:
        usage, loop = os.path.join(work, "usage.json"), os.path.join(work, "loop.json")
        for stale in (usage, loop):
            if os.path.exists(stale):
                os.unlink(stale)
        argv = workload.argv(tool, loop)
        command = [os.path.join(work, "rusage"), usage] + tool.command(argv)
        # heaptrack opens its window where it has one
        environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
        with open(os.path.join(work, "said"), "w+", encoding="utf-8", errors="replace") as said:
            process = subprocess.Popen(command, cwd=out, env=environment, start_new_session=True,
                                       stdin=subprocess.DEVNULL, stdout=said, stderr=said)
            try:
                status = process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # its tracees die with it
                process.wait()
                return {"failed": f"not done after {timeout_s} s"}
            if status != 0 or not os.path.exists(usage):
                said.seek(0)
                last = said.read().strip().split("\n")[-1][:80]
                return {"failed": f"exit status {status}: {last}"}
        with open(usage, encoding="utf-8") as file:
            sample = attribute(json.load(file), argv)
        sample["output_bytes"] = sum(os.path.getsize(path) for path in
                                     glob.glob(os.path.join(out, "**"), recursive=True)
                                     if os.path.isfile(path))
        if os.path.exists(loop):
            with open(loop, encoding="utf-8") as file:
                report = json.load(file)
            sample["pairs"] = report["pairs"]
            sample["loop_cpu_ns"], sample["loop_wall_ns"] = report["cpu_ns"], report["wall_ns"]
        return sample


# --- all runs ---------------------------------------------------------------------------------------

class Results:
    """samples[workload][tool][round]"""

    def __init__(self):
        self.samples = {}
        self.failures = {}
        self.traced = True

    def add(self, workload, tool, turn, sample):
        if "failed" in sample:
            self.failures[workload, tool] = sample["failed"]
        else:
            self.traced = self.traced and sample["target_cpu_ns"] is not None
            self.samples.setdefault(workload, {}).setdefault(tool, {})[turn] = sample

    def over_rounds(self, workload, tool, figure, against="bare"):
        """figure(sample, bare) of every round that has both."""
        mine = self.samples.get(workload, {}).get(tool, {})
        bare = self.samples.get(workload, {}).get(against, {})
        values = []
        for turn in sorted(mine.keys() & bare.keys()):
            try:
                values.append(figure(mine[turn], bare[turn]))
            except (TypeError, KeyError, ZeroDivisionError):
                pass
        return values

    def median(self, workload, tool, figure):
        values = self.over_rounds(workload, tool, figure)
        return statistics.median(values) if values else None


def note(line):
    print(line, file=sys.stderr, flush=True)


def is_due(options, tool, workload, turn, results):
    if not tool.runs(workload) or (workload.name, tool.name) in results.failures:
        return False
    if not tool.slow:
        return True
    rounds = options.slow_rounds if isinstance(workload, Program) else options.rounds
    return workload.slow_tools and turn < rounds


def measure(options, tools, workloads):
    results = Results()
    loads = [os.getloadavg()]
    for workload in workloads:  # files into the page cache, clocks up
        if isinstance(workload, Program):
            run_once(options.work, tools[0], workload, options.timeout)
    for turn in range(options.rounds):
        started = time.monotonic()
        for workload in workloads:
            turned = tools[turn % len(tools):] + tools[:turn % len(tools)]
            for tool in turned:
                if is_due(options, tool, workload, turn, results):
                    sample = run_once(options.work, tool, workload, options.timeout)
                    results.add(workload.name, tool.name, turn, sample)
        loads.append(os.getloadavg())
        note(f"round {turn + 1} of {options.rounds}: {time.monotonic() - started:.0f} s, "
             f"load {loads[-1][0]:.2f}")
    return results, loads


# --- figures ----------------------------------------------------------------------------------------

def cpu_added(mine, bare):
    return mine["loop_cpu_ns"] / mine["pairs"] - bare["loop_cpu_ns"] / bare["pairs"]


def cpu_per_pair(mine, _bare):
    return mine["loop_cpu_ns"] / mine["pairs"]


def wall_added(mine, bare):
    return mine["loop_wall_ns"] / mine["pairs"] - bare["loop_wall_ns"] / bare["pairs"]


def wall_per_pair(mine, _bare):
    return mine["loop_wall_ns"] / mine["pairs"]


def target_ratio(mine, bare):
    return mine["target_cpu_ns"] / bare["target_cpu_ns"]


def tree_ratio(mine, bare):
    return mine["tree_cpu_ns"] / bare["tree_cpu_ns"]


def wall_ratio(mine, bare):
    return mine["wall_ns"] / bare["wall_ns"]


def wall_added_ms(mine, bare):
    return (mine["wall_ns"] - bare["wall_ns"]) / 1e6


def tree_added_ms(mine, bare):
    return (mine["tree_cpu_ns"] - bare["tree_cpu_ns"]) / 1e6


def program_peak_added_mb(mine, bare):
    return (mine["program_peak_kib"] - bare["program_peak_kib"]) * 1024 / 1e6


def tool_peak_mb(mine, _bare):
    return mine["tool_peak_kib"] * 1024 / 1e6


def output_mb(mine, _bare):
    return mine["output_bytes"] / 1e6


def target_cpu_s(mine, _bare):
    return mine["target_cpu_ns"] / 1e9


LOOP_FIGURES = {"cpu_ns_per_pair": cpu_per_pair, "cpu_added_ns_per_pair": cpu_added,
                "wall_ns_per_pair": wall_per_pair, "wall_added_ns_per_pair": wall_added,
                "tree_cpu_ratio": tree_ratio, "program_peak_added_mb": program_peak_added_mb,
                "tool_peak_mb": tool_peak_mb, "output_mb": output_mb}
PROGRAM_FIGURES = {"target_cpu_s": target_cpu_s, "target_cpu_ratio": target_ratio,
                   "tree_cpu_ratio": tree_ratio, "wall_ratio": wall_ratio,
                   "wall_added_ms": wall_added_ms, "tree_cpu_added_ms": tree_added_ms,
                   "program_peak_added_mb": program_peak_added_mb, "tool_peak_mb": tool_peak_mb,
                   "output_mb": output_mb}


# --- goals ------------------------------------------------------------------------------------------

def loop_values(results, tool, shape, figure):
    return [results.median(f"{shape}/{frames}/1", tool, figure) for frames in DEPTHS]


def ratios(above, below):
    """None where noise has made one of the two negative, too."""
    return [a / b if a is not None and b and a >= 0 and b > 0 else None
            for a, b in zip(above, below)]


def threads_ratio(results, tool):
    four = [results.median(f"pair/{frames}/4", tool, cpu_per_pair) for frames in DEPTHS]
    return ratios(four, loop_values(results, tool, "pair", cpu_per_pair))


def wander_ratio(results, tool):
    return ratios(loop_values(results, tool, "wander", cpu_added),
                  loop_values(results, tool, "pair", cpu_added))


def of_program(program, *figures):
    return lambda results, tool: [results.median(program, tool, figure) for figure in figures]


def of_loops(shape, figure):
    return lambda results, tool: loop_values(results, tool, shape, figure)


# figure, unit, decimals, values(results, tool), goal, stretch, the tool whose figure it is
GOALS = (
    ("target CPU added per pair, 10 / 30 / 60 frames", "ns", 0, of_loops("pair", cpu_added),
     (65, 75, 95), (45, 55, 70), "tidemark"),
    # 1.4 times the row above, goal by goal
    ("  the same, wandering stack", "ns", 0, of_loops("wander", cpu_added), (91, 105, 133),
     (54, 66, 84), "tidemark"),
    ("  wandering against repeated", "x", 2, wander_ratio, (), (), "tidemark"),
    ("  wall added per pair, 1 thread", "ns", 0, of_loops("pair", wall_added), (150,) * 3, (100,) * 3,
     "tidemark"),
    ("  CPU per pair, 4 threads against 1", "x", 2, threads_ratio, (1.15,) * 3, (1.05,) * 3,
     "tidemark"),
    ("cc1plus -fsyntax-only: target CPU, tree CPU", "x", 2,
     of_program("cc1plus -fsyntax-only", target_ratio, tree_ratio), (1.30, 1.6), (1.22, 1.45),
     "tidemark"),
    ("  peak memory: program above bare, tool", "MB", 1,
     of_program("cc1plus -fsyntax-only", program_peak_added_mb, tool_peak_mb), (32, 100), (20, 60),
     "tidemark"),
    ("  output", "MB", 2, of_program("cc1plus -fsyntax-only", output_mb), (5,), (3,), "tidemark"),
    ("cc1plus -O2: target CPU, tree CPU", "x", 2,
     of_program("cc1plus -O2", target_ratio, tree_ratio), (1.15, 1.3), (1.10, 1.2), "tidemark"),
    ("perl: tree CPU", "x", 2, of_program("perl", tree_ratio), (2.0,), (1.6,), "tidemark"),
    ("true: wall added", "ms", 1, of_program("true", wall_added_ms), (30,), (15,), "tidemark"),
    ("target CPU added per pair, --stacks=none", "ns", 0, of_loops("pair", cpu_added), (30,) * 3,
     (20,) * 3, "stacks=none"),
    ("target CPU added per pair, --sample=512K", "ns", 1, of_loops("pair", cpu_added), (6,) * 3,
     (3,) * 3, "sample=512K"),
    ("target CPU added per pair, --free-stacks", "ns", 0, of_loops("pair", cpu_added), (), (),
     "free-stacks"),  # no goal: two call paths a pair, for who asks for them
)


def verdict(values, goal, stretch):
    known = [(v, g, s) for v, g, s in zip(values, goal, stretch) if v is not None]
    if not known:
        return "-"
    if any(v > g for v, g, s in known):
        return "missed"
    reached = "stretch" if all(v <= s for v, g, s in known) else "met"
    return reached if len(known) == len(values) else f"{reached}, in part"


def judge(results):
    rows = []
    for figure, unit, decimals, values_of, goal, stretch, tool in GOALS:
        mine, theirs = values_of(results, tool), values_of(results, "heaptrack")
        rows.append({"figure": figure, "unit": unit, "decimals": decimals, "tool": tool,
                     "tidemark": mine, "heaptrack": theirs, "against_heaptrack": ratios(mine, theirs),
                     "goal": goal, "stretch": stretch, "verdict": verdict(mine, goal, stretch)})
    return rows


# --- printing ---------------------------------------------------------------------------------------

def number(value, decimals):
    return "-" if value is None else f"{value:.{decimals}f}"


def joined(values, decimals):
    """10 / 30 / 60; what is the same three times is said once."""
    shown = [number(value, decimals) for value in values]
    return shown[0] if len(set(shown)) == 1 else " / ".join(shown)


def print_table(heading, columns, rows):
    if not rows:
        return
    widths = [max(len(row[i]) for row in [columns, *rows]) for i in range(len(columns))]
    print(f"\n{heading}")
    for row in [columns, *rows]:
        cells = [row[0].ljust(widths[0])] + [cell.rjust(w) for cell, w in zip(row[1:], widths[1:])]
        print("  " + "  ".join(cells).rstrip())


def print_goals(rows):
    def limit(row, key):
        return f"{joined(row[key], 2).replace('.00', '')} {row['unit']}" if row[key] else "-"
    print_table("Goals", ["", "heaptrack", "tidemark", "of heaptrack's", "goal", "stretch", ""],
                [[row["figure"], joined(row["heaptrack"], row["decimals"]),
                  joined(row["tidemark"], row["decimals"]),
                  joined(row["against_heaptrack"], 2) if row["unit"] != "x" else "",
                  limit(row, "goal"), limit(row, "stretch"), row["verdict"]] for row in rows
                 if any(value is not None for value in row["tidemark"] + row["heaptrack"])])


def print_loops(results, tools, loops):
    names = [tool.name for tool in tools if tool.name != "bare"]
    names = [name for name in names
             if any(name in results.samples.get(loop.name, {}) for loop in loops)]
    for heading, added, whole in (("CPU of the program", cpu_added, cpu_per_pair),
                                  ("Wall", wall_added, wall_per_pair)):
        rows = []
        for loop in loops:
            mine = results.median(loop.name, "tidemark", added)
            theirs = results.median(loop.name, "heaptrack", added)
            rows.append([loop.name, number(results.median(loop.name, "bare", whole), 1)] +
                        [number(results.median(loop.name, name, added), 0) for name in names] +
                        [number(ratios([mine], [theirs])[0], 2)])
        print_table(f"{heading}, ns per pair: bare, and what each adds (shape/frames/threads)",
                    ["", "bare", *names, "of heaptrack's"], rows)


def measured_limit(work):
    """What a pair takes at least on this machine (limit.c): {(part, frames): ns}."""
    said = subprocess.run([os.path.join(work, "limit")], capture_output=True, text=True).stdout
    return {(part, int(frames)): float(ns) for part, frames, ns in map(str.split, said.splitlines())}


def least_limit(before, after):
    return {key: min(ns, after.get(key, ns)) for key, ns in before.items()}


def print_limit(results, tools, limit):
    rows = []
    for frames in DEPTHS:
        least = limit.get(("pair", frames))
        added = [(tool.name, results.median(f"pair/{frames}/1", tool.name, cpu_added))
                 for tool in tools if tool.name != "bare"]
        if not least or all(ns is None for _, ns in added):
            continue
        rows.append([f"{frames} frames", number(limit[("fenced", 0)], 1), number(limit[("ring", 0)], 1),
                     number(limit[("verify", frames)], 1), number(least, 1),
                     ", ".join(f"{name} x{ns / least:.1f}" for name, ns in added if ns is not None)])
    print_table("The limit of a pair on this machine, ns CPU, and what each tool adds as a multiple of it",
                ["", "two fenced stamps", "two records", "verifying", "all at once", "added"], rows)


def print_programs(results, tools, programs):
    rows = []
    for program in programs:
        base = results.median(program.name, "bare", target_cpu_s)
        for tool in tools:
            if tool.name not in results.samples.get(program.name, {}) or tool.name == "bare":
                continue
            cells = [(target_ratio, 2), (tree_ratio, 2), (wall_ratio, 2), (wall_added_ms, 1),
                     (program_peak_added_mb, 1), (tool_peak_mb, 1), (output_mb, 2)]
            rows.append([program.name, number(base, 3), tool.name] +
                        [number(results.median(program.name, tool.name, figure), decimals)
                         for figure, decimals in cells])
    print_table("Programs, against bare", ["", "bare CPU s", "tool", "target CPU x", "tree CPU x",
                "wall x", "wall + ms", "program + MB", "tool MB", "output MB"], rows)


def spread(values):
    """How far apart the rounds lie, as a share of their median."""
    middle = statistics.median(values)
    return (max(values) - min(values)) / middle if len(values) > 1 and middle else None


def noise(results, workloads):
    """Median over the workloads of how far bare runs lie apart."""
    spreads = []
    for workload in workloads:
        figure = cpu_per_pair if isinstance(workload, Loop) else target_cpu_s
        values = results.over_rounds(workload.name, "bare", figure)
        if values and spread(values) is not None:
            spreads.append(spread(values))
    return statistics.median(spreads) if spreads else None


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = re.search(r"^model name\s*: (.*)$", file.read(), re.M)
    return {"cpu": model.group(1) if model else platform.machine(), "cores": os.cpu_count(),
            "usable_cores": len(os.sched_getaffinity(0)), "kernel": platform.release(),
            "libc": " ".join(platform.libc_ver()),
            "memory_gb": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9, 1)}


def print_head(head):
    where = head["machine"]
    print(f"Recording, {head['date']}: {head['rounds']} rounds{', quick' if head['quick'] else ''}")
    print(f"  machine  {where['cpu']}, {where['usable_cores']} of {where['cores']} cores, "
          f"{where['memory_gb']} GB, Linux {where['kernel']}, {where['libc']}")
    print(f"  tools    {', '.join(head['versions'].values())}")
    loads = [load[0] for load in head["load"]]
    print("  load     " + " ".join(f"{load:.2f}" for load in loads) + " (before, and after each round)")
    if head["noise"] is not None:
        print(f"  noise    bare runs lie {100 * head['noise']:.0f} % apart (median over workloads of "
              "largest less least)")
    if not head["traced"]:
        print("  caution  processes cannot be told apart here (is ptrace forbidden?): no target CPU, "
              "no peaks for some")
    if max(loads) > where["usable_cores"]:
        print("  caution  others were using this machine: trust ratios within this run, not ns and ms")


def as_json(head, results, goals, workloads, tools):
    figures = {}
    for workload in workloads:
        wanted = LOOP_FIGURES if isinstance(workload, Loop) else PROGRAM_FIGURES
        for tool in tools:
            if tool.name in results.samples.get(workload.name, {}):
                figures.setdefault(workload.name, {})[tool.name] = {
                    name: results.median(workload.name, tool.name, figure)
                    for name, figure in wanted.items()}
    failures = [{"workload": w, "tool": t, "why": why} for (w, t), why in results.failures.items()]
    return {**head, "goals": goals, "medians": figures, "failures": failures,
            "samples": results.samples}


# --- main -------------------------------------------------------------------------------------------

def parse_options():
    parser = argparse.ArgumentParser(prog="bench/record.sh", description=__doc__.split("\n")[0])
    parser.add_argument("--bin", required=True, help="where tidemark is")
    parser.add_argument("--work", required=True, help="where workload and rusage are")
    parser.add_argument("--rounds", "-N", type=int, help="rounds (default: 5; quick: 1)")
    parser.add_argument("--slow-rounds", type=int, default=1,
                        help="rounds of programs under valgrind, gperftools and MALT (default: 1)")
    parser.add_argument("--quick", action="store_true", help="a smoke run: fewer pairs and workloads")
    parser.add_argument("--only", metavar="REGEX", help="workloads whose name matches")
    parser.add_argument("--tools", metavar="REGEX",
                        help="bare and the tools whose name matches (without it: all but free-stacks)")
    parser.add_argument("--timeout", type=int, default=180, help="s for one run (default: 180)")
    parser.add_argument("--json", help="where the figures go (default: record.json in WORK)")
    options = parser.parse_args()
    options.rounds = options.rounds or (1 if options.quick else 5)
    options.json = options.json or os.path.join(options.work, "record.json")
    return options


def main():
    options = parse_options()
    tools = [tool for tool in all_tools(options.bin)
             if tool.name == "bare" or (re.search(options.tools, tool.name) if options.tools
                                        else not tool.on_request)]
    loops = all_loops(os.path.join(options.work, "workload"), options.quick)
    programs = all_programs(options.quick)
    if options.only:
        loops = [loop for loop in loops if re.search(options.only, loop.name)]
        programs = [program for program in programs if re.search(options.only, program.name)]
    workloads = loops + programs
    if not workloads:
        sys.exit(f"bench/record.sh: no workload matches '{options.only}'")
    limit = measured_limit(options.work)
    results, loads = measure(options, tools, workloads)
    head = {"date": time.strftime("%Y-%m-%d %H:%M:%S %z"), "rounds": options.rounds,
            "quick": options.quick, "machine": machine(), "versions": versions(options.bin),
            "load": loads, "noise": noise(results, workloads), "traced": results.traced}
    goals = judge(results)
    print_head(head)
    print_loops(results, tools, loops)
    limit = least_limit(limit, measured_limit(options.work))
    print_limit(results, tools, limit)
    print_programs(results, tools, programs)
    print_goals(goals)
    for (workload, tool), why in results.failures.items():
        print(f"\n{tool} failed on {workload}: {why}")
    with open(options.json, "w", encoding="utf-8") as file:
        head["limit_ns"] = {f"{part}/{frames}": ns for (part, frames), ns in limit.items()}
        json.dump(as_json(head, results, goals, workloads, tools), file, indent=1)
    print(f"\nEvery round of every run: {options.json}")
    if any(tool in ("bare", "tidemark") for _, tool in results.failures):
        sys.exit(1)


if __name__ == "__main__":
    main()
