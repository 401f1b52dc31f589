# -o patterns; an existing profile is kept as .old; the default name.
. "$HERE/lib.sh"

export STAGE=two
tidemark record -q -o 'p.%p.tmk' sh -c 'echo $$ >pid'
[ -f "p.$(cat pid).tmk" ] && echo "%p"
tidemark record -q -o 'h.%h.tmk' true
[ -f "h.$(uname -n).tmk" ] && echo "%h"
tidemark record -q -o '%n.tmk' true
[ -f true.tmk ] && echo "%n"
tidemark record -q -o 'q.%q{STAGE}.tmk' true
[ -f q.two.tmk ] && echo "%q"
tidemark record -q -o '100%%.tmk' true
[ -f 100%.tmk ] && echo "%%"
OMPI_COMM_WORLD_RANK=3 tidemark record -q -o 'rank%r.tmk' true
[ -f rank3.tmk ] && echo "%r"
rm -f ./*.tmk
tidemark record -q "$(command -v true)"
ls | sed 's/[0-9][0-9]*/N/'
rm -f ./*.tmk

tidemark record -q -o kept.tmk sh -c :
tidemark record -q -o kept.tmk true
query kept.tmk.old "SELECT value FROM meta WHERE key='program'"
query kept.tmk "SELECT count(*) FROM program"
mkdir "a directory"
tidemark record -q -o "a directory/a profile.tmk" true
ls "a directory"
# Relative to where the command was given, wherever the program goes.
mkdir elsewhere
tidemark record -q -o moved.tmk sh -c 'cd elsewhere; exec true'
ls moved*.tmk elsewhere | grep -c '^moved'

# The name is that of what the command becomes; what it was before goes beside, however late.
programs() {
    for file in "$@"; do
        echo "${file//[0-9]/} $(query "$file" "SELECT value FROM meta WHERE key='program'")"
    done
}
rm -f ./*.tmk
tidemark record -q -o became.tmk sh -c 'exec env true'
programs became*
tidemark record -q -o late.tmk sh -c 'until [ -e late.tmk ]; do :; done; exec true'
programs late*
tidemark record -q --trace -o traced.tmk sh -c 'exec true'
programs traced*.tmk
for trace in traced*.tmt; do
    echo "${trace//[0-9]/} $(tidemark at -j "$trace" peak | python3 -c 'import json, sys; print(json.load(sys.stdin)["command"])')"
done
tidemark record -q -o 'pid.%p.tmk' sh -c 'echo $$ >pid; exec true'
programs "pid.$(cat pid).tmk"
tidemark record -q -o kept.sh.tmk "$VICTIMS/basic" 1 >/dev/null
tidemark record -q -o kept.sh.tmk sh -c 'exec true'
query kept.sh.tmk.old "SELECT value FROM meta WHERE key='program'"
