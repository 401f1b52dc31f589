"""job_sums.py JOBDIR JOB.tmk: each figure of a job's profile and of `tidemark job --json` against the sum, or the
extreme, over the profiles of its ranks. They are added up here from SQL over `tidemark unpack`, by call path. Prints
what differs."""
import collections
import itertools
import json
import math
import os
import sqlite3
import subprocess
import sys

NOT_FIGURES = {"id", "path", "sample", "kind", "name", "module", "thread"}
OF_A_MOMENT = {"peak_ns"}  # of the merged profile: when a bound is highest


def unpacked(path):
    subprocess.run(["tidemark", "unpack", path, "sums.db"], check=True)
    database = sqlite3.connect("sums.db")
    database.row_factory = sqlite3.Row
    os.unlink("sums.db")
    return database


def path_keys(database):
    """From a path's number to what is the same in all ranks: modules and addresses from the root on."""
    modules = {row["id"]: row["build_id"] or row["path"] for row in database.execute("SELECT * FROM module")}
    names = collections.defaultdict(list)
    for location, name in database.execute("SELECT location, name FROM location_frame LEFT JOIN function "
                                           "ON function.id = function ORDER BY location, depth"):
        names[location].append(name)
    locations = {}
    for row in database.execute("SELECT * FROM location"):
        place = (modules[row["module"]], row["address"]) if row["module"] is not None else tuple(names[row["id"]])
        locations[row["id"]] = (place, row["mark"])
    keys = {0: 0}  # a hash: paths may be thousands of frames deep
    for row in database.execute("SELECT * FROM path ORDER BY id"):  # parents first
        keys[row["id"]] = hash((keys[row["parent"]], locations.get(row["location"])))
    return keys


def add(into, key, row):
    sums = into.setdefault(key, {})
    for column in row.keys():
        if column in NOT_FIGURES | OF_A_MOMENT:
            continue
        more, before = row[column], sums.get(column)
        if column not in sums or more is None or before is None:
            extreme = column.split("_ns")[0].endswith(("_min", "_max"))
            sums[column] = more if column not in sums else (more if before is None else before) if extreme else None
        elif column.split("_ns")[0].endswith("_min"):
            sums[column] = min(before, more)
        elif column.split("_ns")[0].endswith("_max"):
            sums[column] = max(before, more)
        else:
            sums[column] = before + more


def looks_of(database, keys, owned):
    """The owners of the look that was chosen: nearly as much is resident as in the one with most, and its sum is said.
    Several may have that sum."""
    looks = database.execute("SELECT sample, sum(owner.resident_bytes), sample.resident_bytes FROM owner JOIN sample "
                             "ON sample.id = sample GROUP BY sample ORDER BY 3 DESC, 1").fetchall()
    chosen = [one for one in looks if one[1] == owned]
    if bool(chosen) != (owned is not None) or any(one[2] < 0.74 * looks[0][2] for one in chosen):
        print("another look", owned, [tuple(one) for one in looks])
    found = []
    for look in chosen:
        owners = {}
        for row in database.execute("SELECT * FROM owner WHERE sample = ?", (look[0],)):
            add(owners, (row["kind"], keys[row["path"] or 0], row["name"], row["module"]), row)
        found.append(owners)
    return found or [{}]


def take(database, sites, program, owned):
    keys = path_keys(database)
    for row in database.execute("SELECT * FROM site"):
        add(sites, keys[row["path"]], row)
    add(program, "program", database.execute("SELECT * FROM program").fetchone())
    return looks_of(database, keys, owned)


def summed(all_owners):
    owners = {}
    for one in all_owners:
        for key, row in one.items():
            add(owners, key, row)
    return owners


def compare(what, wanted, got):
    wrong = collections.Counter()
    for key in wanted.keys() | got.keys():
        for column in wanted.get(key, {}).keys() | got.get(key, {}).keys():
            want, is_ = wanted.get(key, {}).get(column), got.get(key, {}).get(column)
            if want != is_ and not (what == "program" and is_ is None):  # of mappings it says nothing
                wrong[column] += 1
    columns = len(next(iter(wanted.values()), {}))
    print(f"{what}: {'none' if not wanted else 'all equal' if not wrong else dict(wrong)}"
          + (f", {columns} columns" if what == "sites" else ""))


directory, merged = sys.argv[1:]
job = json.loads(subprocess.check_output(["tidemark", "job", "--json", directory]))
sites, program, peaks, looks = {}, {}, [], []
for rank in job["ranks"]:
    if rank["beside"]:
        continue
    name = os.path.basename(rank["file"])  # FILE, or FILE@PID in a node's file
    folder = next(at for at, _, files in os.walk(directory) if name.split("@")[0] in files or name in files)
    database = unpacked(os.path.join(folder, name))
    looks.append(take(database, sites, program, rank["owned_bytes"]))
    said = database.execute("SELECT * FROM program").fetchone()
    peaks.append(said["peak_bytes"])
    for name in ("peak_bytes", "peak_ns", "live_bytes", "live_count"):
        if rank[name] != said[name]:
            print(f"rank {rank['rank']}: {name} {rank[name]}, and {said[name]} in its profile")
whole = {}, {}
owned = take(unpacked(merged), *whole, job["resident_bytes"])[0]
compare("sites", sites, whole[0])
choices = [summed(choice) for choice in itertools.islice(itertools.product(*looks), 64)]
compare("owners", next((one for one in choices if one == owned), choices[0]), owned)
compare("program", program, whole[1])
marks, count = job["high_water_marks"], len(peaks)
mean = sum(peaks) / count
assert (marks["ranks"], marks["min"], marks["max"], marks["sum"]) == (count, min(peaks), max(peaks), sum(peaks))
assert math.isclose(marks["mean"], mean) and math.isclose(marks["imbalance"], max(peaks) / mean)
assert math.isclose(marks["deviation"], math.sqrt(sum((peak - mean) ** 2 for peak in peaks) / count), abs_tol=1e-6)
for one in marks["percentiles"]:
    assert one["bytes"] == sorted(peaks)[max(0, math.ceil(one["percent"] * count / 100) - 1)], one
of_sites = {
    "at_peak": sum(site["at_peak_bytes"] or 0 for site in sites.values()),
    "at_exit": sum(site["live_bytes"] or 0 for site in sites.values()),
    "cumulated": sum((site["alloc_bytes"] or 0) + (site["realloc_bytes"] or 0) for site in sites.values()),
}
for figure, wanted in of_sites.items():
    for what in ("functions", "libraries"):
        said = sum(entry[figure].get("sum", 0) for entry in job[what])
        if said != wanted:
            print(f"{what}, {figure}: {said}, and {wanted} in the ranks' call paths")
print(f"{count} ranks")
