"""The figures of a bench, as text and as what goes into the JSON."""
import math

MIB = 1 << 20

# The goals of the project that these figures are held against, for the allocator called bfm.
GOALS = {"rss": 0.98, "time": 0.70, "netbuild_time": 0.60, "netbuild_rss": 0.80, "slowdown": 3.0,
         "slowest_ns": 200_000, "p9999_ns": 2_000}

# Patterns whose blocks are all, or nearly all, of less than 64 pointers.
SMALL_BLOCKS = ("fifo:13", "lifo:13", "alt:7,17", "r:1-63")


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def figure_of(name):
    return lambda run: run[name]


def ratio(bench, part, pattern, allocator, figure):
    """To glibc's; None if one of the two is not known."""
    own, base = (bench.median(part, pattern, name, "time", figure_of(figure))
                 for name in (allocator, "glibc"))
    return own / base if own is not None and base else None


def mean_ratio(bench, part, patterns, allocator, figure):
    """(geometric mean, how many patterns are in it)."""
    ratios = [ratio(bench, part, pattern, allocator, figure) for pattern in patterns]
    known = [value for value in ratios if value]
    return geometric_mean(known), len(known)


def slowdown(bench, part, pattern, allocator):
    """The pattern's CPU time by that of the same pairs without it, its pages' first touch included."""
    own = bench.median(part, pattern, allocator, "time", figure_of("cpu_ns"))
    plain = bench.median(part, pattern, allocator, "plain",
                         lambda run: run["cpu_ns"] + run["touch_cpu_ns"])
    return own / plain if own is not None and plain else None


def slowest(bench, pattern, allocator):
    """The slowest single call of a stream, ns: the least of its runs."""
    values = bench.values("latency", pattern, allocator, "latency",
                          lambda run: max(run["malloc"]["max_ns"], run["free"]["max_ns"]))
    return min(values) if values else None


def high_quantile(bench, pattern, allocator):
    return bench.median("latency", pattern, allocator, "latency",
                        lambda run: max(run["malloc"]["p9999_ns"], run["free"]["p9999_ns"]))


def most_instructions(bench, pattern, allocator, blocks):
    values = bench.values("count", pattern, allocator, blocks, lambda run: max(
        run["instructions"][call]["max"] for call in ("malloc", "free")))
    return values[0] if values else None


def worst(values):
    """(value, whose) of pairs; None if nothing is known."""
    known = [pair for pair in values if pair[0] is not None]
    return max(known) if known else (None, None)


# --- text -----------------------------------------------------------------------------------------------

def cell(value, form):
    return "-" if value is None else format(value, form)


def table(title, names, rows, form=".2f", width=10):
    """Rows are (label, {name: value})."""
    if not rows:
        return
    label = max(len(row[0]) for row in rows)
    print(f"\n{title}\n{'':{label}}  " + " ".join(f"{name:>{width}}" for name in names))
    for row, values in rows:
        print(f"{row:{label}}  " +
              " ".join(f"{cell(values.get(name), form):>{width}}" for name in names))


def by_allocator(bench, function):
    return {name: function(name) for name in bench.allocators}


def show_head(head):
    load = " to ".join(f"{value:.1f}" for value in head["load"])
    machine = head["machine"]
    print(f"{head['date']}: {head['rounds']} rounds of {head['bytes'] / MIB:.0f} MiB; "
          f"{machine['processor']}, {machine['processors']} processors, load {load}"
          + (" (other programs were running)" if max(head["load"]) > 1.5 else ""))
    for name, facts in head["allocators"].items():
        print(f"  {name}: {facts['version'] or 'given by its path'}")


def show_patterns(bench):
    names, means = list(bench.allocators), {}
    for figure, title in (("cpu_ns", "CPU time"), ("user_ns", "user CPU time"),
                          ("rss_peak_bytes", "peak RSS"), ("rss_released_bytes", "RSS after release"),
                          ("vm_peak_bytes", "peak virtual")):
        rows = [(pattern, by_allocator(
            bench, lambda name, p=pattern, f=figure: ratio(bench, "patterns", p, name, f)))
            for pattern in bench.patterns]
        means[figure] = by_allocator(
            bench, lambda name, f=figure: mean_ratio(bench, "patterns", bench.patterns, name, f)[0])
        rows.append(("geometric mean", means[figure]))
        if figure in ("cpu_ns", "user_ns", "rss_peak_bytes"):
            table(f"{title} of the report's patterns, glibc = 1", names, rows)
    table("Geometric means over the patterns, glibc = 1", names,
          [("CPU time", means["cpu_ns"]), ("user CPU time", means["user_ns"]),
           ("peak RSS", means["rss_peak_bytes"]),
           ("RSS after release", means["rss_released_bytes"]),
           ("peak virtual", means["vm_peak_bytes"])], ".3f")
    return means


def show_slowdown(bench, parts):
    listed = [(part, pattern) for part in parts for pattern in getattr(bench, part)]
    rows = [(pattern, by_allocator(bench, lambda name, p=part, q=pattern: slowdown(bench, p, q, name)))
            for part, pattern in listed]
    most = by_allocator(bench, lambda name: worst([(row[1][name], row[0]) for row in rows]))
    if not any(value for value, _ in most.values()):
        return {}
    rows.append(("worst", {name: value for name, (value, _) in most.items()}))
    table("Slowdown against the same number of plain pairs", list(bench.allocators), rows, ".1f")
    return {name: {"value": value, "pattern": pattern} for name, (value, pattern) in most.items()}


def show_threads(bench):
    patterns = list(dict.fromkeys(key[1] for key in bench.runs if key[0] == "threads"))
    result = {}
    for figure, title in (("cpu_ns", "CPU time"), ("wall_ns", "wall time"),
                          ("rss_peak_bytes", "peak RSS")):
        rows = [(pattern, by_allocator(
            bench, lambda name, p=pattern, f=figure: ratio(bench, "threads", p, name, f)))
            for pattern in patterns]
        table(f"{title} of netbuilds (tasks/threads) and of the worst case (threads), glibc = 1",
              list(bench.allocators), rows)
        result[figure] = dict(rows)
    return result


def show_latency(bench):
    patterns = list(dict.fromkeys(key[1] for key in bench.runs if key[0] == "latency"))
    if not patterns:
        return {}
    names = list(bench.allocators)
    rows = [(pattern, by_allocator(bench, lambda name, p=pattern: slowest(bench, p, name)))
            for pattern in patterns]
    most = by_allocator(bench, lambda name: worst(
        [(values[name], pattern) for pattern, values in rows if pattern in bench.headline]))
    means = by_allocator(bench, lambda name: geometric_mean(
        [values[name] for pattern, values in rows if pattern in bench.headline and values[name]]))
    count = len([pattern for pattern in patterns if pattern in bench.headline])
    rows.append((f"worst of the {count} streams", {name: most[name][0] for name in names}))
    rows.append((f"geometric mean of the {count}", means))
    table("Slowest single call, ns", names, rows, ",.0f", 13)
    table("99.99 % of calls, ns", names,
          [(pattern, by_allocator(bench, lambda name, p=pattern: high_quantile(bench, p, name)))
           for pattern in patterns], ",.0f", 13)
    return {"slowest": {name: {"value": value, "pattern": pattern}
                        for name, (value, pattern) in most.items()}, "geometric_mean": means}


def show_counts(bench):
    counts = getattr(bench, "counts", [])
    names, rows, result = list(bench.allocators), [], {}
    for blocks in counts:
        values = by_allocator(bench, lambda name, n=blocks: worst(
            [(most_instructions(bench, pattern, name, n), pattern) for pattern in bench.headline]))
        result[blocks] = {name: {"value": value, "pattern": pattern}
                          for name, (value, pattern) in values.items()}
        rows.append((f"{blocks:,} blocks", {name: value for name, (value, _) in values.items()}))
        rows.append(("  in", {name: pattern for name, (_, pattern) in values.items() if pattern}))
    if rows:
        print("\nInstructions of one call, worst over the streams (no kernel)")
        label = max(len(row[0]) for row in rows)
        print(f"{'':{label}}  " + " ".join(f"{name:>14}" for name in names))
        for title, values in rows:
            print(f"{title:{label}}  " + " ".join(
                f"{values[name]:>14,}" if isinstance(values.get(name), int)
                else f"{values.get(name) or '-':>14}" for name in names))
        for pattern, blocks in bench.not_counted.items():
            print(f"{pattern}: not counted from {blocks:,} blocks on; too much memory")
    return result


def show_programs(bench):
    listed = list(dict.fromkeys(key[1] for key in bench.runs if key[0] == "programs"))
    result = {}
    for figure, title in (("cpu_ns", "CPU time"), ("rss_peak_bytes", "peak RSS")):
        rows = [(program, by_allocator(
            bench, lambda name, p=program, f=figure: ratio(bench, "programs", p, name, f)))
            for program in listed]
        table(f"{title} of real programs, glibc = 1", list(bench.allocators), rows)
        result[figure] = dict(rows)
    return result


def show_goals(figures, bench):
    if "bfm" not in bench.allocators:
        return
    found = {"time": figures["means"].get("cpu_ns", {}).get("bfm"),
             "rss": figures["means"].get("rss_peak_bytes", {}).get("bfm"),
             "slowdown": figures["slowdown"].get("bfm", {}).get("value"),
             "slowest_ns": figures["latency"].get("slowest", {}).get("bfm", {}).get("value"),
             "p9999_ns": worst([(high_quantile(bench, pattern, "bfm"), pattern)
                                for pattern in SMALL_BLOCKS])[0],
             "netbuild_time": figures["threads"].get("cpu_ns", {}).get("netbuild:1/1", {}).get("bfm"),
             "netbuild_rss": figures["threads"].get("rss_peak_bytes", {}).get("netbuild:1/1",
                                                                             {}).get("bfm")}
    print("\nbfm against the project's goals")
    for name, value in found.items():
        verdict = "unknown" if value is None else "met" if value <= GOALS[name] else "MISSED"
        print(f"  {name:14} {cell(value, ',.3f'):>14}  goal {GOALS[name]:>10,}  {verdict}")


def show(bench, head):
    """Prints everything; returns the figures for the JSON."""
    show_head(head)
    parts = [part for part in ("patterns", "streams") if any(key[0] == part for key in bench.runs)]
    figures = {"means": show_patterns(bench) if "patterns" in parts else {},
               "slowdown": show_slowdown(bench, parts),
               "threads": show_threads(bench), "latency": show_latency(bench),
               "instructions": show_counts(bench), "programs": show_programs(bench)}
    show_goals(figures, bench)
    return figures
