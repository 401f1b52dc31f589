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

echo first >kept.tmk
tidemark record -q -o kept.tmk true
cat kept.tmk.old
query kept.tmk "SELECT count(*) FROM program"
mkdir "a directory"
tidemark record -q -o "a directory/a profile.tmk" true
ls "a directory"
# Relative to where the command was given, wherever the program goes.
mkdir elsewhere
tidemark record -q -o moved.tmk sh -c 'cd elsewhere; exec true'
ls moved*.tmk elsewhere | grep -c '^moved'
