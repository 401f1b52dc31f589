#!/bin/bash
# insight.sh PROGRAM SOURCE INSIGHT TITLE: records PROGRAM and asks for insights. One of
# id INSIGHT, whose title matches TITLE, must have the line of SOURCE that is marked "guilty" as the
# innermost frame of its first path. TIDEMARK names the command.
set -u
export LC_ALL=C.UTF-8
unset LD_PRELOAD TIDEMARK_OPTIONS TIDEMARK_SESSION
command -v python3 >/dev/null || { echo "skip: python3 is not installed"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/tidemark-examples.XXXXXX")
trap 'rm -rf "$work"' EXIT

guilty=$(grep -nE '(/\*|!) guilty' "$2" | cut -d: -f1)
"$TIDEMARK" record -q -o "$work/run.tmk" "$1" >/dev/null || exit 1
"$TIDEMARK" insight --json "$work/run.tmk" >"$work/insight.json" || exit 1
"$TIDEMARK" insight "$work/run.tmk"
python3 - "$work/insight.json" "$(basename "$2")" "$guilty" "$3" "$4" <<'EOF'
import json, os, re, sys
path, source, guilty, wanted, title = sys.argv[1:]
answer = json.load(open(path))
found = [i for i in answer["insights"] if i["id"] == wanted and re.search(title, i["title"])]
if not found:
    sys.exit(f"no {wanted} with a title like '{title}'")
frame = found[0]["paths"][0]["frames"][0]
place = (os.path.basename(frame["file"] or "?"), frame["line"])
if place != (source, int(guilty)):
    sys.exit(f"{wanted} names {place}, and the guilty line is {source}:{guilty}")
EOF
