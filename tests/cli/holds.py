"""Every table of a profile, and every fact of it, stands in doc/SECURITY.md's table of what a profile holds.

    holds.py SOURCE DATABASE…"""
import re
import sqlite3
import sys
from pathlib import Path

source = Path(sys.argv[1])
section = (source / "doc/SECURITY.md").read_text().split("## What a profile holds", 1)[1].split("\n## ", 1)[0]
told = set(re.findall(r"`(\w+)`", section))
facts = set(re.findall(r'define PROFILE_META_\w+\s+"(\w+)"', (source / "src/files/profile/profile.h").read_text()))
tables = set()
for path in sys.argv[2:]:
    database = sqlite3.connect(path)
    tables |= {name for name, in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
               if not name.startswith("sqlite_")}
    facts |= {key for key, in database.execute("SELECT key FROM meta") if "." not in key}
for kind, names in ("table", tables), ("fact", facts):
    for name in sorted(names - told):
        print(f"{kind} {name}: not in the table of doc/SECURITY.md; what does --redact do to it?")
print("tables:", len(tables) > 20, "facts:", len(facts) > 60)
