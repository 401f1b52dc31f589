"""serve_region.py URL PROFILE TRACE: the server's regions against the commands' own."""
import json
import subprocess
import sys

from served import Server

server, profile, trace = Server(sys.argv[1]), sys.argv[2], sys.argv[3]
METRICS = "alloc_count", "alloc_bytes", "live_bytes", "at_peak_bytes", "temporary_count"


def run(*command):
    return json.loads(subprocess.run(["tidemark", *command], capture_output=True, check=True).stdout)


def sums_are(prefix, program):
    return all(sum(number or 0 for number in server.columns(f"{prefix}columns/{name}")[1][name]) == program[name] for name in METRICS)


def same(prefix, report):
    there = server.json(prefix + "summary")
    nodes = server.columns(prefix + "sites")[1]["node"]
    return (there["program"] == report["program"], there["meta"] == report["meta"], sums_are(prefix, there["program"]),
            nodes == sorted(set(nodes)), there["counts"]["sites"] == len(nodes))


print("lists", ["region" in server.json(f"p/{at}/summary")["resources"] for at in (0, 1)])
regions = server.json("p/0/regions")["regions"]
whole = server.columns("p/0/sites")[1]["node"]
for at, region in sorted(enumerate(regions), key=lambda pair: pair[1]["name"]):
    prefix = f"p/0/region/{at}/"
    there = server.json(prefix + "summary")
    print(region["name"], same(prefix, run("report", "--json", "--region", region["name"], profile)),
          "missing", server.missing(0, f"region/{at}/"), "region" in there["resources"],
          set(server.columns(prefix + "sites")[1]["node"]) <= set(whole),
          all(server.ask(prefix + name)[2] == server.ask("p/0/" + name)[2] for name in ("paths", "modules", "regions")) and
          # files of variables are the whole program's
          all(server.columns(prefix + "code")[1][name] == server.columns("p/0/code")[1][name] for name in ("code_address", "line_number")))
    # the trace's own profile has the same regions
    print(" of the trace", server.json(f"p/1/region/{at}/summary")["program"] == there["program"])

# A window that everything of "parallel" is in, one that cuts it, one that ends before "outer" begins.
place = {region["name"]: at for at, region in enumerate(regions)}
parallel, outer = (regions[place[name]] for name in ("parallel", "outer"))
middle = (parallel["first_ns"] + parallel["last_ns"]) // 2
for low, high in (0, 10**12), (middle, 10**12), (0, middle):
    subprocess.run(["rm", "-f", "window.tmk"], check=True)
    subprocess.run(["tidemark", "replay", "-q", "--from", f"{low}ns", "--to", f"{high}ns", "-o", "window.tmk", trace], capture_output=True, check=True)
    print("window", same(f"p/1/window/{low}-{high}/region/{place['parallel']}/", run("report", "--json", "--region", "parallel", "window.tmk")),
          "missing", server.missing(1, f"window/{low}-{high}/region/{place['parallel']}/"))
print(server.ask(f"p/1/window/0-{middle}/region/{place['outer']}/summary")[0],
      json.loads(server.ask(f"p/1/window/0-{middle}/region/{place['outer']}/summary")[2])["detail"])

tag = server.ask("p/0/region/0/sites")[1]["ETag"]
print("tags", tag == server.ask("p/0/region/0/sites")[1]["ETag"], tag != server.ask("p/0/region/1/sites")[1]["ETag"], tag != server.ask("p/0/sites")[1]["ETag"])
for target in ("region/", "region/0", "region/0/", "region/x/summary", "region/00/summary", "region/99/summary", "region/4294967296/summary",
               "region/99999999999999999999/summary", "region/0/nothing", "region/0/region/0/summary", "region/0/window/0-1/summary", "region/0/at/peak",
               "region/0/threads", "region/0/timeline", "region/0/marks", "region/0/insights", "window/0-1/region/0/summary"):
    print(target, server.ask(f"p/0/{target}")[0])
print(json.loads(server.ask("p/0/region/0/threads")[2])["detail"])
