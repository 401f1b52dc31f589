"""Runs every command that prints on recordings with hostile names, and looks at every byte.

    hostile.py PROFILE TRACE OTHER-PROFILE

A command that has no row here fails the test: whoever adds a command adds the row. Colours may pass
where they were asked for; no other control character may, nor what turns the direction of text."""
import json
import re
import subprocess
import sys
import unicodedata

profile, trace, other = sys.argv[1:4]
NOTHING = []  # prints no text of a profile, or is not for a script: why
COMMANDS = {
    "record": [["-o", "made.tmk", "./basic\033]0;x\007", "1"]],
    "attach": [["999999999"]],
    "count": [["./basic\033]0;x\007", "1"]],
    "report": [[profile], ["--show=all", "-n", "100", profile], ["--tree", profile], ["--json", profile],
               ["--show=regions", profile]],
    "insight": [[profile], ["--json", profile]],
    "leaks": [[profile], ["--json", profile]],
    "content": [[profile], ["--json", profile]],
    "held": [[profile], ["--json", profile], [profile, other]],
    "annotate": [[profile], ["--json", profile]],
    "plot": [["--terminal", profile], ["--terminal", "--functions", profile]],
    "top": [["--plain", "-n", "1", profile]],
    "snapshot": [[profile]],
    "diff": [[profile, other], ["--json", profile, other]],
    "check": [["-b", "none.toml", profile], ["-b", "none.toml", "-f", "github", profile],
              ["-b", "none.toml", "-f", "junit", profile], ["-b", "none.toml", "-f", "json", profile]],
    "serve": NOTHING,  # tests/web
    "html": NOTHING,  # tests/web
    "viewer": NOTHING,  # it has nothing of a profile
    "replay": [["-o", "again.tmk", trace]],
    "at": [[trace], ["--json", trace], ["peak", trace]],
    "blocks": [[trace], ["--json", trace]],
    "events": [[trace], ["--stacks", trace], ["--json", trace], ["--kind", "mark,region", trace]],
    "job": [[profile], ["--json", profile]],
    "ps": [[], ["--json"]],
    "maps": [["self"]],
    "query": [[profile, sql] + more for sql in ("SELECT * FROM function", "SELECT * FROM meta", "SELECT * FROM marks",
              "SELECT * FROM thread", "SELECT * FROM event") for more in ([], ["-f", "csv"], ["-f", "json"],
              ["-f", "jsonl"])] + [[profile]],
    "export": [["--to", to, profile, "-o", "-"] for to in
               ("folded", "callgrind", "massif", "openmetrics", "csv", "json", "dot", "speedscope", "heaptrack")],
    "import": [["-o", "in.tmk", profile]],
    "unpack": [[profile, "made.db"]],
    "bundle": NOTHING,  # of no profile
    "doctor": [["./basic\033]0;x\007"], ["--json"]],
    "help": [[]],
    "version": [[]],
}
COLOUR = {"report", "insight", "leaks", "held", "content", "annotate", "diff", "check", "plot", "top", "at", "blocks", "events", "job", "doctor"}
SGR = re.compile(r"\033\[[0-9;]*m")


def run(arguments, colour):
    more = ["--color=always"] if colour else []
    return subprocess.run(["tidemark", *arguments[:1], *more, *arguments[1:]], capture_output=True, timeout=600)


def look(arguments, name, data, colour):
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        print(f"{arguments}: {name}: {error}")
        return
    text = SGR.sub("", text) if colour else text
    bad = {hex(ord(c)) for c in text.replace("\r\n", "\n") if c not in "\n\t"
           and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")}
    if bad:
        at = min(text.find(chr(int(b, 16))) for b in bad)
        print(f"{arguments}: {name}: {bad} near {text[max(0, at - 60):at + 30]!r}")
    if "csv" in arguments and re.search(r'(^|,)"?[=+@]', text, re.MULTILINE):
        print(f"{arguments}: a formula")


def look_json(arguments, data):
    try:
        json.loads(data)
    except ValueError:
        for line in data.splitlines():
            json.loads(line)


known = {line.split("\t")[0] for line in subprocess.run(["tidemark", "--dump-commands"], capture_output=True,
                                                        text=True, check=True).stdout.splitlines()}
for command in sorted(known - set(COMMANDS)):
    print(f"{command}: no row in hostile.py")
ran = said = 0
for command, rows in COMMANDS.items():
    for row in rows:
        for colour in (False, True) if command in COLOUR and "--json" not in row else (False,):
            arguments = [command, *row]
            done = run(arguments, colour)
            ran, said = ran + 1, said + bool(done.stdout or done.stderr)
            if done.returncode < 0 or b"unknown option" in done.stderr:
                print(f"{arguments}: {done.returncode} {done.stderr!r}")
            look(arguments, "stdout", done.stdout, colour)
            look(arguments, "stderr", done.stderr, colour)
            if ("--json" in row or "json" in row) and not done.returncode:
                look_json(arguments, done.stdout)
print("every command has run" if ran >= 60 and said >= ran - 6 else f"{ran} have run, {said} have said something")
