#!/bin/bash
# run.sh [NAME…]: real programs of Debian's under record, each with a workload (NAME.sh) whose bare output
# and status are the oracle; and nothing may be lost. `make check-world` runs all of them; the ten of
# tests/real run in ctest. A workload is what tests/real/lib.sh offers (`same NAME COMMAND…`) and
# begins with a line "# PACKAGES: what it does". INSTALL=1 installs packages that are missing, by name;
# without it what is not there is skipped. TIDEMARK, BUILD and SOURCE as in tests/real.
set -u
here=$(cd "$(dirname "$0")" && pwd)
export SOURCE=${SOURCE:-$(cd "$here/../.." && pwd)}
export BUILD=${BUILD:-$SOURCE/build/release/tests/real}
export TIDEMARK=${TIDEMARK:-$SOURCE/build/release/bin/tidemark}

installed() {
    dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q '^install ok installed'
}

# One workload, in a process of its own.
if [ "${1:-}" = --one ]; then
    cd "$here" || exit 1
    . ../real/lib.sh
    cd "$work" || exit 1
    numbers() { awk -v n="$1" 'BEGIN { for (i = 1; i <= n; i++) print i * 7919 % 100003 }'; }
    # shellcheck disable=SC1090
    . "$here/$2.sh"
    exit $failed
fi

[ $# -gt 0 ] || set -- $(cd "$here" && ls ./*.sh | sed 's|^./||; s|\.sh$||' | grep -vxE 'run|other')
ran=0 skipped=0 wrong=0
for name in "$@"; do
    packages=$(sed -n '1s/^# \([^:]*\):.*/\1/p' "$here/$name.sh")
    missing=
    for package in $packages; do
        installed "$package" || missing="$missing $package"
    done
    if [ -n "$missing" ] && [ "${INSTALL:-}" = 1 ]; then
        # shellcheck disable=SC2086
        DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $missing >/dev/null 2>&1 && missing=
    fi
    if [ -n "$missing" ]; then
        printf '%-14s skipped: not installed:%s\n' "$name" "$missing"
        skipped=$((skipped + 1))
        continue
    fi
    said=$(bash "$here/run.sh" --one "$name" 2>&1)
    case $? in
    0) printf '%-14s well    %s\n' "$name" "$(sed -n '1s/^# [^:]*: //p' "$here/$name.sh")"; ran=$((ran + 1)) ;;
    77) printf '%-14s %s\n' "$name" "$(printf '%s' "$said" | tail -1 | sed 's/^skip/skipped/')"; skipped=$((skipped + 1)) ;;
    *) printf '%-14s WRONG\n%s\n' "$name" "$(printf '%s' "$said" | sed 's/^/    /')"; wrong=$((wrong + 1)) ;;
    esac
done
echo "$ran well, $skipped skipped, $wrong wrong"
[ $wrong = 0 ]
