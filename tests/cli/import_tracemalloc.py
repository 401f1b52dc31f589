"""Snapshots of tracemalloc while work of the standard library is under way, and whether Tidemark says
of each line, call path and file what tracemalloc's own statistics say.

    import_tracemalloc.py take FRAMES WORK OLD NEW     two snapshots, and OLD.json, NEW.json of their figures
    import_tracemalloc.py compare OLD NEW              with OLD.tmk and NEW.tmk
"""

import json
import os
import subprocess
import sys
import tracemalloc


def work_json():
    text = json.dumps([{"id": i, "name": str(i), "of": [i] * (i % 7)} for i in range(3000)])
    return json.loads(text), text


def work_ast():
    import ast
    import inspect
    import argparse

    tree = ast.parse(inspect.getsource(argparse))
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)], ast.dump(tree)


def work_xml():
    import xml.dom.minidom
    import xml.etree.ElementTree

    text = "<a>" + "<b c='1'>text</b>" * 800 + "</a>"
    return xml.dom.minidom.parseString(text), xml.etree.ElementTree.fromstring(text)


def work_email():
    import email.message
    import email.policy

    messages = []
    for i in range(100):
        message = email.message.EmailMessage(policy=email.policy.SMTP)
        message["Subject"] = f"order {i}"
        message.set_content("text\n" * 20)
        message.add_attachment(bytes(300), maintype="application", subtype="octet-stream")
        messages.append(message)
    return messages, [message.as_bytes() for message in messages]


def work_sqlite():
    import decimal
    import fractions
    import sqlite3

    base = sqlite3.connect(":memory:")
    base.execute("create table a(b, c)")
    base.executemany("insert into a values (?, ?)", ((i, "x" * (i % 40)) for i in range(2000)))
    return base.execute("select * from a").fetchall(), [decimal.Decimal(i) for i in range(500)], [fractions.Fraction(i, 7) for i in range(500)]


def work_deep():
    def below(depth):
        return [bytearray(depth), below(depth - 1)] if depth else []

    code = compile("kept = [str(i) * 3 for i in range(500)]\n", "a file of\tits own (1).py", "exec")
    names = {}
    exec(code, names)
    exec(compile("kept = [{} for i in range(300)]\n", "<string>", "exec"), names)
    return below(60), names


def statistics(snapshot):
    def rows(found):
        turn = -1 if sys.version_info >= (3, 7) else 1  # the latest call first
        return [[[[frame.filename, frame.lineno] for frame in row.traceback][::turn], row.size, row.count] for row in found]

    return {kind: rows(snapshot.statistics(kind)) for kind in ("lineno", "traceback", "filename")}


def changes(new, old):
    return [[row.traceback[0].filename, row.traceback[0].lineno, row.size_diff, row.size] for row in new.compare_to(old, "lineno")]


def take(frames, work, old_name, new_name):
    tracemalloc.start(int(frames))
    kept = [globals()["work_" + work]()[0]]
    old = tracemalloc.take_snapshot()
    kept = [globals()["work_" + work](), kept[0][:1] if isinstance(kept[0], list) else None]
    new = tracemalloc.take_snapshot()
    old.dump(old_name)
    new.dump(new_name)
    tracemalloc.stop()
    for snapshot, name, more in (old, old_name, []), (new, new_name, changes(new, old)):
        with open(name + ".json", "w") as file:
            json.dump({**statistics(snapshot), "changes": more}, file)


def tidemark(*arguments):
    return json.loads(subprocess.run(["tidemark", *arguments], check=True, capture_output=True).stdout)


def place(filename, lineno):
    """tracemalloc's mark for "no Python" is no call path."""
    return None if (filename, lineno) == ("<unknown>", 0) else (filename, lineno)


def differ(what, ours, theirs):
    wrong = [key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key)]
    for key in wrong[:3]:
        print(f"{what} {key}: tidemark {ours.get(key)}, tracemalloc {theirs.get(key)}")
    return not wrong


def paths_of(name):
    """By its frames, the latest call first: bytes and blocks, as SQL has them."""
    rows = tidemark("query", "--json", name + ".tmk", PATHS)
    frames, sites = {0: ()}, {}
    for row in rows:
        own = [(row["file"], row["line"])] if row["file"] is not None else []
        frames[row["id"]] = (*own, *frames[row["parent"]]) if row["id"] else ()
        if row["live_count"] is not None:
            sites[frames[row["id"]]] = (row["live_bytes"], row["live_count"])
    return sites


def add(into, key, row):
    before = into.get(key, (0, 0))
    into[key] = (before[0] + row[0], before[1] + row[1])


def compare_one(name):
    with open(name + ".json") as file:
        theirs = json.load(file)
    paths, lines, files = paths_of(name), {}, {}
    for path, row in paths.items():
        add(lines, path[0] if path else None, row)
        add(files, path[0][0] if path else "<unknown>", row)
    expected = {}
    for frames, size, count in theirs["traceback"]:
        key = tuple((file, line) for file, line in frames)
        add(expected, () if key == (("<unknown>", 0),) else key, (size, count))
    good = differ("path", paths, expected)
    good &= differ("line", lines, {place(*frames[0]): (size, count) for frames, size, count in theirs["lineno"]})
    good &= differ("file", files, {frames[0][0]: (size, count) for frames, size, count in theirs["filename"]})
    return good, len(lines), len(paths)


PATHS = (
    "select path.id, path.parent, location_name.file, location_name.line, site.live_bytes, site.live_count"
    " from path left join location_name using (location) left join site on site.path = path.id order by path.id"
)


def line_of(row):
    """Of a row of diff: which line it is. What has no call path has no file."""
    if row["file"] is None:
        return None
    name, _, line = row["function"].rpartition(":")
    return (row["file"], int(line)) if name else (row["file"], 0)


def compare(old, new):
    good = True
    for name in old, new:
        fine, lines, paths = compare_one(name)
        good &= fine
        print(f"{lines} lines and {paths} call paths of {name} are those of tracemalloc" if fine else f"{name} differs")
    with open(new + ".json") as file:
        changes = json.load(file)["changes"]
    expected = {place(file, line): (diff, size) for file, line, diff, size in changes if diff}
    document = tidemark("diff", "--json", "--no-hide-std", old + ".tmk", new + ".tmk")
    ours = {line_of(row): (row["difference"], row["after"]) for row in document["functions"] if row["difference"]}
    print(f"{len(ours)} lines changed as compare_to() says" if differ("change", ours, expected) else "changes differ")


if __name__ == "__main__":
    {"take": take, "compare": compare}[sys.argv[1]](*sys.argv[2:])
