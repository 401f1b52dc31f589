#!/usr/bin/env python3
"""run.py [--jobs N] [--json] [--score] [--keep DIR] [--small] [NAME…]: the truth suite (doc/TRUTH.md).

Builds, records and judges the cases below this folder: programs of which it is known whether their use
of memory is healthy, and if not which function and line is guilty. Prints what was wrong, precision and
recall by rule, and sums. Exit status: 0 if each case that score.toml does not list as wrong is right.
Writes only into a scratch folder. TIDEMARK names the command, CC, CXX, FC and RUSTC the compilers.
"""
import argparse, collections, concurrent.futures, json, os, re, shlex, shutil, signal, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FOLDERS = ("sick", "historical", "healthy", "holdout")
COMPILERS = {".c": ("CC", "cc"), ".cpp": ("CXX", "c++"), ".f90": ("FC", "gfortran"), ".rs": ("RUSTC", "rustc")}
ALARMS = ("warning", "severe")
SCREEN_LINES, SCREEN_COLUMNS = 24, 80
SCREEN_TITLE = 24 # so much of a title is not broken by a line's end
TIMEOUT = 120

HEADER = re.compile(r"^\W*(truth|what|real|expect|flags|link|run|args|options|needs|wrapper|place|small):\s*(.*?)\s*(?:\*/)?\s*$")
MARK = re.compile(r"guilty:\s*([^*]+?)\s*(?:\*/)?\s*$")


# ---- Cases ---------------------------------------------------------------------------------------

class Case:
    """One source file (or .sh workload). What is to be known stands in comments of its head."""

    def __init__(self, path):
        self.path = path
        self.file = os.path.basename(path)
        self.extension = os.path.splitext(path)[1]
        self.name = os.path.splitext(os.path.relpath(path, HERE))[0]
        self.holdout = self.name.startswith("holdout/")
        self.fields, self.marks = collections.defaultdict(list), []
        with open(path, encoding="utf-8") as source:
            for number, line in enumerate(source, 1):
                header = HEADER.match(line) if number <= 12 else None
                mark = MARK.search(line)
                if header:
                    self.fields[header.group(1)].append(header.group(2))
                elif mark:
                    self.marks.append((mark.group(1), number))
        self.sick = self.word("truth") == "sick"
        self.expect = self.word("expect").replace(",", " ").split()
        self.wrappers = self.word("wrapper").replace(",", " ").split()
        self.small = "small" in self.fields
        self.check()

    def word(self, name, other=""):
        return self.fields[name][0] if self.fields.get(name) else other

    def check(self):
        if self.word("truth") not in ("sick", "healthy"):
            sys.exit(f"{self.name}: its head has no line 'truth: sick' or 'truth: healthy'")
        if self.sick and not (self.expect and (self.marks or self.word("place") == "none")):
            sys.exit(f"{self.name}: a sick case has a line 'expect: RULE…' and a mark 'guilty: FUNCTION'")
        if not self.sick and self.marks:
            sys.exit(f"{self.name}: a healthy case has no 'guilty:' mark")
        for function, _ in self.marks:
            if not function.strip():
                sys.exit(f"{self.name}: the mark 'guilty:' names no function")


def cases_find(names, small):
    found = []
    for folder in FOLDERS:
        for file in sorted(os.listdir(os.path.join(HERE, folder))):
            if os.path.splitext(file)[1] in (*COMPILERS, ".sh"):
                found.append(Case(os.path.join(HERE, folder, file)))
    if small:
        found = [case for case in found if case.small]
    if names:
        found = [case for case in found if any(re.search(name, case.name) for name in names)]
    return found


# ---- Building and recording ----------------------------------------------------------------------

class Skip(Exception):
    pass


class Broken(Exception):
    pass


def run(command, timeout=TIMEOUT, **options):
    """The finished process; it and its children end with the time limit."""
    process = subprocess.Popen(command, start_new_session=True, stdin=subprocess.DEVNULL, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, errors="replace", **options)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise Broken(f"took longer than {timeout} s: {shlex.join(command)[:200]}")
    return process.returncode, out, err


def build(case, folder):
    variable, usual = COMPILERS[case.extension]
    compiler = os.environ.get(variable, usual)
    if not shutil.which(compiler):
        raise Skip(f"{compiler} is not installed")
    program = os.path.join(folder, os.path.basename(case.name))
    flags = case.word("flags", "-O1").split()
    for package in case.word("link").split():
        status, out, _ = run(["pkg-config", "--cflags", "--libs", package])
        if status:
            raise Skip(f"the package {package} is not installed")
        flags += out.split()
    if case.extension == ".rs":
        flags = ["-C", "opt-level=1"]
    if case.extension in (".c", ".cpp"):
        flags = ["-I" + HERE, *flags, "-pthread"]
    status, _, err = run([compiler, "-g", case.path, *flags, "-o", program], cwd=folder)
    if status:
        raise Broken(f"does not build: {err[:500]}")
    return program


def environment():
    kept = {name: value for name, value in os.environ.items()
            if name not in ("LD_PRELOAD", "TIDEMARK_OPTIONS", "TIDEMARK_SESSION")}
    return dict(kept, LC_ALL="C.UTF-8", COLUMNS=str(SCREEN_COLUMNS), TERM="dumb", NO_COLOR="1")


def need(case):
    for name in case.word("needs").split():
        if not shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin") and not os.path.exists(name):
            raise Skip(f"{name} is not installed")


def feed(process, script):
    """Requests to a service: "idle 0.5; ask 2000; idle 1" are pauses, and lines on its standard input."""
    try:
        for step in script.split(";"):
            what, amount = step.split()
            if what == "idle":
                time.sleep(float(amount))
                continue
            for i in range(int(amount)):
                process.stdin.write(f"request {i}\n")
                process.stdin.flush()
                if i % 50 == 49:
                    time.sleep(0.005)
        process.stdin.close()
    except BrokenPipeError:
        pass


def start(command, folder):
    return subprocess.Popen(command, cwd=folder, env=environment(), start_new_session=True, text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def finish(process):
    try:
        process.wait(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise Broken(f"ran longer than {TIMEOUT} s")


def limited(command, limit, folder):
    """In a control group of so many bytes, of version 1 or 2, which lives as long as the run."""
    for top, name in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        group = os.path.join(top, f"tidemark-truth-{os.getpid()}-{os.path.basename(folder)}")
        try:
            os.mkdir(group)
        except OSError:
            continue
        try:
            with open(os.path.join(group, name), "w", encoding="ascii") as file:
                file.write(str(limit))
            run(["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', group, *command], cwd=folder, env=environment())
            return
        except OSError:
            continue
        finally:
            for _ in range(100):
                try:
                    os.rmdir(group)
                    break
                except OSError:
                    time.sleep(0.05)
    raise Skip("no control group can be made")


def record(case, tidemark, folder):
    """Runs the case as its line "run:" says and returns its profiles."""
    if case.extension == ".sh":
        return record_workload(case, tidemark, folder)
    need(case)
    program = build(case, folder)
    how, _, rest = case.word("run", "record").partition(" ")
    profile = os.path.join(folder, "run.tmk")
    command = [program, *case.word("args").split()]
    recorded = [tidemark, "record", "-q", *case.word("options").split(), "-o", profile, "--"]
    if how == "record":
        run([*recorded, *command], cwd=folder, env=environment())
    elif how == "service":
        process = start([*recorded, *command], folder)
        feed(process, rest)
        finish(process)
    elif how == "limit":
        limited(recorded + command, int(rest) << 20, folder)
    elif how == "attach":
        after, during = map(float, rest.split())
        process = start(command, folder)
        time.sleep(after)
        status, _, err = run([tidemark, "attach", "-q", f"--for={during}s", "-o", profile, str(process.pid)],
                             env=environment())
        if status:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise Broken(f"attach: {err[:300]}")
        finish(process)
    else:
        sys.exit(f"{case.name}: 'run: {how}' is not record, service, attach or limit")
    if not os.path.exists(profile):
        raise Broken("no profile was written")
    return [profile]


# What a workload may use: `record PROGRAM…` instead of PROGRAM, and `recorded` for its place in a script.
PRELUDE = """
set -u
export LC_ALL=C HOME=$PWD
record() { timeout -k 5 600 "$TIDEMARK" record -q -o "$PROFILES/%p.tmk" -- "$@"; }
skip() { echo "skip: $*"; exit 77; }
free_port() { python3 -c '
import random, socket
while True:
    for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM:
        with socket.socket(socket.AF_INET, kind) as tried:
            try: tried.bind(("127.0.0.1", port := random.randrange(12000, 32000) if kind == 1 else port))
            except OSError: break
    else:
        print(port); break'; }
numbers() { awk -v n="$1" 'BEGIN { for (i = 1; i <= n; i++) print i * 7919 % 100003 }'; }
"""


def record_workload(case, tidemark, folder):
    need(case)
    profiles = os.path.join(folder, "profiles")
    os.mkdir(profiles)
    with open(case.path, encoding="utf-8") as source:
        script = PRELUDE + source.read()
    status, out, err = run(["bash", "-c", script], cwd=folder,
                           env=dict(environment(), TIDEMARK=tidemark, PROFILES=profiles,
                                    PATH=os.environ["PATH"] + ":/usr/sbin:/sbin"))
    if status == 77:
        raise Skip((out.strip().splitlines() or ["skip: ?"])[-1].partition(": ")[2])
    if status:
        raise Broken(f"status {status}: {(err or out).strip()[-300:]}")
    found = [os.path.join(profiles, file) for file in os.listdir(profiles) if file.endswith(".tmk")
             and not file.endswith(".session.tmk")]
    if not found:
        raise Broken("no profile was written")
    return sorted(found)


# ---- Judging -------------------------------------------------------------------------------------

def answers(tidemark, profile):
    status, out, err = run([tidemark, "insight", "--json", profile], env=environment())
    if status:
        raise Broken(f"insight: {err[:300]}")
    insights = json.loads(out)["insights"]
    status, text, err = run([tidemark, "report", profile], env=environment())
    if status:
        raise Broken(f"report: {err[:300]}")
    screen = "\n".join(line[:SCREEN_COLUMNS] for line in text.splitlines()[:SCREEN_LINES])
    return insights, screen


def says(text, function):
    """Is this function named? Ends of words count, so that `get` is not found in `target`."""
    return re.search(r"(?<![\w])" + re.escape(function) + r"(?!\w)", text or "") is not None


def says_place(text, file, line):
    """Does file:line stand there? Long names are shortened in the middle: leak_fortr…ter.f90:10."""
    for name in re.findall(rf"(\S+):{line}(?!\d)", text):
        begin, cut, end = name.rpartition("/")[2].partition("…")
        if file == begin or cut and file.startswith(begin) and file.endswith(end):
            return True
    return False


def owner_frame(case, insight):
    """The innermost frame of the first path that is the program's own and no wrapper."""
    for frame in (insight["paths"] or [{"frames": []}])[0]["frames"]:
        if os.path.basename(frame.get("file") or "") != case.file:
            continue
        if not any(says(frame.get("function"), wrapper) for wrapper in case.wrappers):
            return frame
    return {}


def judge_first(case, insights):
    """None if the first insight is the right one, else what is wrong with it."""
    if not insights:
        return "no insight"
    first = insights[0]
    if first["id"] not in case.expect:
        where = next((i + 1 for i, insight in enumerate(insights) if insight["id"] in case.expect), None)
        return f"another rule first; the right one is {'number ' + str(where) if where else 'silent'}"
    if case.word("place") == "none":
        return None
    frame = owner_frame(case, first)
    for function, line in case.marks:
        place = f"{case.file}:{line}"
        if case.word("place") == "variable" and says(first["title"], function):
            return None # variables have no paths
        named = says(first["title"], function) or says(frame.get("function"), function)
        at = frame.get("line") == line or place in first["title"]
        if named and at and (not case.wrappers or says(first["title"], function)):
            return None
    if any(says(frame.get("function"), function) for function, _ in case.marks) and case.wrappers:
        return f"the title names no owner, only the wrapper: {first['title'][:60]}"
    return f"another place: {frame.get('function')} {os.path.basename(frame.get('file') or '?')}:{frame.get('line')}"


def judge_screen(case, insights, screen):
    """None if the first screen names the guilty function and line."""
    if case.word("place") == "none":
        title = insights[0]["title"][:SCREEN_TITLE] if insights else None
        return None if title and title in screen else "the finding is not there"
    for function, line in case.marks:
        if says(screen, function) and case.word("place") == "variable":
            return None
        if says(screen, function) and says_place(screen, case.file, line):
            return None
    names = any(says(screen, function) for function, _ in case.marks)
    return "the function without its line" if names else "not named"


def judge(case, tidemark, scratch):
    folder = os.path.join(scratch, case.name.replace("/", "-"))
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    result = {"name": case.name, "sick": case.sick, "holdout": case.holdout, "expect": case.expect,
              "historical": bool(case.word("real")), "language": case.extension[1:]}
    try:
        alarms, first, screen = [], None, ""
        for profile in record(case, tidemark, folder):
            insights, screen = answers(tidemark, profile)
            first = insights[0] if insights else None
            alarms += [i for i in insights if i["severity"] in ALARMS]
        result["first"] = first and {key: first[key] for key in ("id", "severity", "title")}
        if case.sick:
            result["first_wrong"] = judge_first(case, insights)
            result["screen_wrong"] = judge_screen(case, insights, screen)
        else:
            result["alarms"] = [{key: i[key] for key in ("id", "severity", "title")} for i in alarms]
            result["first_wrong"] = "; ".join(f"{i['severity']} {i['id']}: {i['title']}" for i in alarms) or None
            result["screen_wrong"] = None
    except Skip as skip:
        result["skipped"] = str(skip)
    except Broken as broken:
        result["broken"] = str(broken)
        result["first_wrong"] = result["screen_wrong"] = f"broken: {broken}"
    return result


# ---- The score -----------------------------------------------------------------------------------

def rules_count(results):
    """By rule: right and wrong answers in the first place (all alarms of the healthy), and sick cases."""
    rules = collections.defaultdict(lambda: {"right": 0, "wrong": 0, "cases": 0, "found": 0})
    for result in results:
        if not result["sick"]:
            for alarm in result.get("alarms", []):
                rules[alarm["id"]]["wrong"] += 1
            continue
        rule = rules[result["expect"][0]]
        rule["cases"] += 1
        rule["found"] += not result["first_wrong"]
        if result.get("first"):
            rules[result["first"]["id"]]["wrong" if result["first_wrong"] else "right"] += 1
    return rules


def sums(results):
    sick = [r for r in results if r["sick"]]
    healthy = [r for r in results if not r["sick"]]
    return {"sick": len(sick), "first_right": sum(not r["first_wrong"] for r in sick),
            "screen_right": sum(not r["screen_wrong"] for r in sick),
            "healthy": len(healthy), "quiet": sum(not r["first_wrong"] for r in healthy)}


def share(part, whole):
    return f"{100 * part / whole:3.0f} %" if whole else "    –"


def print_sums(name, results):
    s = sums(results)
    print(f"{name:10} sick: the first insight is right in {s['first_right']} of {s['sick']} "
          f"({share(s['first_right'], s['sick']).strip()}), the first screen in {s['screen_right']} "
          f"({share(s['screen_right'], s['sick']).strip()}); healthy: quiet {s['quiet']} of {s['healthy']}")


def print_table(results):
    print(f"{'rule':26} {'precision':>14} {'recall':>14}")
    for rule, n in sorted(rules_count(results).items()):
        said = n["right"] + n["wrong"]
        print(f"{rule:26} {share(n['right'], said):>6} {n['right']:3}/{said:<3} "
              f"{share(n['found'], n['cases']):>6} {n['found']:3}/{n['cases']:<3}")


def print_result(result):
    if "skipped" in result:
        print(f"skipped {result['name']}: {result['skipped']}")
    elif result["first_wrong"]:
        first = result.get("first")
        print(f"{'MISSED' if result['sick'] else 'ALARM'}  {result['name']}: {result['first_wrong']}")
        if result["sick"] and first:
            print(f"        wanted {' or '.join(result['expect'])}; first: {first['severity']} {first['id']}: {first['title']}")


def score_read():
    """score.toml has two lists, one name a line. What they hold may be wrong; nothing else may."""
    wrong, part = {"first": set(), "screen": set()}, None
    with open(os.path.join(HERE, "score.toml"), encoding="utf-8") as file:
        for line in file:
            head = re.match(r"(first|screen)_wrong = \[", line)
            name = re.match(r'\s+"([^"]+)"', line)
            part = head.group(1) if head else part
            if name and part:
                wrong[part].add(name.group(1))
    return wrong


def score_text(results, head):
    s, lines = sums(results), [head]
    lines += [f"{key} = {value}" for key, value in s.items()]
    for part in ("first", "screen"):
        lines += ["", f"{part}_wrong = ["]
        lines += [f'    "{r["name"]}",' for r in results if r[f"{part}_wrong"]] + ["]"]
    return "\n".join(lines)


SCORE_HEAD = """# The committed score of the truth suite (doc/TRUTH.md): `tests/truth/run.py --score` prints it anew.
# A case that is wrong and stands in no list below fails the suite. Lists get shorter as rules improve;
# a line added here is a step back that the commit's message gives the reason of."""


def main():
    parser = argparse.ArgumentParser(description="The truth suite: see doc/TRUTH.md.")
    parser.add_argument("names", nargs="*", help="only cases whose name matches one of these regular expressions")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="all results as JSON")
    parser.add_argument("--score", action="store_true", help="print score.toml as this run has it")
    parser.add_argument("--small", action="store_true", help="only the cases with a line 'small:'")
    parser.add_argument("--list", action="store_true", help="name the cases and run none")
    parser.add_argument("--keep", metavar="DIR", help="leave programs and profiles in DIR")
    options = parser.parse_args()
    cases = cases_find(options.names, options.small)
    if options.list:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # as other programs end where nobody reads on
        for case in cases:
            print(f"{'sick   ' if case.sick else 'healthy'} {case.name}: {case.word('what')}")
        return 0
    tidemark = os.path.abspath(os.environ.get("TIDEMARK", os.path.join(ROOT, "build/release/bin/tidemark")))
    if not os.access(tidemark, os.X_OK):
        sys.exit(f"{tidemark} is not there: build it, or name it in TIDEMARK")
    scratch = options.keep or tempfile.mkdtemp(prefix="tidemark-truth.")
    try:
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            everything = list(pool.map(lambda case: judge(case, tidemark, os.path.abspath(scratch)), cases))
    finally:
        if not options.keep:
            shutil.rmtree(scratch, ignore_errors=True)
    return conclude(options, everything)


def conclude(options, everything):
    results = [result for result in everything if "skipped" not in result]
    committed = score_read()
    fallen = [(part, r) for part in ("first", "screen") for r in results
              if r[f"{part}_wrong"] and r["name"] not in committed[part]]
    risen = [(part, r["name"]) for part in ("first", "screen") for r in results
             if not r[f"{part}_wrong"] and r["name"] in committed[part]]
    if options.score:
        print(score_text(results, SCORE_HEAD))
    elif options.json:
        print(json.dumps({"results": everything, "rules": rules_count(results), "all": sums(results),
                          "holdout": sums([r for r in results if r["holdout"]])}, indent=1))
    else:
        for result in everything:
            print_result(result)
        print_table([r for r in results if not r["holdout"]])
        print_sums("tuning", [r for r in results if not r["holdout"]])
        print_sums("hold-out", [r for r in results if r["holdout"]])
        print_sums("historical", [r for r in results if r["historical"]])
        for part, name in risen:
            print(f"better than score.toml: {name} ({part}); take it out of the list")
        for part, result in fallen:
            print(f"WORSE than score.toml: {result['name']} ({part}): {result[part + '_wrong']}")
    return 1 if fallen else 0


if __name__ == "__main__":
    sys.exit(main())
