"""docs_formats.py ROOT DATABASE…: what the documents list of formats, limits and suites is what the code has, and the other way
round. The databases are what `tidemark unpack` and the recorder write. One line for each thing that differs."""
import glob, os, re, sqlite3, sys

ROOT = sys.argv[1]
wrong = 0


def complain(where, what):
    global wrong
    wrong += 1
    print(f"{where}: {what}")


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def part(text, begin, end):
    """What stands between two headings (or other texts)."""
    if begin not in text:
        complain("tests/cli/docs_formats.py", f"finds no '{begin}' any more")
    return text.partition(begin)[2].partition(end)[0]


def compare(where, kind, said, there):
    for name in sorted(there - said):
        complain(where, f"does not speak of the {kind} {name}")
    for name in sorted(said - there):
        complain(where, f"speaks of the {kind} {name}, which is not there")


def members(file, last, with_last=False):
    """(name, number) of the enumeration that ends with `last`, without that one."""
    body = re.sub(r"/\*.*?\*/", "", re.search(rf"enum \w*\s*\{{([^}}]*\b{last}\b[^}}]*)\}}", read(file))[1], flags=re.S)
    found, number = [], 0
    for name, value in re.findall(r"(\w+)(?: = ([\w +]+))?(?:,|$)", body.strip()):
        number = int(value) if value.isdigit() else number
        found.append((name, number))
        number += 1
    return found if with_last else [each for each in found if each[0] != last]


# ---- The profile ---------------------------------------------------------------------------

PROFILE = "doc/FORMAT-profile.md"
profile = read(PROFILE)
databases = [sqlite3.connect(path) for path in sys.argv[2:]]


def named(kind):
    found = set()
    for database in databases:
        found |= {name for name, in database.execute("SELECT name FROM sqlite_master WHERE type = ?", (kind,))
                  if not name.startswith("sqlite_")}
    return found


def columns_of(table):
    for database in databases:
        found = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
        if found:
            return found
    return []


metrics = read("doc/METRICS.md")
site_columns = set(columns_of("site")) - {"path"}
rows = re.findall(r"^\| (`[^|]*`) \| [^\n]*? \| ([^|\n]*) \|$", part(profile, "## Tables", "### meta"), re.M)
documented = {}
for names, text in rows:
    for table in re.findall(r"`(\w+)`", names):
        documented[table] = text
for table, text in re.findall(r"^### Columns of `(\w+)`\n(.*?)(?=^#)", profile, re.M | re.S):
    documented[table] += text
compare(PROFILE, "table", set(documented), named("table"))


def expand(text):
    """Columns that a row of the document names. `indirect_…` are count and bytes; a range is all between."""
    said = set(re.findall(r"`([a-z_0-9]+)`", text))
    for prefix in re.findall(r"`(\w+_)…`", text):
        said |= {prefix + "count", prefix + "bytes"}
    for first, last in re.findall(r"`node_(\d)_bytes` … `node_(\d)_bytes`", text):
        said |= {f"node_{number}_bytes" for number in range(int(first), int(last) + 1)}
    if "`X_min`" in text:
        levels = re.findall(r"`(\w+)`", part(text, "for X in", "("))
        said |= {f"{level}_{end}" for level in levels for end in ("min", "max")}
    return said


# What the row of a table says by another one's name; those of the program and of threads are METRICS.md's.
BY_NAME = {"site": site_columns, "mapped_site": site_columns | {"path"}, "region_site": site_columns,
           "program": site_columns | {"id"} | set(re.findall(r"`(\w+)`", metrics)), "mapped_program": site_columns | {"id"},
           "thread": set(re.findall(r"`(\w+)`", metrics)),
           "sample": {f"{what}_{unit}" for what in ("lost", "indirect", "possible", "reachable") for unit in ("count", "bytes")}}
OTHERS = {"site", "holder", "residency", "location", "live_class", "live_fill", "fill", "requested", "blocks", "physical", "virtual", "tool", "mapped",
          "all", "nodes", "id"}  # tables, keys and levels that a row speaks of
for table, text in documented.items():
    there, said = set(columns_of(table)), expand(text)
    for column in sorted(there - said - BY_NAME.get(table, set())):
        complain(PROFILE, f"table {table}: does not name the column {column}")
    for column in sorted(said - there - OTHERS):
        complain(PROFILE, f"table {table}: there is no column {column}")
for column in sorted(site_columns):
    if not re.search(rf"`{column}`", metrics):
        complain("doc/METRICS.md", f"does not speak of {column}")
later = set(re.findall(r'^METRIC\(\w+, "(\w+)"(?:, \w+){3}, LATER', read("src/model/metrics.def"), re.M))
added = part(profile, "Of `site` and the tables like it these are", "\n\n")
for column in sorted(later):
    if not re.search(rf"`{column}`", added) and not any(column.startswith(p) for p in re.findall(r"`(\w+_)…`", added)) and not any(
            column.endswith(p) for p in re.findall(r"`…(_\w+)`", added)):
        complain(PROFILE, f"does not say that {column} of site was added")

compare(PROFILE, "view", set(re.findall(r"`(\w+)`", part(profile, "## Views", "## Queries"))), named("view"))

blocks = {name for row in re.findall(r"^\| (`[^|]*) \|", part(profile, "## Blocks", "\n## "), re.M) for name in re.findall(r"`(\w+_block)`", row)}
compare(PROFILE, "block", blocks, {name for name in named("table") if name.endswith("_block")})
for database in databases:
    has_blocks = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'block_column'").fetchone()
    for block, name in database.execute("SELECT block, name FROM block_column") if has_blocks else ():
        table = block.removesuffix("_block")
        if name not in columns_of(table) and name != "parent_distance":
            complain(PROFILE, f"block {block} has {name}, which is no column of {table}")

for database in databases:
    number, = database.execute("PRAGMA user_version").fetchone()
    application, = database.execute("PRAGMA application_id").fetchone()
    if f"the version of this format: {number}" not in profile or f"0x{application:x}" not in profile:
        complain(PROFILE, f"does not say user_version {number} and application_id 0x{application:x}")

keys = {key for row in re.findall(r"^\| ([^|]*) \|", part(profile, "### meta", "### A job"), re.M) for key in re.findall(r"`([a-z_]+)[`.]", row)}
facts = set(re.findall(r'^#define PROFILE_META_\w+\s+"([a-z_]+)\.?"', read("src/files/profile/profile.h"), re.M))
for database in databases:
    facts |= {key.split(".")[0] for key, in database.execute("SELECT key FROM meta")}
sources = "\n".join(open(path, encoding="utf-8").read() for path in glob.glob(f"{ROOT}/src/**/*.[ch]", recursive=True))
for key in sorted(facts - keys):
    complain(PROFILE, f"does not list meta.{key}")
for key in sorted(keys - facts):
    if f'"{key}"' not in sources:
        complain(PROFILE, f"lists meta.{key}, which nothing writes")

# Kinds are numbers from 0 on, and the document has all of them.
KINDS = (("`distribution.kind`: ", "src/model/detail.h", "DISTRIBUTION_KINDS"), ("`section`: ", "src/files/profile/profile.h", "PROFILE_SECTIONS"),
         ("`why`: ", "src/files/profile/profile.h", "PROFILE_SAMPLE_WHYS"), ("### Columns of `owner`", "src/files/profile/profile.h", "PROFILE_OWNER_KINDS"),
         ("| `container` |", "src/files/profile/profile.h", "PROFILE_CONTAINER_KINDS"), ("### Columns of `holder`", "src/files/profile/profile.h", "PROFILE_HOLDER_KINDS"),
         ("| `live_fill` |", "src/files/profile/profile.h", "PROFILE_FILL_SHAPES"), ("| `mark` |", "src/files/profile/profile.h", "PROFILE_MARK_KINDS"),
         ("### Columns of `call_type`", "src/files/profile/profile.h", "PROFILE_CALL_KINDS"))
for begin, file, last in KINDS:
    text = part(profile, begin, "\n\n").split("\n|")[0]
    text = re.split(r"\.\s", text)[0] if begin.endswith(": ") else re.split(r"\)(?:, `|\.\n)", part(text, "`kind` (" if "`kind` (" in text else "`shape` (", "\n\n"))[0]
    said = [int(number) for number in re.findall(r"(?:^|,\s|\()(\d+) ", text)]
    count = len(members(file, last))
    if said != list(range(count)):
        complain(PROFILE, f"{begin.strip('|# :')} lists the kinds {said}, and there are {count}")


# ---- Traces, jobs, sessions ----------------------------------------------------------------

TRACE, FORMAT, KEEPER = "doc/FORMAT-trace.md", "src/files/trace/trace_format.h", "src/files/trace/trace.h"
trace = read(TRACE)
said = {int(number) for number in re.findall(r"(\d+) \w+", re.search(r"\| kind: ([^|]*)\|", trace)[1])}
compare(TRACE, "kind of block", said, {number for _, number in members(FORMAT, "FORMAT_SUMS", True)})
said = {int(number) for number in re.findall(r"^\| (\d+) \|", part(trace, "### Notes", "\n## "), re.M)}
compare(TRACE, "kind of note", said, {number for _, number in members(KEEPER, "TRACE_SNAPSHOT", True)})
said = []
for row in re.findall(r"^\| (\d[^|]*) \|", part(trace, "| column | for | holds |", "Flags: 4:"), re.M):
    for item in row.split(", "):  # tokens have their rests in the next column
        first, last = re.match(r"(\d+)(?: … (\d+))?", item).groups()
        said += range(int(first), int(last or first) + 1) if last or " T" not in item else (int(first), int(first) + 1)
count = len(members("src/files/trace/prediction.h", "COLUMNS")) + 5  # COLUMN_TIME_T stands for six
if sorted(said) != list(range(count)):
    complain(TRACE, f"lists the columns {sorted(said)} of events, and there are {count}")
for fact in re.findall(r'^#define TRACE_FACT_\w+\s+"([a-z_]+\.?)"', read(KEEPER), re.M):
    if not re.search(rf"`{re.escape(fact)}", trace):
        complain(TRACE, f"does not speak of the fact {fact}")

ENTRY = "doc/FORMAT-job.md"
entry = read("src/files/jobdir/entry.c")
compare(ENTRY, "line", {name for row in re.findall(r"^\| (`[^|]*) \|", part(read(ENTRY), "| name | value |", "\n\n"), re.M)
                        for name in re.findall(r"`(\w+)`", row)}, set(re.findall(r"\bFIELD\((\w+), (?:TEXT|NUMBER|FILE_NAME)\)", entry)))

launchers = set(re.findall(r'\{\.name = "(\w+)", \.rank', read("src/host/procfs/launcher.c")))
compare(ENTRY, "launcher", set(re.findall(r"`(\w+)`", re.search(r"^\| `launcher` \| (.*)\|$", read(ENTRY), re.M)[1])), launchers)
UNWIND = "doc/UNWIND.md"
marks = {name for name, _ in members("src/protocol/wire/wire.h", "WIRE_MARK_LIMIT")} - {"WIRE_MARK_MAX_DEPTH"}
compare(UNWIND, "mark", set(re.findall(r"^\| `(WIRE_MARK_\w+)` \|", read(UNWIND), re.M)), marks)

SESSION = "doc/FORMAT-session.md"
head = part(read("src/files/session/session_format.h"), "struct session_row_head {", "};")
there = [name for names in re.findall(r"uint(?:32|64)_t ([\w, ]+);", head) for name in names.split(", ")]
said = [name.strip() for row in re.findall(r"^ +\d+ +u(?:32|64) +((?:\w+, )*\w+)", part(read(SESSION), "The content of a row", "Figures are"), re.M)
        for name in row.split(", ")]
if said != there:
    complain(SESSION, f"lists the head {said}, and there is {there}")


# ---- What suites have ----------------------------------------------------------------------

fuzzing = read("doc/FUZZING.md")
compare("doc/FUZZING.md", "target", {name for row in re.findall(r"^\| (`[^|]*) \| [^|\d]", fuzzing, re.M) for name in re.findall(r"`(\w+)`", row)},
        {re.match(r"fuzz_(\w+)\.c", os.path.basename(path))[1] for path in glob.glob(f"{ROOT}/fuzz/*/fuzz_*.c") + glob.glob(f"{ROOT}/bfm/fuzz/fuzz_*.c")})
world = read("doc/WORLD.md")
workloads = re.findall(r"[\w-]+", " ".join(re.findall(r"^\| ([^|]*) \|", part(world, "| program | what it does", "\n\n"), re.M)))
for path in glob.glob(f"{ROOT}/tests/world/*.sh"):
    name = os.path.basename(path)[:-3]
    if name not in workloads + ["run", "other"]:
        complain("doc/WORLD.md", f"does not speak of the workload {name}")
for path in glob.glob(f"{ROOT}/tests/torture/*.sh"):
    name = os.path.basename(path)
    if name not in ("run.sh", "lib.sh") and not re.search(rf"\b{re.escape(name)}", part(world, "## `ctest -L torture`", "### Crash")):
        complain("doc/WORLD.md", f"does not speak of tests/torture/{name}")
wrong_cases = set(re.findall(r'"(\w+/\w+)"', part(read("tests/truth/score.toml"), "first_wrong = [", "]")))
compare("doc/TRUTH.md", "case that is wrong", set(re.findall(r"^\| (\w+/\w+) \|", read("doc/TRUTH.md"), re.M)), wrong_cases)
limits = part(read("src/analysis/budget/limits.c"), "[BUDGET_PEAK]", "};")
compare("doc/BUDGET.md", "limit", {name for row in re.findall(r"^\| (`[^|]*) \|", part(read("doc/BUDGET.md"), "| limit | measured", "\n\n"), re.M)
                                   for name in re.findall(r"`(\w+)`", row)}, set(re.findall(r'\{"(\w+)",', '{"peak",' + limits)))


# ---- Changes -------------------------------------------------------------------------------

def rows_of_four(text):
    words = re.findall(r"\w+", text.lower())
    return set(zip(words, words[1:], words[2:], words[3:]))


# Two branches that say one thing are merged without a conflict: two entries then share most of their words.
entries = [(text, rows_of_four(text)) for text in re.split(r"^- ", read("CHANGELOG.md"), flags=re.M)[1:]]
for number, (text, fours) in enumerate(entries):
    for other, others in entries[:number]:
        if len(fours) > 5 and len(others) > 5 and len(fours & others) > 0.4 * min(len(fours), len(others)):
            complain("CHANGELOG.md", f"says twice: {other[:60]} … {text[:60]}")


# ---- Limits --------------------------------------------------------------------------------

# What a document says of a limit, and the line of code that has it: who changes the one is led to the other.
LIMITS = (
    (PROFILE, "at most 4096 of them", "src/files/profile/number_columns.h", "COLUMNS_MAX_ROWS = 4096"),
    (PROFILE, "size of a piece (4 MiB)", "src/files/profile/pack.c", "PIECE_BYTES = 4 << 20"),
    (PROFILE, "The first 65,536", "src/engine/accounting/marks.h", "MARKS_MAX   65536"),
    (PROFILE, "there were more than 65,536", "src/pipeline/collector/heap_map.h", "HEAP_MAP_CELLS = 65536"),
    (PROFILE, "at most 64 rows", "src/pipeline/collector/machine_memory.h", "MACHINE_MOMENTS = 64"),
    (TRACE, "at most 2^26", FORMAT, "FORMAT_BODY_BYTES = 1 << 26"),
    (TRACE, "A block of events has at most 2^19 records, a block of nodes at most 65536", FORMAT, "FORMAT_BLOCK_EVENTS = 1 << 19"),
    (TRACE, "a block of nodes at most 65536", FORMAT, "FORMAT_BLOCK_NODES = 1 << 16"),
    (TRACE, "At most 64 columns of at most 2^23 bytes each", FORMAT, "FORMAT_COLUMNS = 64"),
    (TRACE, "of at most 2^23 bytes each", FORMAT, "FORMAT_COLUMN_BYTES = 1 << 23"),
    (TRACE, "sample interval above 2^30 bytes", FORMAT, "FORMAT_SAMPLE_MOST = 1 << 30"),
    (TRACE, "less than 32 bytes, is not packed", "src/files/trace/byte_columns.c", "WORTH_PACKING = 32"),
    (TRACE, "the first 4096 blocks of events", "src/files/trace/delta_index.h", "DELTA_INDEX_LEVELS = 3, DELTA_INDEX_PARTS = 16"),
    (ENTRY, "No entry is longer than 256 KiB", "src/files/jobdir/entry.h", "ENTRY_MOST_BYTES = 1 << 18"),
    (ENTRY, "written in the last 60 seconds", "src/files/jobdir/scan.c", "STILL_S = 60"),
    (UNWIND, "1,024 sections", "src/inprocess/unwind/registered.c", "SECTIONS_MOST 1024u"),
    (ENTRY, "tidemark entry 1", "src/files/jobdir/entry.c", "FORMAT_VERSION = 1"),
    (SESSION, "64 MiB at most", "src/files/session/session_format.h", "SESSION_RECORD_BYTES_MAX = 64 << 20"),
    (SESSION, "32 MiB at most", "src/files/profile/profile_log.h", "32 << 20"),
    (SESSION, "no more than 2^20 rows", "src/files/profile/profile_log.h", "PROFILE_LOG_ROWS_MAX = 1 << 20"),
    ("doc/FAULTS.md", "Commits are 1.5 s apart", "src/pipeline/collector/process_image_parts.h", "IMAGE_FLUSH_NS      1500000000u"),
    ("doc/FAULTS.md", "at most 2 s with the writing itself", "src/pipeline/collector/process_image_parts.h", "IMAGE_FLUSH_MOST_NS 2000000000u"),
    ("doc/FAULTS.md", "up to 10 s", "src/pipeline/collector/process_image_parts.h", "IMAGE_FLUSH_CROWD_NS 10000000000u"),
    ("doc/LIMITS.md", "a twenty-fourth of the limit is left, or an eighth", "src/pipeline/collector/own_group.c", "SHORT_PART = 8, SHORT_BOUNDED_PART = 24"),
    ("doc/LIMITS.md", "within its first 1,000 events", "src/pipeline/collector/process_image.c", "STUB_EVENTS 1000u"),
    ("doc/LIMITS.md", "beyond 2,048 foreign stacks", "src/inprocess/unwind/shadow.c", "FOREIGN_STACKS 2048u"),
    (UNWIND, "larger than 16 MiB", "src/inprocess/unwind/walk.c", "FOREIGN_FRAME_BYTES ((uintptr_t)16 << 20)"),
    (UNWIND, "256 MiB below anything captured", "src/inprocess/unwind/stack_bounds.c", "PROVE_BYTES ((uintptr_t)256 << 20)"),
    ("doc/WORLD.md", "stays below 64 MiB, and 200 KiB more", "tests/torture/storm.sh", "most_living_kib=200"),
    ("doc/SECURITY.md", "8 GiB unpacked", "src/formats/import/import.h", "IMPORT_LIMIT ((size_t)8 << 30)"),
    ("doc/SECURITY.md", "careful, 64 MiB", "src/analysis/aggregate/source_text.h", "SOURCE_TEXT_LIMIT ((size_t)64 << 20)"),
    ("doc/SECURITY.md", "may take 256 MiB and 500 times", "src/common/base/allowance.c", "ALLOWANCE_LEAST (256ull << 20)"),
    ("doc/SECURITY.md", "16 KiB of line and headers", "src/show/server/http.h", "SERVER_REQUEST_BYTES = 16 << 10"),
    ("doc/SECURITY.md", "30 s without a byte", "src/show/server/http.h", "SERVER_TIMEOUT_S = 30"),
    ("doc/SECURITY.md", "10 s for a whole request", "src/show/server/http.h", "SERVER_HEADER_S = 10"),
    ("doc/SECURITY.md", "256 connections", "src/show/server/http.h", "SERVER_CONNECTIONS = 256"),
    ("doc/SECURITY.md", "of one address 64", "src/show/server/http.h", "SERVER_STRANGERS = 64"),
    ("doc/SECURITY.md", "up to 64 KiB and 1 MiB", "src/show/server/http.h", "SERVER_SQL_BYTES = 64 << 10"),
    ("doc/SECURITY.md", "up to 64 KiB and 1 MiB", "src/show/server/notes.h", "NOTES_MOST = 1 << 20"),
    ("doc/SECURITY.md", "10,000 rows and 8 MiB at most, a statement 20 s and 1 GiB", "src/show/query/query_sheet.c", ".rows = 10000, .bytes = 8 << 20, .seconds = 20"),
    ("doc/SECURITY.md", "Values of 256 MiB", "src/show/query/allowed.c", "LONGEST_VALUE (256 << 20)"),
)
for document, phrase, file, code in LIMITS:
    if phrase not in re.sub(r"\s+", " ", read(document)):
        complain(document, f"does not say '{phrase}' any more, which {file} does ({code})")
    if code not in read(file):
        complain(document, f"says '{phrase}', and {file} has no '{code}' any more")

print("what the documents list is what there is" if not wrong else f"{wrong} lists differ")
