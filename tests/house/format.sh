#!/bin/sh
# format.sh SOURCE: all C files are as .clang-format says. 77 where clang-format 14 is not there: other versions
# break lines elsewhere.
set -eu
cd "$1"
format=
for name in clang-format-14 clang-format; do
    if command -v $name >/dev/null && $name --version | grep -q 'version 14\.'; then
        format=$name
        break
    fi
done
[ -n "$format" ] || { echo "clang-format 14 is not here (tools/setup.sh test)"; exit 77; }
find src bfm include tests fuzz bench examples -name build -prune -o \( -name '*.c' -o -name '*.h' \) -print0 |
    xargs -0 -P2 -n 40 $format --dry-run -Werror
