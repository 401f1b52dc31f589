"""serve_job.py URL: two jobs, run16 and run64, against what `tidemark job` says of them."""
import json
import subprocess
import sys

from served import Server

server = Server(sys.argv[1])


def run(*command):
    return subprocess.run(["tidemark", *command], capture_output=True, check=True).stdout


profiles = server.json("profiles")["profiles"]
print([(each["name"], each["kind"], each["state"]) for each in profiles[:3]], len(profiles))
ranks = [each for each in profiles if each["kind"] == "rank"]
print("ranks", ranks[16]["name"], {(each["state"], each["generation"]) for each in ranks}, {each["job"] for each in ranks})

for place, directory in enumerate(("run16", "run64")):
    job = json.loads(run("job", "-f", "json", directory))
    shown = server.json(f"p/{place}/ranks")
    same = ("rank", "state", "peak_bytes", "peak_ns", "live_bytes", "alloc_count", "duration_ns", "mpi_peak_bytes", "resident_peak_bytes")
    print(directory, all(rank[name] == of.get(name, rank[name]) for rank, of in zip(shown["ranks"], job["ranks"]) for name in same),
          len(shown["ranks"]) == len(job["ranks"]), sum(rank["peak_bytes"] for rank in shown["ranks"]) == job["high_water_marks"]["sum"])
    print([(node["name"], node["ranks"], node["lower_bytes"] == of["lower_bytes"], node["upper_bytes"] == of["upper_bytes"])
           for node, of in zip(shown["nodes"], job["nodes"])])
    _, steps = server.columns(f"p/{place}/rank_timeline")
    highest = {}
    for rank, level in zip(steps["rank"], steps["requested_max"]):
        highest[rank] = max(highest.get(rank, 0), level)
    print("steps", len(steps["step"]), all(highest[rank["id"]] >= rank["peak_bytes"] for rank in shown["ranks"]),
          all(low <= high for low, high in zip(steps["requested_min"], steps["requested_max"])))
    print("what is listed is there", server.missing(place) or True)

one = ranks[16 + 3]
report = json.loads(run("report", "--json", one["file"]))
print("a rank", one["name"], one["rank_id"], server.json(f"p/{one['index']}/summary")["program"] == report["program"])
print("read", [each["name"] for each in server.json("profiles")["profiles"] if each["kind"] == "rank" and each["state"] != "not read"])
print("a process has no ranks", server.ask(f"p/{one['index']}/ranks")[0])
