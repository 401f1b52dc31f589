#!/usr/bin/env python3
"""shares.py EXACT ESTIMATED [--over=PERCENT] [--within=PERCENT] [--metric=COLUMN]

Two unpacked profiles (tidemark unpack) of the same work: is what the second estimates of each call
path right? Compares the call paths that the first says hold at least --over percent of the peak (1)
and prints a table; ends with 1 if one of them is further off than --within percent (5). Paths are
the same if they lead through the same addresses of the same files."""
import sqlite3
import sys

PATHS = """
WITH RECURSIVE up(site, parent, key, depth) AS (
  SELECT site.path, path.parent, printf('%%s+%%x', module.path, location.address), 0
  FROM site JOIN path ON path.id = site.path JOIN location ON location.id = path.location
  LEFT JOIN module ON module.id = location.module WHERE site.%(metric)s > 0
  UNION ALL
  SELECT up.site, path.parent, up.key || ' ' || printf('%%s+%%x', module.path, location.address),
    up.depth + 1
  FROM up JOIN path ON path.id = up.parent JOIN location ON location.id = path.location
  LEFT JOIN module ON module.id = location.module WHERE up.depth < 200)
SELECT up.key, max(up.depth), site.%(metric)s, site.path
FROM up JOIN site ON site.path = up.site GROUP BY up.site
"""


# The innermost frames of a path, those that were inlined too.
NAMES = """
WITH RECURSIVE chain(id, n) AS (SELECT ?, 0
  UNION ALL SELECT path.parent, n + 1 FROM chain JOIN path ON path.id = chain.id WHERE n < 3)
SELECT function.name, location_frame.line FROM chain JOIN path ON path.id = chain.id
JOIN location_frame ON location_frame.location = path.location
JOIN function ON function.id = location_frame.function
ORDER BY chain.n, location_frame.depth LIMIT 3
"""


def name_of(database, path):
    frames = database.execute(NAMES, (path,)).fetchall()
    return " < ".join(f"{name}:{line}" for name, line in frames) or "?"


def paths_of(file, metric):
    database = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    found = {}
    for key, _, value, path in database.execute(PATHS % {"metric": metric}).fetchall():
        before = found.get(key)
        found[key] = (value + before[0], before[1]) if before else (value, name_of(database, path))
    return found


def option(name, usual):
    for argument in sys.argv[3:]:
        if argument.startswith(f"--{name}="):
            return argument.split("=", 1)[1]
    return usual


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    over, within = float(option("over", "1")), float(option("within", "5"))
    metric = option("metric", "at_peak_bytes")
    if not metric.isidentifier():
        sys.exit("shares.py: --metric wants the name of a column")
    exact, estimated = paths_of(sys.argv[1], metric), paths_of(sys.argv[2], metric)
    whole = sum(value for value, _ in exact.values())
    rows = sorted(((value, estimated.get(key, (0, ""))[0], name)
                   for key, (value, name) in exact.items() if value >= whole * over / 100),
                  reverse=True)
    if not rows:
        sys.exit("shares.py: no call path holds enough to compare")
    print("     exact  estimated   share   error  call path")
    worst = 0
    for value, about, name in rows:
        error = 100 * (about - value) / value
        worst = max(worst, abs(error))
        print(f"{value:10} {about:10} {100 * value / whole:6.1f}% {error:+6.2f}%  {name}")
    total = sum(value for value, _ in estimated.values())
    print(f"{whole:10} {total:10} {100.0:6.1f}% {100 * (total - whole) / whole:+6.2f}%  all")
    if worst > within:
        print(f"a call path is off by {worst:.1f} %, more than {within:g} %")
        return 1
    print(f"none is off by more than {within:g} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
