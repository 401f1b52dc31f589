"""exchanged.py CHECK PROFILE FILE…: does what was exported add up to the profile's own figures? Prints one
line a check, and ends with 1 where one does not hold."""
import csv
import json
import re
import subprocess
import sys

failed = False


def check(what, holds, *seen):
    global failed
    if holds:
        print(what)
    else:
        failed = True
        print("NOT", what, *seen)


def report(profile):
    text = subprocess.run(["tidemark", "report", "--json", profile], check=True, capture_output=True).stdout
    return json.loads(text)


def program(profile):
    return report(profile)["program"]


def born(of, what):
    return of["alloc_" + what] + (of["realloc_" + what] or 0)


def folded(profile, path):
    lines = open(path).read().splitlines()
    check("stacks and numbers", all(re.fullmatch(r"[^;]+(;[^;]+)* \d+", line) for line in lines))
    check("no stack twice", len({line.rsplit(" ", 1)[0] for line in lines}) == len(lines))
    total = sum(int(line.rsplit(" ", 1)[1]) for line in lines)
    check("the peak in all", total == program(profile)["at_peak_bytes"], total)
    check("from main down", any(line.startswith("main;") for line in lines))


def speedscope(profile, path):
    """What speedscope's file-format-schema.json demands of sampled profiles."""
    document = json.load(open(path))
    want = program(profile)
    frames = document["shared"]["frames"]
    check("the schema's name", document["$schema"] == "https://www.speedscope.app/file-format-schema.json")
    check("frames with names", frames and all(isinstance(frame["name"], str) and set(frame) <= {"name", "file", "line", "col"} for frame in frames))
    check("profiles", 0 <= document["activeProfileIndex"] < len(document["profiles"]))
    for of in document["profiles"]:
        ok = set(of) == {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}
        ok &= of["type"] == "sampled" and of["unit"] in ("none", "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes")
        ok &= len(of["samples"]) == len(of["weights"])
        ok &= all(0 <= frame < len(frames) for sample in of["samples"] for frame in sample)
        ok &= of["startValue"] == 0 and of["endValue"] == sum(of["weights"])
        check("sampled: " + of["name"], ok, of["name"])
    names = {"bytes at peak": "at_peak_bytes", "live bytes": "live_bytes", "bytes allocated": "alloc_bytes", "allocations": "alloc_count", "temporary": "temporary_count"}
    got = {of["name"]: of["endValue"] for of in document["profiles"]}
    check("sums", all(got[name] == want[metric] for name, metric in names.items()), got)


def tables(profile, table, lines, paths, timeline):
    want = program(profile)
    rows = list(csv.DictReader(open(table, newline="")))
    objects = [json.loads(line) for line in open(lines)]
    check("rows of functions", rows and "function" in rows[0])
    for metric in ("alloc_count", "live_bytes", "at_peak_bytes", "temporary_count", "slack_bytes"):
        check(metric, sum(int(row[metric]) for row in rows) == want[metric])
    check("the same as JSON Lines", [str(each["alloc_count"]) for each in objects] == [row["alloc_count"] for row in rows])
    check("unknown is empty, and null", all(row["freed_bytes"] == "" for row in rows if "freed_bytes" in row) and all(each.get("freed_bytes") is None for each in objects))
    rows = list(csv.DictReader(open(paths, newline="")))
    check("paths add up too", sum(int(row["at_peak_bytes"]) for row in rows) == want["at_peak_bytes"])
    check("with their stacks", all(row["stack"].rsplit(";", 1)[-1] == row["function"].replace(";", ":") for row in rows))
    rows = list(csv.DictReader(open(timeline, newline="")))
    check("the timeline's highest is the peak", max(int(row["requested_max"] or 0) for row in rows) == want["peak_bytes"])


def openmetrics(profile, path):
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
    families = {family.name: family for family in text_string_to_metric_families(open(path).read())}
    want = program(profile)
    value = lambda name: families[name].samples[0].value
    check("read by prometheus_client", bool(families))
    check("allocations", value("tidemark_alloc_blocks") == want["alloc_count"])
    check("peak", value("tidemark_peak_bytes") == want["peak_bytes"])
    check("units", families["tidemark_live_bytes"].unit == "bytes" and families["tidemark_duration_seconds"].unit == "seconds")
    check("functions", any(sample.labels["function"].startswith("victim_") for sample in families["tidemark_function_at_peak_bytes"].samples))


def chrome(profile, path):
    document = json.load(open(path))
    events = document["traceEvents"]
    check("phases", {event["ph"] for event in events} <= {"M", "C", "i"})
    check("what events need", all({"ph", "name", "pid", "tid", "ts", "cat", "args"} <= set(event) for event in events))
    highest = max(event["args"]["bytes"] for event in events if event["name"] == "requested")
    check("the highest counter is the peak", highest == program(profile)["peak_bytes"], highest)


def pprof_text(profile, text):
    """What protoc --decode made of it."""
    want = program(profile)
    body = open(text).read()
    strings = [json.loads(each) for each in re.findall(r'^string_table: (".*")$', body.replace("\\'", "'"), re.M)]
    types = [strings[int(each)] for each in re.findall(r"^sample_type \{\n  type: (\d+)", body, re.M)]
    sums = [0] * len(types)
    for sample in re.findall(r"^sample \{\n(.*?)^\}", body, re.M | re.S):
        for i, value in enumerate(re.findall(r"^  value: (\d+)$", sample, re.M)):
            sums[i] += int(value)
    got = dict(zip(types, sums))
    check("string 0 is empty", strings[0] == "")
    check("sample types", types[:6] == ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space", "peak", "temporary"], types)
    check("allocations", got["alloc_objects"] == born(want, "count") and got["alloc_space"] == born(want, "bytes"))
    check("in use", got["inuse_objects"] == want["live_count"] and got["inuse_space"] == want["live_bytes"])
    check("peak and temporary", got["peak"] == want["at_peak_bytes"] and got["temporary"] == want["temporary_count"])
    locations = {int(each) for each in re.findall(r"^location \{\n  id: (\d+)", body, re.M)}
    used = {int(each) for each in re.findall(r"^  location_id: (\d+)$", body, re.M)}
    check("every location is there", used <= locations and len(used) > 3)
    check("no field that is not known", not re.search(r"^ *\d+(: | \{)", body, re.M))


def perfetto_text(profile, text):
    want = program(profile)
    body = open(text).read()
    check("no field that is not known", not re.search(r"^ *\d+(: | \{)", body, re.M))
    tracks = dict(re.findall(r'track_descriptor \{\n    uuid: (\d+)\n    name: "([^"]*)"', body))
    values = {}
    for track, value in re.findall(r"track_uuid: (\d+)\n    counter_value: (\d+)", body):
        values.setdefault(tracks[track], []).append(int(value))
    check("counters", {"requested", "resident", "virtual", "live blocks"} <= set(values), list(values))
    check("the highest is the peak", max(values["requested"]) == want["peak_bytes"])
    total = lambda field: sum(int(each) for each in re.findall(r"        %s: (\d+)" % field, body))
    check("at the peak", total("self_max") == want["at_peak_bytes"])
    check("allocated and freed", total("self_allocated") == born(want, "bytes") and total("alloc_count") == born(want, "count"))
    check("freed", total("self_freed") == want["free_bytes"])


def callgrind(profile, text, inclusive):
    want = program(profile)
    numbers = lambda line: [int(each.replace(",", "")) for each in re.findall(r"([\d,]+) \(", line)]
    totals = next(line for line in open(text) if "PROGRAM TOTALS" in line)
    check("totals", numbers(totals) == [want["at_peak_bytes"], want["live_bytes"], want["alloc_count"]], totals)
    ours = {}
    for row in subprocess.run(["tidemark", "export", "--to", "jsonl", "--inclusive", "-o", "-", profile], check=True, capture_output=True, text=True).stdout.splitlines():
        row = json.loads(row)
        ours[row["function"]] = row["alloc_count"]
    theirs = {}
    for line in open(inclusive):
        match = re.match(r"\s*([\d,]+) \([^)]*\)\s+.*?:(\w+) \[", line)
        if match:
            theirs[match[2]] = int(match[1].replace(",", ""))
    named = [name for name in theirs if name in ours]
    check("inclusive figures, function by function", len(named) > 5 and all(theirs[name] == ours[name] for name in named), [(name, theirs[name], ours[name]) for name in named if theirs[name] != ours[name]])


def massif(profile, text):
    want = program(profile)
    body = open(text).read()
    number = int(re.search(r"(\d+) \(peak\)", body)[1])
    row = re.search(r"^ *%d +[\d,]+ +([\d,]+)" % number, body, re.M)[1]
    check("the peak's bytes", int(row.replace(",", "")) == want["peak_bytes"], row)
    check("its tree", "->" in body and "100.00%" in body)


def heaptrack(profile, text):
    want = program(profile)
    body = open(text).read()
    calls = int(re.search(r"^calls to allocation functions: (\d+)", body, re.M)[1])
    temporary = int(re.search(r"^temporary memory allocations: (\d+)", body, re.M)[1])
    size = lambda name: re.search(r"^%s: (\S+)" % name, body, re.M)[1]

    def shown(value):
        for unit in ("B", "K", "M", "G"):
            if value < 1000:
                break
            value /= 1000
        return ("%d%s" if unit == "B" else "%.2f%s") % (value, unit)
    check("calls", calls == born(want, "count"), calls)
    check("temporary", temporary == want["temporary_count"], temporary)
    check("peak", size("peak heap memory consumption") == shown(want["peak_bytes"]), size("peak heap memory consumption"))
    check("never freed", size("total memory leaked") == shown(want["live_bytes"]), size("total memory leaked"))


def imported(profile, path, *metrics):
    """The same sums; what is named "metric?" is unknown in the second."""
    one, two = program(profile), program(path)
    for metric in metrics:
        if metric.endswith("?"):
            check(metric[:-1] + " is not known", two[metric[:-1]] is None, two[metric[:-1]])
        elif metric in ("alloc_count", "alloc_bytes"):
            check(metric, two[metric] == born(one, metric[6:]), two[metric])
        else:
            check(metric, one[metric] == two[metric], one[metric], two[metric])


globals()[sys.argv[1]](*sys.argv[2:])
sys.exit(failed)
