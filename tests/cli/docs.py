"""docs.py ROOT: keeps README.md, doc/ and man/ honest. Commands and options that they speak of exist, each
command has a page, which names its options and the words that they choose among, and each page its command, what is linked or named is there, each decision is in its index,
ARCHITECTURE.md and the pages of rooms are short, keys of JSON and facts of profiles are described, and the commands of
blocks that are marked with <!-- run --> run and name the lines of code that the block says they name.
<!-- run: 1 --> expects that exit status of the last command, <!-- run: needs PROGRAM… --> skips the block
where one of these is missing. One line for each thing that is wrong."""
import glob, json, os, re, shutil, subprocess, sys

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
words = {}  # command: the words that its options choose among
for command in commands:
    known = options[command] = {"-h": False, "--help": False}
    for line in ask(command, "--dump-options").splitlines():
        if line.count("\t") < 3:  # the version, of what has no options
            continue
        short, long, argument, sentence = line.split("\t", 3)
        listed = re.split(r", | or ", sentence) if long in ("show", "kind") else argument.split("|") if "|" in argument else []
        words.setdefault(command, set()).update(listed)
        for name in (["-" + short] if short else []) + (["--" + long] if long else []):
            known[name] = bool(argument)

pages = ["README.md"] + sorted(os.path.relpath(p, ROOT) for p in glob.glob(f"{ROOT}/doc/**/*.md", recursive=True)
                                 + glob.glob(f"{ROOT}/bfm/doc/*.md"))
rooms = sorted(os.path.relpath(p, ROOT) for folder in ("src", "bfm", "web")
               for p in glob.glob(f"{ROOT}/{folder}/**/README.md", recursive=True) if "node_modules" not in p)
manuals = sorted(os.path.relpath(p, ROOT) for p in glob.glob(f"{ROOT}/man/*.scd") + glob.glob(f"{ROOT}/bfm/man/*.scd"))


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
    said = plain.replace("_", " ") + (read("man/tidemark-record.1.scd") if command == "attach" else "")  # whose options are record's
    for word in sorted(words.get(command, ())):
        if not re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", said):
            complain(f"man/tidemark-{command}.1.scd", f"does not speak of the word {word}")
    if not re.search(rf"^\*{command}\*.*\n\t.*\*tidemark-{command}\*\(1\)", index, re.M):
        complain("man/tidemark.1.scd", f"does not list {command}")
for name in sorted(named - set(commands) - PAGES_OF_NO_COMMAND):
    complain("man", f"tidemark-{name}(1) is of no command")
for manual in manuals:
    if shutil.which("scdoc"):
        with open(f"{ROOT}/{manual}", encoding="utf-8") as file:
            done = subprocess.run(["scdoc"], stdin=file, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            complain(manual, done.stderr.strip())
    page = re.match(r"(?:bfm/)?man/(.*)\.(\d)\.scd", manual)
    if page[1] != "tidemark" and f"*{page[1]}*({page[2]})" not in index:
        complain("man/tidemark.1.scd", f"does not name {page[1]}({page[2]})")
    for page, section in re.findall(r"\*((?:tidemark|bfm)[a-z-]*)\*\((\d)\)", read(manual)):
        if not {f"man/{page}.{section}.scd", f"bfm/man/{page}.{section}.scd"} & set(manuals):
            complain(manual, f"there is no {page}({section})")
    title = re.match(r"([\w-]+)\((\d)\)", read(manual))
    if not title or f"man/{title[1]}.{title[2]}.scd" != manual.removeprefix("bfm/"):
        complain(manual, "says another name in its first line")


# ---- Links ---------------------------------------------------------------------------------

def anchors(name):
    found = set()
    for heading in re.findall(r"^#+ +(.*)$", re.sub(r"^```.*?^```$", "", read(name), flags=re.M | re.S), re.M):
        slug = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()).replace(" ", "-")
        found.add(slug)
    return found


linking = pages + rooms + [n for n in ("ARCHITECTURE.md", "CONTRIBUTING.md", "LICENSES.md") if os.path.exists(f"{ROOT}/{n}")]
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
    for file in set(re.findall(r"(?<![\w/])((?:bfm/)?(?:doc|man|examples|bench)/[\w./-]*\w\.(?:md|scd|c|cpp|f90|sh))\b", read(name))):
        if not os.path.exists(os.path.join(ROOT, file)) and not re.search("[-_/]NAME", file):  # a name to choose
            complain(name, f"speaks of {file}, which is not there")


# Each decision is in the index under its title, has the two parts that none can lack, and a number of its own.
decisions = [each for each in pages if re.match(r"doc/decisions/\d", each)]
listed = re.findall(r"^- \[(\d{4})\]\((\1-[\w-]+\.md)\) (.*)$", read("doc/decisions/README.md"), re.M)
for name in decisions:
    file, text = os.path.basename(name), read(name)
    number = file[:4]
    title = re.match(rf"# {int(number)}\. (.*)\n", text)
    if not re.fullmatch(r"\d{4}-[a-z0-9-]+\.md", file) or not title:
        complain(name, "is not called NNNN-title.md, or its first line is not '# N. Title'")
    elif (number, file, title[1]) not in listed:
        complain("doc/decisions/README.md", f"does not list {file} as '{title[1]}'")
    for part in "Context", "Decision":
        if not re.search(rf"^##+ {part}$", text, re.M):
            complain(name, f"has no {part}")
for number in sorted({number for number, _, _ in listed if [n for n, _, _ in listed].count(number) > 1}):
    complain("doc/decisions/README.md", f"lists {number} twice")

# A room's page is read at one sitting, and so is the picture of the whole.
for name, most in [(room, 60) for room in rooms] + [("ARCHITECTURE.md", 150)]:
    if os.path.exists(f"{ROOT}/{name}") and read(name).count("\n") > most:
        complain(name, f"has more than {most} lines")


# The way of one event names files, and functions that stand in them.
for file, function in re.findall(r"`([a-z_]+/[a-z_/]+\.(?:[ch]|def))(?:: (\w+)(?:\(\))?)?`", read("ARCHITECTURE.md")):
    if not os.path.exists(f"{ROOT}/src/{file}"):
        complain("ARCHITECTURE.md", f"names src/{file}, which is not there")
    elif function and not re.search(rf"\b{function}\b", read(f"src/{file}")):
        complain("ARCHITECTURE.md", f"names {function} of src/{file}, which is not in it")


# Steps name files by whole paths, and functions and types that are somewhere. Words in capitals are the reader's to choose.
TREE = ("bench", "bfm", "cmake", "debian", "doc", "fuzz", "include", "man", "src", "tests", "tools", "web/e2e", "web/src", "web/test")


def texts(folder):
    for at, folders, names in os.walk(f"{ROOT}/{folder}"):
        folders[:] = [each for each in folders if each not in ("corpus", "golden", "node_modules")]
        for each in names:
            if each.endswith((".c", ".h", ".def", ".cpp", ".cmake", ".ts", ".tsx", ".mjs")):
                yield read(os.path.join(at, each))


def is_there(path):
    return glob.glob(os.path.join(ROOT, re.sub(r"\b(STOREY|ROOM|NAME|SUBJECT)\b|(?<=_)(NAME|SUBJECT)\b", "*", path)))


everything = "\n".join(text for folder in TREE for text in texts(folder))
identifiers = set(re.findall(r"\b[A-Za-z_]\w*\b", everything))
for span in re.findall(r"`([^`\n]+)`", read("doc/HOWTO.md")):
    for path in re.findall(r"(?<![\w/<-])[\w.*/-]*\w\.(?:c|h|def|py|sh|tsx?|mjs|scd|cmake|txt|md|symbols|map|sql|expect)\b(?!\()", span):
        if not path.startswith(("ROOM.", "NAME.")) and not is_there(path):
            complain("doc/HOWTO.md", f"names {path}, which is not there (paths are whole)")
    for function in re.findall(r"(?<![\w…])([a-z_]\w*)\(", span):
        if not re.search("NAME", function) and not re.search(rf"\b{function}\(", everything):
            complain("doc/HOWTO.md", f"names {function}(), and there is no such function")
    for name in re.findall(r"\b(?:struct|enum) (\w+)", span):
        if name not in identifiers:
            complain("doc/HOWTO.md", f"names {name}, and there is no such type")
    if re.fullmatch(r"[A-Z]+_[A-Z_]+|[a-z]+_[a-z_]+", span) and span not in identifiers and span not in read("tests/lib/metrics.sql"):
        complain("doc/HOWTO.md", f"names {span}, which is nowhere")

# A room's page lists its files by their names without an ending.
for name in rooms:
    listed_files = re.search(r"^## Files\n(.*?)(?=^## |\Z)", read(name), re.M | re.S)
    for row in re.findall(r"^\| (`[^|]*)\|", listed_files[1] if listed_files else "", re.M):
        for file in re.findall(r"`([^`]+)`", row):
            here = os.path.join(ROOT, os.path.dirname(name), file)
            if not glob.glob(here) and not glob.glob(here + ".*"):
                complain(name, f"lists {file}, which is not there")
    for file in re.findall(r"`([\w/]+\.[ch])`", read(name)):
        if not any(os.path.exists(os.path.join(ROOT, base, file)) for base in (os.path.dirname(name), "src", "bfm/include", "")):
            if not glob.glob(f"{ROOT}/src/*/{file}"):
                complain(name, f"names {file}, which is not there")


# A claim about security names the test that shows it.
SCENARIOS = {"cli": "tests/cli/{}.sh", "unit": "tests/unit/*/{}", "fuzz": "fuzz/*/fuzz_{}.c", "web": "web/e2e/{}.mjs"}


def bfm_has(kind, test):
    name = test.split("/")[-1]
    return glob.glob(f"{ROOT}/bfm/tests/test_{name}.c" if kind == "unit" else f"{ROOT}/bfm/fuzz/fuzz_{name}.c")


for kind, test in set(re.findall(r"\b(cli|unit|fuzz|web)/([\w/]*\w)\b(?!\.[ch]\b)(?![\w/])", read("doc/SECURITY.md").replace("tests/cli/NAME", ""))):
    path = SCENARIOS[kind].format(re.sub(r"/(\w+)$", r"/test_\1.c", test) if kind == "unit" else test)
    if test != "NAME" and not glob.glob(os.path.join(ROOT, path)) and not bfm_has(kind, test):
        complain("doc/SECURITY.md", f"names the test {kind}/{test}, and there is no {path}")


# ---- Keys ----------------------------------------------------------------------------------

GOLDEN = f"{ROOT}/tests/golden/profile-v2-details.tmk"
ask("record", "-q", "--trace", "--held", "--page-content", "-o", "keys.tmk", sys.executable, "-c", "import mmap; mmap.mmap(-1, 1 << 20)")
with open("keys.toml", "w") as file:
    file.write('[program]\npeak = "1 KiB"\nlive = { growth = "5%" }\n')
KEYED = {  # a page, and commands whose JSON it describes
    "doc/REPORT-JSON.md": (("report", "--json", "--tree", GOLDEN), ("report", "--json", "keys.tmk"),
                           ("report", "--json", "--by=library", GOLDEN),
                           ("report", "--json", f"{ROOT}/tests/golden/session-v1.session.tmk"), ("insight", "--json", GOLDEN)),
    "doc/ANNOTATE-JSON.md": (("annotate", "--json", GOLDEN), ("annotate", "--json", GOLDEN, "main")),
    "doc/DIFF-JSON.md": (("diff", "--json", GOLDEN, GOLDEN),),
    "doc/TRACE-JSON.md": (("at", "--json", "--paths", "--libraries", f"{ROOT}/tests/golden/trace-v2.zstd.tmt", "peak"),
                          ("events", "--json", "keys.tmt")),
    "doc/BUDGET.md": (("check", "--json", "--budget", "keys.toml", "--baseline", "keys.tmk", "keys.tmk"),),
    "doc/HELD.md": (("held", "--json", "keys.tmk"),),
    "doc/LEAKS.md": (("leaks", "--json", "keys.tmk"),),
    "doc/CONTENT.md": (("content", "--json", "keys.tmk"),),
    "doc/JOB-JSON.md": (("job", "--format=json", "keys.tmk", GOLDEN),),
    "doc/PS-JSON.md": (("ps", "--format=json", str(os.getpid())), ("maps", "--format=json", "--all", str(os.getpid()))),
}


def spans_of(name):
    return " ".join(re.findall(r"`([^`\n]+)`", read(name)))


everywhere = " ".join(spans_of(each) for each in ("doc/METRICS.md", "doc/FORMAT-profile.md", "doc/REPORT-JSON.md"))


def keys_of(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from keys_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys_of(inner)


def is_described(key, text):
    """By its name, or as one of `indirect_…`, `mapped_…`, `…_error`, `node_0_bytes … node_7_bytes`."""
    plain = re.sub(r"^mapped_|_error$|(?<=^node_)\d", lambda found: "0" if found[0].isdigit() else "", key)
    return re.search(rf"(?<!\w){re.escape(plain)}(?!\w)", text) or f"{key.split('_')[0]}_…" in text


for name, asked in KEYED.items():
    for words in asked:
        lines = filter(None, ask(*words).splitlines() if words[0] == "events" else [ask(*words)])
        said = spans_of(name) + " " + everywhere
        for key in sorted({key for line in lines for key in keys_of(json.loads(line))}):
            if not is_described(key, said):
                complain(name, f"does not speak of {key}, which tidemark {words[0]} writes")
for key in re.findall(r'^#define PROFILE_META_\w+\s+"([a-z_]+)"', read("src/files/profile/profile.h"), re.M):
    if f"`{key}`" not in read("doc/FORMAT-profile.md"):
        complain("doc/FORMAT-profile.md", f"does not speak of meta.{key}")


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
