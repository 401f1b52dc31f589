#!/bin/bash
# types.sh: what is said of types holds, and how much is said. C++ programs of Debian, stripped: a class
# that live blocks begin with is one that the program's files name (_ZTS strings), and no call path has
# two. Our own corpus, built with debug information and stripped: what is said of the stripped program
# is said of the other one as well.
. "$(dirname "$0")/lib.sh"
need jq
need strings
need strip

cd "$work" || exit 1
judge() { # NAME: of NAME.tmk, a line of shares
    "$TIDEMARK" report --json "$1.tmk" | jq -r --arg name "$1" '
        def share(typed; other): if typed + other > 0 then 100 * typed / (typed + other) | floor else 0 end;
        (.types | map(.metrics)) as $t | .untyped.metrics as $u |
        "\($name): typed of the bytes at the peak \(share($t | map(.at_peak_bytes) | add // 0; $u.at_peak_bytes)) %, of all bytes \(
        share($t | map(.alloc_bytes) | add // 0; $u.alloc_bytes)) %, of live blocks \(
        share($t | map(.live_count) | add // 0; $u.live_count)) % of \(.program.live_blocks // "-")"'
}

# Types of the first are those of the second: each with as many blocks there, or more.
within() { # STRIPPED DEBUG
    local wrong
    for each in "$1" "$2"; do
        "$TIDEMARK" report --json "$each.tmk" | jq -c '[.types[] | {key: .name, value: .metrics.alloc_count}] | from_entries' >"$each.types"
    done
    wrong=$(jq -r --slurpfile debug "$2.types" 'to_entries[] | select(.value > ($debug[0][.key] // 0)) | .key' "$1.types")
    [ -z "$wrong" ] || fail "$1: of no such type in $2: $wrong"
}

"$TIDEMARK" record -q --types -o debug.tmk "$VICTIMS/types"
strip -o stripped "$VICTIMS/types"
"$TIDEMARK" record -q --types -o stripped.tmk ./stripped
within stripped debug
judge debug
judge stripped

printf '#include <map>\n#include <string>\nint main() { std::map<int, std::string> m; return (int)m.size(); }\n' >x.cpp
seq 1 20000 >numbers
real() { # NAME COMMAND…
    local name=$1
    shift
    if ! command -v "$1" >/dev/null; then
        echo "$name: not installed"
        return
    fi
    timeout 600 "$TIDEMARK" record -q --types --separate -o "$name.tmk" -- "$@" >/dev/null 2>&1 </dev/null
    [ -s "$name.tmk" ] || fail "$name was not recorded"
    judge "$name"
    # Each class is a name of one of the files that were mapped.
    "$TIDEMARK" query -f csv "$name.tmk" "SELECT DISTINCT name FROM live_class" | tail -n +2 | tr -d '\r"' | sort >"$name.classes"
    "$TIDEMARK" query -f csv "$name.tmk" "SELECT path FROM module WHERE path LIKE '/%'" | tail -n +2 | tr -d '\r"' |
        while read -r file; do [ ! -r "$file" ] || strings -n 3 "$file"; done | sed 's/^\*//' | grep -E '^([NSZ]|[0-9])[A-Za-z0-9_.$]*$' |
        sort -u | sed 's/^/_ZTS/' | c++filt | sed -n 's/^typeinfo name for //p' | sort -u >"$name.names"
    comm -23 "$name.classes" "$name.names" >"$name.others"
    # An interpreter in it names its own types, and what its scripts make.
    if "$TIDEMARK" query -f csv "$name.tmk" "SELECT path FROM module" | grep -q '/libpython3'; then
        grep -vxE '(items|keys|tables|attributes|bytes|buffers) of [a-z]+' "$name.others" >"$name.python"
        sed 's/.*\.//' "$name.python" | sort -u >"$name.words"
        grep -arhowFf "$name.words" "$(command -v "$1")" /usr/lib/python3* /usr/share/gdb /usr/lib/x86_64-linux-gnu/libpython3* |
            sort -u | comm -23 "$name.words" - >"$name.unknown"
        mv "$name.unknown" "$name.others"
    fi
    [ ! -s "$name.others" ] || fail "$name has classes that no file names: $(head -3 "$name.others")"
}
real cmake cmake --help-full
real gdb gdb -batch -ex 'info line main' "$VICTIMS/types"
real cppcheck cppcheck --enable=all x.cpp
real astyle astyle --stdin=x.cpp
real aspell aspell dump modes
real groff groff -man -Tutf8 /dev/null
real apt apt-cache show bash
real gold ld.gold --help
real mkvmerge mkvmerge --list-types
real ninja ninja --version
real node node -e 'let a = []; for (let i = 0; i < 1e5; i++) a.push({i})'
real g++ g++ -O1 -c -o x.o x.cpp
exit $failed
