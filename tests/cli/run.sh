#!/bin/sh
# run.sh NAME: runs NAME.sh in a fresh directory, with `tidemark` in PATH, and compares what it
# prints with NAME.out. A script that cannot run here says why ("skip: …") and ends with 77.
# VICTIMS is where the victim programs are, BIN where tidemark is.
set -u
here=$(cd "$(dirname "$0")" && pwd)
name=$1
# Beside other users' reach nothing works: setuid.sh drops its privileges.
work=$(mktemp -d "${TMPDIR:-/tmp}/tidemark-cli.XXXXXX")
# What a scenario leaves running listens by a collector's name, and others' scenarios ask it.
end() {
    find /proc/[0-9]*/cwd -maxdepth 0 -lname "$work*" 2>/dev/null | tr -cd '0-9\n' | xargs -r kill -KILL 2>/dev/null
    rm -rf "$work"
}
trap end EXIT
chmod 755 "$work"
mkdir "$work/run"

unset LD_PRELOAD TIDEMARK_OPTIONS TIDEMARK_SESSION
# No copies of debug files in the home of whoever runs the tests.
export LC_ALL=C.UTF-8 NO_COLOR=1 TIDEMARK_CONFIG= TIDEMARK_CACHE= HERE="$here" VICTIMS BIN
export PATH="$BIN:$PATH"
(cd "$work/run" && bash "$here/$name.sh") >"$work/out" 2>&1
status=$?
if [ $status = 77 ]; then
    cat "$work/out"
    exit 77
fi
diff -u "$here/$name.out" "$work/out" && [ $status = 0 ]
