#!/bin/sh
# bfm/ is a project of its own: a copy of the folder, with nothing beside it, is configured and built,
# its libbfm.so serves a program, and its bench measures it.
cmake=$1 source=$2 compiler=$3
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cp -r "$source" "$folder/bfm" || exit 1
"$cmake" -S "$folder/bfm" -B "$folder/build" -DBUILD_TESTING=OFF -DCMAKE_C_COMPILER="$compiler" >"$folder/said" 2>&1 &&
    "$cmake" --build "$folder/build" -j2 >>"$folder/said" 2>&1 || { cat "$folder/said"; exit 1; }
[ -f "$folder/build/lib/libbfm.a" ] || { echo "no libbfm.a"; exit 1; }
said=$(LD_PRELOAD=$folder/build/lib/libbfm.so sort "$folder/bfm/README.md" 2>&1 | wc -l)
[ "$said" = "$(wc -l <"$folder/bfm/README.md")" ] || { echo "sort with libbfm.so: $said lines"; exit 1; }

command -v python3 >/dev/null || { echo "without the bench: no python3"; exit 0; }
BIN=$folder/build CC=$compiler sh "$folder/bfm/bench/alloc.sh" --quick --bytes=1000000 --only='^fifo:13$' \
    --parts=patterns,programs >"$folder/said" 2>&1 || { cat "$folder/said"; exit 1; }
grep -q '^fifo:13 .*1\.00 ' "$folder/said" && grep -q '^ .*glibc.*bfm' "$folder/said" || { cat "$folder/said"; exit 1; }
