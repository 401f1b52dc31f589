#!/bin/bash
# other.sh [NAME…|unseen]: whose resident memory nobody can name. Runs the workloads of run.sh that are
# installed and thirty programs beside (or the workloads that are named, or "unseen" alone), each under
# record. Prints of each program what was resident at its look with most (without the recorder), and of that:
# what has the owner "other"; what came or went while the look was taken; what has a kind and no name (a
# mapping that nobody saw mapped, variables without a symbol). Last line: how many have more than 0.5 % "other".
set -u
here=$(cd "$(dirname "$0")" && pwd)
export SOURCE=${SOURCE:-$(cd "$here/../.." && pwd)}
export BUILD=${BUILD:-$SOURCE/build/release/tests/real}
export OTHER_TIDEMARK=${TIDEMARK:-$SOURCE/build/release/bin/tidemark}
OTHER_WORK=$(mktemp -d)
export OTHER_WORK OTHER_ROWS=$OTHER_WORK/rows
trap 'rm -rf "$OTHER_WORK"' EXIT
: >"$OTHER_ROWS"

# A tidemark that adds a row for each profile that its recording has left.
mkdir "$OTHER_WORK/bin"
cat >"$OTHER_WORK/bin/tidemark" <<'T'
#!/bin/bash
mark=$(mktemp -p "$OTHER_WORK")
"$OTHER_TIDEMARK" "$@"
status=$?
[ "${1:-}" = record ] || exit $status
row() {
    "$OTHER_TIDEMARK" report --json "$1" 2>/dev/null | jq -r 'select(.owners) |
        def sum(f): [.owners[] | select(f).resident_bytes // 0] | add // 0;
        [.meta.program, .resident_bytes - sum(.kind == "tool"),
         sum(.kind == "other" and .name != "changed during the look"),
         sum(.name == "changed during the look"),
         sum(.name == "not seen when it was mapped" or (.name // "" | startswith("(unnamed")))] | @tsv' >>"$OTHER_ROWS"
}
find . -maxdepth 2 -name '*.tmk' -newer "$mark" 2>/dev/null | while read -r file; do
    case $file in
    *.session.tmk)
        "$OTHER_TIDEMARK" report --json "$file" 2>/dev/null | jq -r '.profiles[] | select(.row).profile' | head -20 |
            while read -r one; do row "$one"; done ;;
    *) row "$file" ;;
    esac
done
exit $status
T
chmod +x "$OTHER_WORK/bin/tidemark"

# Programs that no other test names, with something to do.
unseen() {
    cd "$OTHER_WORK" || exit 1
    seq 1 200000 | awk '{ print $1 * 7919 % 100003, "word" $1 % 977 }' >text
    while read -r program rest; do
        command -v "$program" >/dev/null || continue
        rm -f unseen.tmk
        # shellcheck disable=SC2086
        timeout 600 "$OTHER_WORK/bin/tidemark" record -q --no-follow -o unseen.tmk "$program" $rest <text >/dev/null 2>&1
    done <<'P'
tsort text
comm text text
nl text
pr text
fold -w 7 text
csplit -s text 1000 2000
split -l 50000 text part
ptx text
uniq -c text
join text text
paste text text
base64 text
od -c text
cksum text
b2sum text
look word1 text
column -t text
hexdump -C text
rev text
infocmp -1
gencat out text
localedef --list-archive
ldconfig -p
pldd 1
lsblk
findmnt
lscpu
ps aux
dpkg-query -l
apt-cache dumpavail
P
}

if [ "$*" != unseen ]; then
    TIDEMARK=$OTHER_WORK/bin/tidemark "$here/run.sh" "$@" | tail -1
fi
case $# in 0) unseen ;; 1) [ "$1" != unseen ] || unseen ;; esac
awk -F'\t' '
    { resident[$1] += $2; other[$1] += $3; changed[$1] += $4; nameless[$1] += $5; looks[$1]++; all += $2; rest += $3; gone += $4 }
    END {
        for (name in resident)
            printf "%7.3f %% other %7.3f %% changed %7.3f %% nameless %10.2f MiB in %d looks  %s\n", resident[name] ? 100 * other[name] / resident[name] : 0,
                resident[name] ? 100 * changed[name] / resident[name] : 0,
                resident[name] ? 100 * nameless[name] / resident[name] : 0, resident[name] / 1048576, looks[name], name
    }' "$OTHER_ROWS" | sort -rn
awk -F'\t' '
    { resident[$1] += $2; other[$1] += $3; all += $2; rest += $3; gone += $4 }
    END {
        for (name in resident) {
            programs++
            above += other[name] > resident[name] / 200
        }
        printf "%d programs, %.1f MiB: %.3f %% other, %.3f %% changed; %d above 0.5 %%\n", programs, all / 1048576,
            all ? 100 * rest / all : 0, all ? 100 * gone / all : 0, above
    }' "$OTHER_ROWS"
