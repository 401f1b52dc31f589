"""docs.py ROOT: keeps README.md, doc/ and man/ honest. Commands and options that they speak of exist, each
command has a page and each page its command, what is linked or named is there, and the commands of
blocks that are marked with <!-- run --> run and name the lines of code that the block says they name.
<!-- run: 1 --> expects that exit status of the last command, <!-- run: needs PROGRAM… --> skips the block
where one of these is missing. One line for each thing that is wrong."""
import glob, os, re, shutil, subprocess, sys

ROOT = sys.argv[1]
PAGES_OF_NO_COMMAND = {"replay-under", "mpi"}  # of an option, and of a program of its own
wrong = 0


def complain(where, what):
    global wrong
    wrong += 1
    print(f"{where}: {what}")


def ask(*words):
    return subprocess.run(["tidemark", *words], capture_output=True, text=True).stdout


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


commands = [line.split("\t")[0] for line in ask("--dump-commands").splitlines()]
options = {}  # command: {"-o" or "--output": takes an argument}
for command in commands:
    known = options[command] = {"-h": False, "--help": False}
    for line in ask(command, "--dump-options").splitlines():
        if line.count("\t") < 3:  # the version, of what has no options
            continue
        short, long, argument, _ = line.split("\t", 3)
        for name in (["-" + short] if short else []) + (["--" + long] if long else []):
            known[name] = bool(argument)

pages = ["README.md"] + sorted(os.path.relpath(p, ROOT) for p in glob.glob(f"{ROOT}/doc/*.md"))
manuals = sorted(os.path.relpath(p, ROOT) for p in glob.glob(f"{ROOT}/man/*.scd"))


# ---- Commands and options ------------------------------------------------------------------

def check_words(where, command, rest):
    """What stands behind `tidemark COMMAND`: words up to the end of the command line. A command that runs
    a program has options only in front of it."""
    known, argument = options[command], False
    rest = re.sub(r"'[^']*'|\"[^\"]*\"", "QUOTED", rest)
    for word in rest.split():
        if argument:
            argument = False
        elif word == "--" or re.match(r"[|;&>(<#]|\d?>", word):
            return
        elif re.match(r"--?[a-zA-Z]", word):
            name = re.match(r"--?[\w-]+", word).group().rstrip("-")
            bundle = not name.startswith("--")
            exact = name if not bundle else name[:2]
            if exact not in known:
                complain(where, f"tidemark {command} has no {exact}")
            else:
                argument = known[exact] and name == word and (len(name) == 2 or not bundle)
            if word.endswith((",", ")", ".", ":")):
                return
        elif command in ("record", "count") and not word.startswith(("[", "-")):
            return


def check_commands(name):
    """Wherever code speaks of tidemark: in fences, in `spans`, in scdoc's indented and *bold* text."""
    text = read(name)
    if name.endswith(".scd"):
        text = text.replace("\\_", "_").replace("\\-", "-")
        pieces = re.findall(r"^\t.*$|\*[^*\n]+\*(?: --[^\n*]*)?", re.sub(r"^```$.*?^```$", "", text, flags=re.M | re.S), re.M)
        pieces += [line for block in re.findall(r"^```\n(.*?)^```$", text, re.M | re.S) for line in block.splitlines()]
    else:
        fences = re.findall(r"^```\w*\n(.*?)^```$", text, re.M | re.S)
        pieces = [line for block in fences for line in block.splitlines()]
        pieces += re.findall(r"`([^`\n]+)`", re.sub(r"^```\w*\n.*?^```$", "", text, flags=re.M | re.S))
    for piece in pieces:
        for match in re.finditer(r"(?:^|[\s$(/*;&|])tidemark ([a-z]+)\b(?![-.])([^`*]*)", piece):
            command, rest = match.groups()
            if command in commands:
                check_words(name, command, rest.split("#")[0])
            elif re.match(r"\s*[$*]?\s*tidemark [a-z]+(\s|\*?$)", piece) and "###" not in piece and command != "entry":
                complain(name, f"there is no tidemark {command}")  # but the first line of a file (tidemark-job(5))


for name in pages + manuals:
    check_commands(name)


# ---- Manuals -------------------------------------------------------------------------------

named = {os.path.basename(m)[len("tidemark-"):-len(".1.scd")] for m in manuals if re.match(r"man/tidemark-.*\.1\.scd$", m)}
index = read("man/tidemark.1.scd")
for command in commands:
    if command in ("help", "version"):
        continue
    if command not in named:
        complain("man", f"tidemark {command} has no page")
        continue
    page = read(f"man/tidemark-{command}.1.scd")
    plain = page.replace("*", "").replace("\\", "")
    plain += "".join(read(each) for each in manuals if each.startswith(f"man/tidemark-{command}-")).replace("*", "")
    plain = re.sub(r"--(?:no-|\[no-\])?([a-z][\w-]+)", r"--\1 --no-\1", plain)  # one says the other
    for option in options[command]:
        if not re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", plain):
            complain(f"man/tidemark-{command}.1.scd", f"does not speak of {option}")
    for line in re.findall(r"^(\*-[^\n]*)\n\t", page, re.M):
        for option in re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", line.replace("*", "").replace("\\", "")):
            if option not in options[command]:
                complain(f"man/tidemark-{command}.1.scd", f"there is no {option}")
    if not re.search(rf"^\*{command}\*.*\n\t.*\*tidemark-{command}\*\(1\)", index, re.M):
        complain("man/tidemark.1.scd", f"does not list {command}")
for name in sorted(named - set(commands) - PAGES_OF_NO_COMMAND):
    complain("man", f"tidemark-{name}(1) is of no command")
for manual in manuals:
    page = re.match(r"man/(.*)\.(\d)\.scd", manual)
    if page[1] != "tidemark" and f"*{page[1]}*({page[2]})" not in index:
        complain("man/tidemark.1.scd", f"does not name {page[1]}({page[2]})")
    for page, section in re.findall(r"\*((?:tidemark|bfm)[a-z-]*)\*\((\d)\)", read(manual)):
        if f"man/{page}.{section}.scd" not in manuals:
            complain(manual, f"there is no {page}({section})")
    title = re.match(r"([\w-]+)\((\d)\)", read(manual))
    if not title or f"man/{title[1]}.{title[2]}.scd" != manual:
        complain(manual, "says another name in its first line")


# ---- Links ---------------------------------------------------------------------------------

def anchors(name):
    found = set()
    for heading in re.findall(r"^#+ +(.*)$", re.sub(r"^```.*?^```$", "", read(name), flags=re.M | re.S), re.M):
        slug = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()).replace(" ", "-")
        found.add(slug)
    return found


linking = pages + [n for n in ("ARCHITECTURE.md", "CONTRIBUTING.md", "LICENSES.md") if os.path.exists(f"{ROOT}/{n}")]
for name in linking:
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"^```.*?^```$", "", read(name), flags=re.M | re.S)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
        if not os.path.exists(os.path.join(ROOT, file)):
            complain(name, f"links to {target}, which is not there")
        elif anchor and file.endswith(".md") and anchor not in anchors(file):
            complain(name, f"links to {target}, and there is no such heading")
sources = [os.path.relpath(p, ROOT) for p in glob.glob(f"{ROOT}/src/**/*.[ch]", recursive=True)]
for name in linking + manuals + sources:
    for file in set(re.findall(r"\b((?:doc|man|examples|bench)/[\w./-]*\w\.(?:md|scd|c|cpp|f90|sh))\b", read(name))):
        if not os.path.exists(os.path.join(ROOT, file)):
            complain(name, f"speaks of {file}, which is not there")


# A claim about security names the test that shows it.
SCENARIOS = {"cli": "tests/cli/{}.sh", "unit": "tests/unit/{}", "fuzz": "fuzz/fuzz_{}.c", "web": "web/e2e/{}.mjs"}
for kind, test in set(re.findall(r"\b(cli|unit|fuzz|web)/([\w/]+)", read("doc/SECURITY.md").replace("tests/cli/NAME", ""))):
    path = SCENARIOS[kind].format(re.sub(r"/(\w+)$", r"/test_\1.c", test) if kind == "unit" else test)
    if test != "NAME" and not os.path.exists(os.path.join(ROOT, path)):
        complain("doc/SECURITY.md", f"names the test {kind}/{test}, and there is no {path}")


# ---- What is shown is run ------------------------------------------------------------------

# Which line optimised code is of is the compiler's to say: this one made what is shown.
same_compiler = subprocess.run(["g++", "-dumpversion"], capture_output=True, text=True).stdout.split(".")[0].strip() == "12"


def places(text):
    """(function, file:line) of lines that name a place in the code; names may be shortened."""
    return set(re.findall(r"([A-Za-z_][\w:]*)\s{2,}(?:\S*/)?(\w+\.(?:cpp|c|f90):\d+)(?=\s*$)", text, re.M))


def run_block(name, number, note, block, directory):
    status = int(re.match(r"\d+", note).group()) if re.match(r"\d", note) else 0
    needs = note[len("needs"):].split() if note.startswith("needs") else []
    if any(not shutil.which(each) for each in needs):
        return
    shown = [line[2:] for line in block.splitlines() if line.startswith("$ ")]
    script = "\n".join(shown).replace("/tmp/weather", f"{directory}/weather").replace("300000", "30000")
    script = script.replace("mpirun -n 8", "mpirun -n 4")
    state = f"{directory}/where"
    if os.path.exists(state):
        with open(state) as file:
            script = f"cd '{file.read().strip()}'\n" + script
    done = subprocess.run(["bash", "-c", f"trap 'pwd >{state}' EXIT\n{script}"], cwd=directory, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL,
                          env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                               "OMPI_MCA_rmaps_base_oversubscribe": "1"})
    where = f"{name}, block {number} ({shown[-1][:50]})"
    if done.returncode != status:
        complain(where, f"status {done.returncode}, not {status}: {(done.stdout + done.stderr)[-1500:]}")
    got = done.stdout + done.stderr
    for function, place in sorted(places(block) - places(got)) if same_compiler else ():
        complain(where, f"does not name {function} at {place}")


for name in ("doc/TUTORIAL.md", "doc/COOKBOOK.md"):
    directory = os.path.abspath(os.path.basename(name))
    os.mkdir(directory)
    os.symlink(f"{ROOT}/examples", f"{directory}/examples")
    text = read(name)
    blocks = re.findall(r"^<!-- run(?:: ([^>]*?))? -->\n```\n(.*?)^```$", text, re.M | re.S)
    for number, (note, block) in enumerate(blocks, 1):
        run_block(name, number, note or "", block, directory)
    if not blocks:
        complain(name, "has no block that is run")
    patch = re.search(r"^```diff\n(.*?)^```$", text, re.M | re.S)
    if patch and patch[1] != read("examples/tutorial/fix.patch"):
        complain(name, "shows another patch than examples/tutorial/fix.patch")

print("what the documents say is so" if not wrong else f"{wrong} things are not so")
