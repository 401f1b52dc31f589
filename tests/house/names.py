#!/usr/bin/env python3
"""Names say whose they are, so that a backtrace or a profile of Tidemark reads by itself.

    names.py SOURCE BUILD      one line for each fault; status 1 if there is one

Of src/, bfm/src/ and bfm/bench/:

- A static function begins with a word of its file's name, or with its room's: look_take_pages() in proc_look.c,
  report_add() in report_text_heat.c. The last word of a room or file may be in the singular: call_sites.c has
  call_site_add(). SHORT lists what stands for a room instead.
- So does a variable of a file in src/ that is not constant. In BFM functions have the names that it would need.
- No two files of src/, nor of bfm/src/, have a static function of one name.
- Any other function begins with a word of the name of a file or a structure of its room, since its header need not
  be its file's, or has a name that is not ours to choose: what an export map lists (the functions that we stand in
  for, and the ABI).
- A tag of a structure, union or enumeration has one meaning in all of src/, and one in all of bfm/: two files
  that define one are a fault.

names.txt lists the exceptions, with a reason each; one that no name needs is a fault too."""
import collections
import fnmatch
import glob
import os
import re
import sys

from unused import exported

COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)
MACRO = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
# A definition begins in the first column, and its body's brace stands alone in the first column of a later line.
ATTRIBUTE = re.compile(r"__attribute__\(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\)[ ]?|\b__always_inline\b|\bElfW\(\w+\)")
FUNCTION = re.compile(r"^(?![#}\s])(?P<head>[^;{}=]*?)\b(?P<name>[a-z_]\w*)\s*\((?P<rest>[^;{}]*)\)[^;{}()=]*\n\{", re.M)
TAG = re.compile(r"^(?:typedef |static )?(?:const )?(struct|union|enum) (\w+)(?: __attribute__\(\([^{;]*\)\))? \{", re.M)
VARIABLE = re.compile(r"^static (?!const\b|inline\b)(?P<type>[^;={}()]*?)\b(?P<name>[a-z_]\w*)(?:\[[^\]]*\])*(?: =|;|,)", re.M)
OF_A_STRUCTURE = re.compile(r"^static (?:struct|union)[^;={}()]*\{.*?^\}[^;=\n]*?\b([a-z_]\w*)(?:\[[^\]]*\])*(?: =|;)", re.M | re.S)
CONSTANT = re.compile(r"\bconst\b[^*]*$")
PARTS = ("src", "bfm/src", "bfm/bench")
SHORT = {"commands": "cmd", "counters": "count", "alloc_driver": "driver", "bench": "bench", "alloc": "bench"}


def sources(root):
    for part in PARTS:
        for path in sorted(glob.glob(os.path.join(root, part, "**"), recursive=True)):
            if path.endswith((".c", ".h")):
                yield os.path.relpath(path, root)


def text_of(root, path):
    text = open(os.path.join(root, path), encoding="utf-8").read()
    return ATTRIBUTE.sub("", MACRO.sub("", COMMENT.sub("", text)))


def singular(word):
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith("ss"):
        return word
    return word[:-3] + "y" if word.endswith("ies") else word[:-1] if word.endswith("s") else word


def words(name):
    return {singular(word) for word in name.split("_")}


def stem(path):
    return os.path.basename(path).rsplit(".", 1)[0]


def beginnings(path):
    """With what a static function of the file may begin."""
    room = "bfm" if path.startswith("bfm/src/") else path.split("/")[-2]
    return words(stem(path)) | {singular(room.split("_")[0]), SHORT.get(room, room)}


def first_word(name):
    return singular(name.split("_")[0])


def functions(text):
    for found in FUNCTION.finditer(text):
        yield found["name"], re.search(r"\bstatic\b", found["head"]) is not None


def variables(text):
    for found in VARIABLE.finditer(text):
        if not CONSTANT.search(found["type"]):
            yield found["name"]
    yield from OF_A_STRUCTURE.findall(text)


def read_exceptions(root):
    found = {}
    for line in open(os.path.join(root, "tests/house/names.txt"), encoding="utf-8"):
        if line.strip() and not line.startswith("#"):
            found[line.split()[0]] = False
    return found


def main(root, build):
    faults, tags, statics = [], collections.defaultdict(set), collections.defaultdict(set)
    texts = {path: text_of(root, path) for path in sources(root)}
    of_room = collections.defaultdict(set)
    for path in texts:
        of_room[os.path.dirname(path)] |= beginnings(path)
        for _, tag in TAG.findall(texts[path]):
            of_room[os.path.dirname(path)] |= words(tag)
    given = list(exported(root, build))
    exceptions = read_exceptions(root)

    def excepted(name):
        for pattern in exceptions:
            if fnmatch.fnmatchcase(name, pattern):
                exceptions[pattern] = True
                return True
        return False

    counted = counted_variables = 0
    for path, text in texts.items():
        for name, is_static in functions(text):
            counted += 1
            is_local = is_static and path.endswith(".c")
            if is_local:
                statics[path.split("/")[0], name].add(path)
            may = beginnings(path) if is_local else of_room[os.path.dirname(path)]
            if not is_local and any(fnmatch.fnmatchcase(name, pattern) for pattern in given):
                continue
            if first_word(name) not in may and not excepted(name):
                faults.append(f"{path}: {'static ' if is_local else ''}{name}() does not say whose it is: it begins with "
                              f"no word of {stem(path)}, nor with its room's")
        for name in variables(text) if path.startswith("src/") and path.endswith(".c") else []:
            counted_variables += 1
            if first_word(name) not in beginnings(path) and not excepted(name):
                faults.append(f"{path}: the variable {name} does not say whose it is")
        for kind, tag in TAG.findall(text):
            tags[path.split("/")[0], tag].add(path)
    for (_, tag), paths in sorted(tags.items()):
        if len(paths) > 1 and not excepted(tag):
            faults.append(f"{tag}: one name for several things, in {', '.join(sorted(paths))}")
    for (_, name), paths in sorted(statics.items()):
        if len(paths) > 1:
            faults.append(f"{name}(): one name for several static functions, in {', '.join(sorted(paths))}")
    faults += [f"names.txt: {pattern} is not needed" for pattern, is_used in exceptions.items() if not is_used]
    if counted < 5000 or counted_variables < 100:
        faults.append(f"names.py sees {counted} functions and {counted_variables} variables only")
    print("\n".join(faults) or f"{counted} functions, {counted_variables} variables, {len(tags)} tags")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
