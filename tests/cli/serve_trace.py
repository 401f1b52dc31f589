"""serve_trace.py URL TRACE: the server's moments and windows against the commands' own."""
import json
import subprocess
import sys

from served import Server

server, trace = Server(sys.argv[1]), sys.argv[2]


def run(*command):
    return subprocess.run(["tidemark", *command], capture_output=True, check=True).stdout


def strings(columns):
    starts, text = columns["string_start"], bytes(columns["string_bytes"])
    return [text[a:b].decode() for a, b in zip(starts, starts[1:])]


def function_of(node, paths, code, names):
    """What the innermost frame of a call path is called."""
    line = code["code_first_line"][paths["code"][node]]
    return names[code["function_name"][code["line_function"][line]]]


summary = server.json("p/0/summary")
print("asks", [name for name in summary["resources"] if name in ("at", "window")])
duration = int(summary["meta"]["duration_ns"])
_, paths = server.columns("p/0/paths")
_, code = server.columns("p/0/code")
names = strings(code)

for moment in "peak", 0, duration // 3, duration // 2, duration, 10 * duration:
    # The server answers with the end for what lies behind it; the command complains.
    named = moment if moment == "peak" else f"{min(moment, duration)}ns"
    said = json.loads(run("at", trace, named, "--json", "--paths", "--top", "0", "--no-hide-std"))
    header, at = server.columns(f"p/0/at/{moment}")
    held = {row[0]: row[1:] for row in zip(at["node"], at["bytes"], at["count"])}
    wanted = {row["node"]: (row["live_bytes"], row["live_count"]) for row in said["paths"]}
    level = header["live_bytes"], header["live_count"], header["threads"], header["events"]
    level_wanted = said["at"]["live_bytes"], said["at"]["live_count"], said["at"]["threads"], said["at"]["events_before"]
    print("of the run" if moment != "peak" else "peak", held == wanted, level == level_wanted,
          sum(size for size, _ in held.values()) == header["live_bytes"])
    if moment == "peak":
        print("time", header["time_ns"] == said["at"]["time_ns"], len(held) > 3)
        shown = sorted((function_of(node, paths, code, names), size) for node, (size, _) in held.items())
        print("names", shown == sorted((row["frames"][0]["function"], row["live_bytes"]) for row in said["paths"]))

for low, high in (0, duration), (duration // 4, duration // 2), (duration // 50, duration // 20), (duration // 2, duration // 2):
    subprocess.run(["rm", "-f", "window.tmk"], check=True)
    run("replay", "-q", "--from", f"{low}ns", "--to", f"{high}ns", "-o", "window.tmk", trace)
    report = json.loads(run("report", "--json", "window.tmk"))
    prefix = f"window/{low}-{high}/"
    there = server.json(f"p/0/{prefix}summary")
    columns = all(sum(number or 0 for number in server.columns(f"p/0/{prefix}columns/{name}")[1][name]) == report["program"][name]
                  for name in ("alloc_count", "alloc_bytes", "live_bytes", "at_peak_bytes"))
    print("window", there["program"] == report["program"], there["meta"] == report["meta"], columns,
          server.missing(0, prefix) or True, "at" not in there["resources"])

# What began in a window and is alive at its end, by call path: as the blocks of that moment say. What is left of the level is from
# before the window, and was alive at its beginning.
for low, high in (0, duration), (duration // 4, duration // 2), (duration // 50, duration // 20), (duration // 2, duration // 2):
    lines = run("blocks", trace, "--at", f"{high}ns", "--json", "--top", "0").splitlines()
    wanted = {}
    for block in map(json.loads, lines):
        if block["birth_ns"] > low:
            size, count = wanted.get(block["node"], (0, 0))
            wanted[block["node"]] = size + block["size_bytes"], count + 1
    _, born = server.columns(f"p/0/window/{low}-{high}/born")
    said = {node: row for node, *row in zip(born["node"], born["bytes"], born["count"])}
    before, after = (dict(zip(at["node"], at["bytes"])) for _, at in (server.columns(f"p/0/at/{moment}") for moment in (low, high)))
    print("born", {node: tuple(row) for node, row in said.items()} == wanted,
          all(after[node] >= size and after[node] - size <= before.get(node, 0) for node, (size, _) in said.items()),
          not said if low == high else bool(said) or low > 0)

first = server.ask(f"p/0/window/0-{duration}/code")
print("kept", first[1]["ETag"] == server.ask(f"p/0/window/0-{duration}/code")[1]["ETag"])
for target in ("at/x", "at/", "at/-1", "at/007", "at/1/2", "at/99999999999999999999", "window/2-1/summary", "window/1-2/", "window/1-2",
               "window/1/summary", "window/a-b/summary", "window/01-2/summary", "window/1-99999999999999999999/summary",
               "window/1-2/nothing", "window/1-2/at/1", "window/1-2/window/1-2/summary"):
    print(target, server.ask(f"p/0/{target}")[0])

# Who goes away is not waited for: there is an answer for the one who stays.
gone = [server.connect(f"p/0/window/{number}-{duration}/summary") for number in range(1, 20)]
for connection in gone:
    connection.close()
last = server.json(f"p/0/window/{duration // 3}-{duration}/summary")
print("who stays is answered", int(last["meta"]["window_from_ns"]) <= duration // 3)
