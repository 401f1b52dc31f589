#!/bin/sh
# demo.sh TIDEMARK: profiles a real compiler on a template-heavy file and shows where its memory went.
set -eu
tidemark=$1
out=build/demo
rm -rf "$out"
mkdir -p "$out"

echo "\$ tidemark record -q -o 'build/demo/%n.tmk' g++ -std=c++17 -O2 -c examples/heavy.cpp"
"$tidemark" record -q -o "$out/%n.tmk" g++ -std=c++17 -O2 -c examples/heavy.cpp -o "$out/heavy.o"
echo
# g++ only starts the compiler proper, which is a process of its own: cc1plus.
echo "\$ tidemark report build/demo/cc1plus.tmk"
PAGER="cat" "$tidemark" report "$out/cc1plus.tmk"
echo
echo "The profile is an SQLite database once unpacked (doc/FORMAT-profile.md):"
echo "  $tidemark unpack $out/cc1plus.tmk cc1plus.db && sqlite3 cc1plus.db 'SELECT * FROM top_functions LIMIT 10'"
echo "Your own program:"
echo "  $tidemark record ./program"
[ -f web/dist/index.html ] ||
    echo "The web view (tidemark serve) is a plain page so far: make build installs npm, and builds it."
