"""house/opens: each place of src/ that opens a file stands in doc/SECURITY.md ("Where files are opened").

    opens.py ROOT [--list]

The document names each file with the number of its calls, such as `files/trace/trace_reader.c` 1. Who adds a call reads the
table of paths above it, and says in which row it belongs."""
import re
import sys
from pathlib import Path

CALL = re.compile(
    r"\b(?:open|openat|openat2|open64|creat|fopen|freopen|opendir|scandir|nftw|glob|mkstemps?|mkostemps?|mkdtemp|tmpfile|"
    r"sqlite3_open\w*|dlm?open|popen|system|gzopen|shm_open|regular_file_open|regular_file_read\w*)\s*\(|\bSYS_open\w*")


def code_of(text):
    text = re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.S)
    return re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)


def calls(root):
    found = {}
    for path in sorted(root.glob("src/**/*.[ch]")):
        lines = code_of(path.read_text()).splitlines()
        count = sum(len(CALL.findall(line)) for line in lines if line.startswith(" "))  # else a definition
        if count:
            found[str(path.relative_to(root / "src"))] = count
    return found


root = Path(sys.argv[1])
found = calls(root)
if "--list" in sys.argv:
    for path, count in found.items():
        print(f"`{path}` {count}")
    sys.exit()
document = (root / "doc/SECURITY.md").read_text().split("## Where files are opened", 1)[-1].split("\n## ", 1)[0]
told = {path: int(count) for path, count in re.findall(r"`(\w[\w/]*\.[ch])` (\d+)", document)}
bad = [f"src/{path}: {count} calls that open files, but doc/SECURITY.md has {told.get(path, 'none')}"
       for path, count in found.items() if told.get(path) != count]
bad += [f"doc/SECURITY.md: {path} opens nothing" for path in told if path not in found]
print("\n".join(bad))
sys.exit(bool(bad))
