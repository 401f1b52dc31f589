"""house/decisions: what doc/decisions says of the code is there.

A page's third line is "Place: `…`. Date: … November 2026." Its links lead to files. Each file, function, constant, option
and test that it names in backquotes exists. The index lists a page under the folder that its Place names first. Not
looked at are pages that are superseded, and sections of what was tried or not done, because these may speak of what is
gone. Names of other projects stand in tests/house/decisions.txt.

    decisions.py SOURCE        one line for each fault; status 1 if there is one
"""
import os, re, sys

root = sys.argv[1]
TREE = ("bench", "bfm", "cmake", "data", "debian", "editors", "examples", "fuzz", "include", "man", "python", "src", "tests", "tools", "web", "doc")
CODE = (".c", ".h", ".def", ".cpp", ".py", ".sh", ".cmake", ".txt", ".ts", ".tsx", ".mjs", ".sql", ".pl", ".in", ".scd", ".rb", ".java")
LEFT_OUT = {"node_modules", "build", "corpus", "golden", "dist", "decisions", ".git"}
GONE = re.compile(r"^##+ (What was tried|What was not done)")
PAGES = os.path.join(root, "doc/decisions")
GIVEN = os.path.join(root, "tests/house/decisions.txt")


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def tree():
    """Every path below the root as it may be shortened on a page, and all text of the code."""
    paths, words, options = set(), set(), set()
    for folder in TREE:
        for at, folders, names in os.walk(os.path.join(root, folder)):
            folders[:] = [each for each in folders if each not in LEFT_OUT]
            here = os.path.relpath(at, root)
            for path in [here] + [os.path.join(here, name) for name in names]:
                parts = path.split("/")
                for i in range(len(parts)):
                    tail = "/".join(parts[i:])
                    paths |= {tail, re.sub(r"\.[a-z]+$", "", tail)}
            for name in names:
                if name.endswith(CODE) and os.path.join(at, name) != GIVEN:
                    text = read(os.path.join(at, name))
                    if name.endswith((".c", ".h", ".def", ".cpp")):
                        text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)  # what only a comment names is not there
                    words.update(re.findall(r"[A-Za-z_]\w*", text))
                    options.update(re.findall(r"--[a-z][\w-]+", text))
    return paths, words, options


PATHS, WORDS, OPTIONS = tree()
FOREIGN = {}
for line in read(GIVEN).splitlines():
    if line and not line.startswith("#"):
        name, _, why = line.partition(" ")
        FOREIGN[name] = why.strip()
used = set()


def given(name):
    if name in FOREIGN:
        used.add(name)
        return True
    return False


def is_test(name):
    """unit/ROOM/NAME is tests/unit/…/ROOM/test_NAME.c, unit/ROOM all of a room; cli/NAME is tests/cli/NAME.sh, and so on."""
    kind, _, rest = name.partition("/")
    if kind == "unit":
        room, _, last = rest.rpartition("/")
        if room == "bfm":
            return f"bfm/tests/{last}" in PATHS or f"bfm/tests/test_{last}" in PATHS
        return rest in PATHS if not room else f"{room}/test_{last}" in PATHS
    return f"{kind}/{rest}" in PATHS or os.path.basename(rest) in WORDS  # some are cases of one file


def names_of(span):
    """(kind, name) of what a span in backquotes names."""
    for path in re.findall(r"(?<![\w/<.$~*-])(?:[\w-]+/)*[\w-]+\.(?:c|h|def|py|sh|tsx?|mjs|scd|cmake|txt|md|toml|pl|cpp)\b(?!\()", span):
        yield "file", path
    if re.fullmatch(r"(?:src|bfm|web|tests|bench|doc|data|tools)(?:/[\w-]+)*/?", span):
        yield "folder", span.rstrip("/")
    if re.fullmatch(r"(?:unit|cli|torture|victims|real|house)/[\w/-]+(?<![-/])", span):
        yield "test", span
    for function in re.findall(r"(?<![\w.>:])([A-Za-z_]\w*)\(", span):
        yield "function", function
    for word in re.findall(r"(?<![\w./:%-])([A-Za-z][a-z0-9]*_\w+|[A-Z][A-Z0-9]*_[A-Z0-9_]+)(?![\w/(])(?!…)", span):
        yield "name", word
    for option in re.findall(r"(?<![\w-])--[a-z][\w-]+", span):
        yield "option", option


def exists(kind, name):
    if kind in ("file", "folder"):
        return name in PATHS
    if kind == "test":
        return is_test(name)
    if kind == "option":
        return name in OPTIONS
    return name in WORDS or name in PATHS


def faults_of(page):
    text = read(os.path.join(PAGES, page))
    place = re.match(r"# \d+\. [^\n]+\n\nPlace: [^#]*?\.\s+Date:\s+(?:\d+\s+)?[A-Z][a-z]+\s+\d{4}\.\n\n", text)
    if not place:
        yield f"{page}: its third line is not 'Place: `…`. Date: …'"
    for link in re.findall(r"\]\(([^)\s#]+)[^)]*\)", text):
        if not re.match("[a-z]+:", link) and not os.path.exists(os.path.join(PAGES, link)):
            yield f"{page}: links to {link}, which is not there"
    superseded = re.search(r"^Superseded by (.*)$", text, re.M)
    if superseded:
        if not re.match(r"\[\d{4}\]\(", superseded[1]):
            yield f"{page}: does not link to what supersedes it"
        return
    for section in re.split(r"^(?=##+ )", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), flags=re.M):
        if GONE.match(section):
            continue
        for span in re.findall(r"`([^`]+)`", section):
            for kind, name in names_of(" ".join(span.split())):
                if not exists(kind, name) and not given(name):
                    yield f"{page}: names the {kind} {name}, which is nowhere"


def index_faults():
    index = read(os.path.join(PAGES, "README.md"))
    groups = re.findall(r"^### [^\n]*: `([^`]+)`$", index, re.M)
    for group, lines in re.findall(r"^### [^\n]*: `([^`]+)`\n(.*?)(?=^### |\Z)", index, re.M | re.S):
        for page in re.findall(r"^- \[\d{4}\]\(([^)]+)\)", lines, re.M):
            if not os.path.exists(os.path.join(PAGES, page)):
                continue  # cli/docs says it
            first = re.search(r"^Place: [^`]*`([^`]+)`", read(os.path.join(PAGES, page)), re.M)
            under = [each for each in groups if first and f"{first[1]}/".startswith(each.rstrip("/") + "/")]
            if not under or max(under, key=len) != group:
                yield f"README.md: {page} stands under {group}, and its Place begins with {first[1] if first else 'nothing'}"
    storeys = [each.split("/")[1] for each in groups if re.match("src/[a-z]", each)]
    order = re.findall(r"^add_subdirectory\((\w+)\)", read(os.path.join(root, "src/CMakeLists.txt")), re.M)
    if set(storeys) - set(order) or storeys != sorted(storeys, key=order.index):
        yield "README.md: its groups are not in the order of src/CMakeLists.txt"


faults = [fault for page in sorted(os.listdir(PAGES)) if re.match(r"\d{4}-", page) for fault in faults_of(page)]
faults += index_faults()
faults += [f"tests/house/decisions.txt: no page names {name} any more" for name in FOREIGN if name not in used]
print("\n".join(sorted(set(faults))) if faults else "what decisions name is there")
sys.exit(bool(faults))
