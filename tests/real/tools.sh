#!/bin/bash
# git, curl, apt-get, gdb, cmake, ps, sqlite3, tar: what people run every day.
. "$(dirname "$0")/lib.sh"

ran=0
have() { command -v "$1" >/dev/null && ran=$((ran + 1)); }
cd "$work" || exit 1
if have git; then
    export HOME=$work GIT_AUTHOR_DATE='2000-01-01T00:00:00Z' GIT_COMMITTER_DATE='2000-01-01T00:00:00Z'
    export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@t GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@t
    git init -q repository && cd repository && cp "$SOURCE"/tests/victims/*.c . && git add . && git commit -qm one
    echo more >>basic.c && git commit -qam two
    same log git --no-pager log -p --stat
    same grep git --no-pager grep -n malloc
    same gc git fsck --full
    cd ..
fi
if have curl; then
    seq 1 50000 >numbers
    same curl curl -s "file://$work/numbers"
    same curl_fails curl -s "file://$work/none"
fi
have apt-get && same apt apt-get --version
have apt-cache && same apt-cache apt-cache --version
have gdb && same gdb gdb --batch -nx -ex 'print 6 * 7' -ex 'info functions victim_small' "$BUILD/../victims/basic"
if have cmake; then
    same cmake_version cmake --version
    same cmake cmake -E sha256sum "$SOURCE/examples/heavy.cpp"
    printf 'foreach(i RANGE 2000)\n list(APPEND l "x${i}")\nendforeach()\nlist(LENGTH l n)\nmessage("${n}")\n' >script.cmake
    same cmake_script cmake -P script.cmake
fi
have ps && same ps ps -o comm= -p 1
have sqlite3 && same sqlite3 sqlite3 :memory: 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) SELECT sum(length(hex(i))) FROM n GROUP BY i % 7'
have tar && { tar cf archive.tar -C "$SOURCE" src; same tar tar tvf archive.tar; }
have bash && same bash bash -c 'for i in {1..500}; do a[$i]=$(printf %05d $i); done; echo ${a[499]} | tr 0 o'
[ $ran -gt 0 ] || skip "none of them is installed"
echo "$ran of them are installed"
exit $failed
