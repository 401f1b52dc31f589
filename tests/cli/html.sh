# A profile as one file.
. "$HERE/lib.sh"

tidemark record -q -o run.tmk "$VICTIMS/basic" >/dev/null 2>&1
try tidemark html run.tmk
grep -c 'wrote run.html' err
sed -n 's/^\/.*\/\(.*\)$/it has the text of \1/p' err # what goes in of this machine's files is listed
grep -c 'data-tidemark="file"' run.html
grep -c 'data-name="p/0/summary"' run.html
grep -cE '(src|href)="app\.' run.html
block() { sed -n "s,.*data-name=\"$1\" data-type=\"json\">\([^<]*\)<.*,\1,p" "$2" | base64 -d | gzip -dc; }
tidemark report --json run.tmk | jq -S .program >wanted
block p/0/summary run.html | jq -S .program | cmp - wanted && echo "the report's figures"
block profiles run.html | jq -c '.profiles[0] | [.name, .file]'

# Nothing is overwritten unless that is asked for, and nothing is left behind.
try tidemark html run.tmk
sentence 'will not replace run.html: choose another name with -o, or --force'
try tidemark html --force run.tmk
tidemark html -o - run.tmk 2>/dev/null | cmp - run.html && echo "the same on stdout"
try tidemark html -o two.html run.tmk run.tmk
grep -c 'data-name="p/1/summary"' two.html
try tidemark html -o none.html nothing.tmk
sentence 'nothing.tmk'
try tidemark html -o missing/none.html run.tmk
sentence 'missing/none.html'
try tidemark html
sentence 'no profile given'
ls
umask 027
tidemark html -o mode.html run.tmk 2>/dev/null
stat -c %a mode.html

# The program's sources go along, but no other file that a profile names.
grep -cE 'data-name="p/0/source/[0-9]+"' run.html
tidemark html --no-sources -o bare.html run.tmk 2>/dev/null
grep -cE 'data-name="p/0/source/' bare.html || true
