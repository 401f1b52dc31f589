"""What absurd.sh asks of every presenter and exporter. absurd.py PROFILES JOB: prints the names of the
profiles, and each absurd figure with the command that printed it. Each profile is asked for a third of the
metrics, and all profiles together for each; with WHOLE=1 in the environment every profile for all."""
import collections
import concurrent.futures
import glob
import gzip
import itertools
import json
import os
import re
import resource
import signal
import sqlite3
import subprocess
import sys
import time
import zlib

from served import Server

# Of the processor, since the machine may be busy; what waits for something has HANGS seconds.
SECONDS, HANGS, BYTES = 20, 600, 50 << 20
SECTIONS = "sites functions tree memory peaks paths sizes lifetimes reallocs threads stacks globals residency regions all".split()
METRICS = "peak leaked count bytes temporary slack realloc mmap freed failed zero aligned time".split()
FORMATS = ("pprof folded speedscope callgrind massif heaptrack dhat perfetto chrome openmetrics csv jsonl dot "
           "sqlite").split()
WINDOWS = "window", "instant"
LIMITS = "peak live live_blocks allocations reallocations bytes rate temporary largest resident".split()

# A mark of what is unknown, or near it, in any unit of time; all of 17 digits or more but moments since
# 1970 and addresses; exponents like that; what is larger than any memory.
MARKS = re.compile(r"(?<![\w.])-?(18446744073|9223372036)\d*(?![\w])")
LONG = re.compile(r"(?<![\w.])\d{17,}(?![\w])|\d{1,3}(?:,\d{3}){5,}|(?<![\w.])\d(\.\d+)?e\+?(1[6-9]|[2-9]\d|\d{3})(?!\w)")
UNITS = re.compile(r"\b\d[\d.,]* ?(EiB|PiB|[EZY])\b(?!:)")
NOT_A_NUMBER = re.compile(r"(?<![\w./'\"-])-?(nan|inf|infinity)(?![\w./'\"-])", re.I)
# Not of what a reallocation grew by, which begins its line.
NEGATIVE = re.compile("(?<!^)(?<=\\S)\\s*(?<![\\w\\d./-])[-\u2212]\\d[\\d.,]* ?(B|KiB|MiB|GiB|TiB)\\b")
PERCENT = re.compile(r"(?<![\w.,])(\d[\d,]*(?:\.\d+)?) ?%")
# Members that are addresses, identities or moments, whatever they are.
OTHER = re.compile(r"unix|address|bias|start$|end$|_id$|^id$|boot|hash|digest|build|generation|signature|inode|seed|etag", re.I)
# Members and columns that may be negative: what is unexplained of a sum, changes, places.
SIGNED = re.compile(r"unexplained|change|delta|growth|grew|growths|difference|slope|module|offset|^x|^y|status|mark|value|before|by$|nice|quality", re.I)
SHARE = re.compile(r"share|fraction|percent$")


def moment(number):
    return 16e17 < number < 24e17


def limits():
    resource.setrlimit(resource.RLIMIT_FSIZE, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Complaints:
    def __init__(self):
        self.found = collections.OrderedDict()

    def add(self, profile, command, why, where=""):
        words = [word for word in command.split() if not re.search("[/.]|^-o$", word)]
        key = re.sub(r"[\d.,]+", "N", why), " ".join(words[:3])
        self.found.setdefault(key, []).append((profile, command, why, where.strip()[:160]))

    def show(self):
        for (_, _), all_of in self.found.items():
            profile, command, why, where = all_of[0]
            names = " ".join(sorted({entry[0] for entry in all_of}))
            print(f"ABSURD {why}: {command}: {where} [{names}]")


complaints = Complaints()


# ---- What is absurd -----------------------------------------------------------------------------

def check_text(profile, command, text, may_fall=False, may_exceed=False):
    for line in text.splitlines():
        for pattern in (MARKS, LONG, UNITS, NOT_A_NUMBER):
            found = pattern.search(line)
            if found and not (pattern is LONG and found[0].isdigit() and moment(int(found[0]))):
                complaints.add(profile, command, f"figure {found[0]}", line)
        if not may_fall and "unexplained" not in line:
            found = NEGATIVE.search(line)
            if found:
                complaints.add(profile, command, f"negative {found[0]}", line)
        if not may_exceed:
            for share in PERCENT.findall(line):
                if float(share.replace(",", "")) > 100.05:
                    complaints.add(profile, command, f"{share} %", line)


def check_number(profile, command, name, value, may_fall=False):
    if isinstance(value, bool) or value is None or OTHER.search(name):
        return
    if value != value or value in (float("inf"), float("-inf")):
        complaints.add(profile, command, f"{name} {value}")
    elif abs(value) >= 1e16 and not moment(value) and not ("variance" in name and abs(value) < 1e30 and not MARKS.search(f"{int(value)}")):
        complaints.add(profile, command, f"{name} {value}")
    elif value < 0 and not may_fall and not SIGNED.search(name):
        complaints.add(profile, command, f"{name} {value}")
    elif SHARE.search(name) and not may_fall and value > (100 if "percent" in name else 1) + 1e-9:
        complaints.add(profile, command, f"{name} {value}")


def check_json(profile, command, value, name="", may_fall=False):
    if isinstance(value, dict):
        for key, member in value.items():
            check_json(profile, command, member, key if not OTHER.search(name) else name, may_fall)
    elif isinstance(value, list):
        for member in value:
            check_json(profile, command, member, name, may_fall)
    elif isinstance(value, (int, float)):
        check_number(profile, command, name, value, may_fall)
    elif isinstance(value, str) and " " in value:
        check_text(profile, command, value, may_fall, True)


def check_bytes(profile, command, data):
    """A varint of ten bytes is a number of 2^63 or more."""
    found = re.search(rb"[\x80-\xff]{9}\x01", data)
    if found:
        complaints.add(profile, command, "varint " + found[0].hex())


def check_output(profile, arguments, command, out):
    may_fall = arguments[0] in ("diff", "check", "top")
    words = set(arguments) | {word.split("=")[-1] for word in arguments if word.startswith("--")}
    is_lines = words & {"jsonl"} or arguments[0] in ("events", "blocks") and "--json" in words
    if not out.strip():
        return
    if out[:2] == b"\x1f\x8b":
        check_bytes(profile, command, gzip.decompress(out))
    elif b"\0" in out[:4096] or "perfetto" in words:
        check_bytes(profile, command, out)
    elif is_lines or words & {"--json", "json", "sarif", "speedscope", "dhat", "chrome"}:
        if out[:1] not in b"{[": # "the profile has no …"
            check_text(profile, command, out.decode())
            return
        for line in out.decode().splitlines() if is_lines else [out.decode()]:
            value = json.loads(line, parse_constant=lambda what: complaints.add(profile, command, f"figure {what}"))
            check_json(profile, command, value, "", may_fall)
    elif "heaptrack" in words: # numbers are hexadecimal
        found = re.search(rb"\b[0-9a-f]{14,}\b", out)
        if found:
            complaints.add(profile, command, f"figure {found[0].decode()}")
    elif "csv" in words:
        for line in re.sub(r'"[^"]*"', "", out.decode()).splitlines():
            check_text(profile, command, line.replace(",", " "), True, True)
    elif out[:5] in (b"<svg ", b"<?xml"):
        text = out.decode()
        check_text(profile, command, re.sub(r"<[^>]*>", "\n", text), may_fall, may_fall)
        check_text(profile, command, "\n".join(re.findall(r'="([^"]*)"', re.sub(r' d="[^"]*"', "", text))), True, True)
    else:
        # A job's deviation is a share of the mean, which may be less.
        check_text(profile, command, out.decode(errors="replace"), may_fall, may_fall or arguments[0] == "job")


# ---- Commands -----------------------------------------------------------------------------------

def run(profile, arguments, statuses=(0,)):
    """Runs it, and says whatever is absurd about it. A refusal is one sentence."""
    command = " ".join(arguments)
    with subprocess.Popen(["tidemark", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as begun:
        try:
            resource.prlimit(begun.pid, resource.RLIMIT_CPU, (SECONDS, SECONDS))
            out, err = begun.communicate(timeout=HANGS)
        except subprocess.TimeoutExpired:
            begun.kill()
            complaints.add(profile, command, f"hangs, or takes more than {HANGS} s")
            return None
        ended = subprocess.CompletedProcess(arguments, begun.returncode, out, err)
    if ended.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        complaints.add(profile, command, f"more than {SECONDS} s of the processor")
        return None
    said = ended.stderr.decode(errors="replace")
    if ended.returncode < 0 or ended.returncode > 125:
        complaints.add(profile, command, f"status {ended.returncode}", said)
    elif ended.returncode not in statuses and not (said.startswith("tidemark ") and len(said.splitlines()) <= 3):
        complaints.add(profile, command, f"status {ended.returncode} without a sentence", said)
    if len(ended.stdout) > BYTES:
        complaints.add(profile, command, f"{len(ended.stdout)} bytes")
    check_text(profile, command + " (stderr)", said, True, True)
    try:
        check_output(profile, arguments, command, ended.stdout)
    except (UnicodeDecodeError, ValueError) as error:
        complaints.add(profile, command, f"cannot be read: {error}", ended.stdout[:80].decode(errors="replace"))
    return ended


def metrics_of(profile):
    if os.environ.get("WHOLE") == "1":
        return METRICS
    turn = zlib.crc32(profile.encode())
    return [metric for number, metric in enumerate(METRICS) if (number + turn) % 3 == 0]


def report(profile, path, more=()):
    for section in SECTIONS:
        run(profile, ["report", "--show=" + section, *more, path])
    run(profile, ["report", "--show=all", "--top=1000", "--depth=50", "--no-hide-std", *more, path])
    run(profile, ["report", "--json", "--show=all", *more, path])
    run(profile, ["report", *more, path])
    for metric in metrics_of(profile):
        run(profile, ["report", "--sort=" + metric, *more, path])
        run(profile, ["report", "--inclusive", "--show=functions,tree", "--sort=" + metric, *more, path])
    run(profile, ["report", "--inclusive", "--json", *more, path])


def others(profile, path):
    run(profile, ["insight", path])
    run(profile, ["insight", "--json", path])
    run(profile, ["annotate", path])
    for metric in metrics_of(profile):
        run(profile, ["annotate", "--metric=" + metric, "--json", path])
    for sort in "live growth rate count bytes peak".split():
        run(profile, ["top", "--plain", "--count=1", "--interval=10ms", "--sort=" + sort, path])
    run(profile, ["diff", path, path])
    run(profile, ["diff", "--json", path, path])
    for metric in metrics_of(profile):
        run(profile, ["diff", "--sort=" + metric, "--per=count", path, path])


def exports(profile, path, more=(), prefix=""):
    for to in FORMATS:
        if to == "sqlite":
            continue
        out = f"x_{profile}{prefix}.{to}"
        ended = run(profile, ["export", "--to=" + to, "-o", out, *more, path])
        if ended and not ended.returncode:
            check_file(profile, f"export --to={to} {path}", ["export", to], out)
        if to in ("heaptrack", "massif", "dhat", "pprof") and ended and not ended.returncode:
            if not more:
                back(profile, path, out, to)
        if os.path.exists(out):
            os.remove(out)
    for to, rows in itertools.product(("csv", "jsonl"), ("functions", "paths", "timeline")):
        run(profile, ["export", "--to=" + to, "--rows=" + rows, "-o", "-", *more, path])
    for to, metric in itertools.product(("folded", "openmetrics"), metrics_of(profile)):
        run(profile, ["export", "--to=" + to, "--metric=" + metric, "-o", "-", *more, path])


def totals(ended):
    """Blocks ever made, and what was left and alive at the peak; what is not known is not in it."""
    program = json.loads(ended.stdout)["program"] if ended and not ended.returncode else {}
    known = {name: program.get(name) for name in ("alloc_count", "live_bytes", "live_count", "at_peak_bytes")}
    if known["alloc_count"] is not None:
        known["alloc_count"] += program.get("realloc_count") or 0
    return {name: value for name, value in known.items() if value is not None}


def back(profile, path, out, to):
    """What is exported is imported again, and has what it had."""
    again = out + ".tmk"
    if run(profile, ["import", "--from=" + to, "-o", again, out]).returncode:
        return
    run(profile, ["report", "--show=all", again])
    had, has = totals(run(profile, ["report", "--json", path])), totals(run(profile, ["report", "--json", again]))
    for name in had.keys() & has.keys():
        # Events that are made up need an allocation of each block that was there at a window's
        # beginning, and no peak below a block that comes and goes.
        is_made_up = to == "heaptrack" and has[name] > had[name] and (profile in WINDOWS or not had[name])
        if had[name] != has[name] and not is_made_up:
            complaints.add(profile, f"export --to={to} {path}", f"{name} {had[name]} became {has[name]}")
    os.remove(again)


def check_file(profile, command, arguments, path):
    with open(path, "rb") as file:
        out = file.read(BYTES + 1)
    if len(out) > BYTES:
        complaints.add(profile, command, "more than 50 MB")
        return
    try:
        check_output(profile, arguments, command, out)
    except (UnicodeDecodeError, ValueError) as error:
        complaints.add(profile, command, f"cannot be read: {error}")


def plots(profile, path):
    whats = [["--memory"], ["--paths=3"], ["--functions=3", "--stacked"], ["--sizes"], ["--lifetimes", "--bytes"]]
    if profile.startswith("job"):
        whats += [["--ranks"], ["--nodes"]]
    for number, what in enumerate(whats):
        run(profile, ["plot", *what, "--terminal", path])
        for ending in "svg", "gp":
            out = f"x_{profile}_{number}.{ending}"
            run(profile, ["plot", *what, "-o", out, path])
            if os.path.exists(out):
                check_file(profile, f"plot {what[0]} {out}", ["plot"], out)
                os.remove(out)


def database(profile, path):
    """Every table, and every view by query."""
    name = f"x_{profile}.db"
    run(profile, ["unpack", path, name])
    if not os.path.exists(name):
        return
    base = sqlite3.connect(name)
    base.text_factory = bytes
    views = [row[0].decode() for row in base.execute("SELECT name FROM sqlite_master WHERE type = 'view'")]
    for table, in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        rows = base.execute(f'SELECT * FROM "{table.decode()}"')
        columns = [column[0] for column in rows.description]
        for row in rows:
            for column, value in zip(columns, row):
                if isinstance(value, (int, float)):
                    check_number(profile, f"unpack {table.decode()}", column, value)
    base.close()
    os.remove(name)
    for view in views:
        run(profile, ["query", "-f", "json", path, f"SELECT * FROM {view}"])
    run(profile, ["query", path, "SELECT * FROM functions"])


def checks(profile, path, paths):
    budget = f"x_{profile}.toml"
    with open(budget, "w", encoding="ascii") as file:
        for scope in "[program]", '[function."*"]', '[file."*"]', '[library."*"]', '[region."parallel"]':
            file.write(scope + "\n")
            for limit in LIMITS:
                if not (scope.startswith("[region") and limit == "resident"):
                    file.write(f"{limit} = {{ max = 1, growth = true }}\n")
    run(profile, ["check", "--allow-loss", "-b", budget, "-B", path, path], (0, 1))
    for form in "json", "junit", "sarif", "github":
        run(profile, ["check", "--allow-loss", "-f", form, "-b", budget, path], (0, 1))
    run(profile, ["check", path, "-B", path], (0, 1))
    for other in paths:
        run(profile, ["check", "--allow-loss", path, "-B", other], (0, 1))
    run(profile, ["check", "--allow-loss", "--update", path, "-b", budget + ".new"], (0, 1))
    if os.path.exists(budget + ".new"):
        check_file(profile, "check --update", ["check"], budget + ".new")


def trace(path):
    for arguments in (["events"], ["events", "--json"], ["events", "--stacks", "--min-size=1000"],
                      ["blocks"], ["blocks", "--json"], ["blocks", "--at=peak", "--sort=age"],
                      ["at"], ["at", "--json"], ["plot", "--terminal"], ["export", "--to=massif", "-o", "-"],
                      ["export", "--to=dhat", "-o", "-", "--from=30%", "--until=60%"]):
        ending = ["peak"] if arguments[0] == "at" else []
        run("trace", arguments[:1] + arguments[1:] + [path] + ending)
    for when in "0s", "100%", "50%":
        run("trace", ["at", "--paths", "--libraries", path, when])
    run("trace", ["replay", "--under=glibc", "--rounds=1", path])
    run("trace", ["replay", "--under=glibc", "--rounds=1", "--json", path])


def job(directory):
    files = sorted(glob.glob(directory + "/*/*.tmk"))
    imports = sorted(glob.glob("made/import_*.tmk"))
    for arguments in [directory], [directory, directory], files, imports, files + imports, *([path] for path in imports):
        for form in "text", "json":
            ended = run("job", ["job", "--format=" + form, *arguments])
            if ended and form == "text" and arguments is not directory and re.search("damaged", ended.stdout.decode()):
                complaints.add("job", "job " + " ".join(arguments), "a sound profile is damaged", ended.stdout.decode())
    run("job", ["plot", "--ranks", "--terminal", directory])
    run("job", ["export", "--to=csv", "-o", "-", directory])


# ---- The server ---------------------------------------------------------------------------------

def ask(server, name, number, resource_name):
    status, headers, body = server.ask(f"p/{number}/{resource_name}")
    command = f"serve {resource_name}"
    if status != 200:
        complaints.add(name, command, f"status {status}", body[:100].decode(errors="replace"))
    elif headers.get("Content-Type", "").startswith("application/json"):
        check_json(name, command, json.loads(body))
    elif body[:1] not in b"{[":
        _, columns = server.columns(f"p/{number}/{resource_name}")
        for column, values in columns.items():
            for value in values:
                if value is not None:
                    check_number(name, command, column, value)


def serve(names, paths):
    begun = subprocess.Popen(["tidemark", "serve", *paths], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                             env={name: value for name, value in os.environ.items() if "DISPLAY" not in name})
    try:
        server = Server(begun.stdout.readline().split()[-1])
        for number, name in enumerate(names):
            summary = server.json(f"p/{number}/summary")
            check_json(name, "serve summary", summary)
            for resource_name in summary["resources"]:
                if resource_name not in ("at", "window", "region", "summary"):
                    ask(server, name, number, resource_name)
            for row in summary.get("metrics", []):
                if row.get("recorded"):
                    ask(server, name, number, "columns/" + row["name"])
    except (OSError, ValueError, KeyError, IndexError) as error:
        complaints.add("all", "serve", f"{type(error).__name__} {error}")
    finally:
        begun.terminate()
        begun.wait(HANGS)


# ---- All of it ----------------------------------------------------------------------------------

def everything(name, path, some):
    report(name, path)
    others(name, path)
    exports(name, path)
    plots(name, path)
    database(name, path)
    checks(name, path, some)
    for other in some:
        run(name, ["diff", path, other])
        run(name, ["diff", "--json", other, path])
    if name == "regions":
        for region in "parallel", "read":
            report(name, path, ["--region=" + region])
            exports(name, path, ["--region=" + region], region)


def main():
    directory, jobs = sys.argv[1:]
    limits() # of the commands, which inherit them: a function to be called in each would make Python fork itself
    paths = sorted(glob.glob(directory + "/*.tmk"))
    names = [os.path.basename(path)[:-4] for path in paths]
    print(*(name for name in names if name != "attached"), sep="\n") # where that is not allowed
    some = [f"{directory}/{name}.tmk" for name in ("exact", "import_massif_ms", "import_jemalloc_live")]
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        asked = [pool.submit(serve, names, paths), pool.submit(job, jobs)]
        asked += [pool.submit(trace, path) for path in glob.glob(directory + "/*.tmt")]
        asked += [pool.submit(everything, name, path, some) for name, path in zip(names, paths)]
        asked.append(pool.submit(run, "all", ["html", "-o", "all.html", *paths]))
        for one in asked:
            one.result()
    complaints.show()
    print("nothing is absurd" if not complaints.found else f"{len(complaints.found)} kinds of absurd figures")


main()
