# What cannot be recorded is not started, with a sentence that says why.
. "$HERE/lib.sh"

try tidemark record no-such-program
sentence "no-such-program"
try tidemark record ./no-such-program
sentence "no-such-program"
mkdir directory
try tidemark record ./directory
sentence "directory"
echo 'echo ran' >plain
try tidemark record ./plain
sentence "plain"
printf '#!/no/such/interpreter -x\necho ran\n' >script
chmod +x script
try tidemark record ./script
sentence "/no/such/interpreter"
try tidemark record "$VICTIMS/../cli/cli_static"
sentence "static"
cat out
head -c 200 "$VICTIMS/basic" >broken
chmod +x broken
try tidemark record ./broken
sentence "broken"
for name in - -q; do
    try tidemark record -o $name "$VICTIMS/basic"
    sentence "file of that name"
done
echo "profiles: $(ls ./*.tmk ./-* 2>/dev/null)"
try tidemark record -q -o ./-q "$VICTIMS/basic"
ls ./-q

# What looks odd and works: a script, through any interpreter, also by env.
printf '#!/bin/sh\necho "script: $1"; exit 4\n' >script
try tidemark record -q -o s.tmk ./script "an argument"
cat out
printf '#!/usr/bin/env -S sh -e\necho "env: $1"; exit 5\n' >script
try tidemark record -q -o s.tmk ./script "an argument"
cat out

# Names that a shell would quote, and what is not for file names.
cp "$VICTIMS/basic" "a'b"
cp "$VICTIMS/basic" $'c\nd'
mkdir out.d
tidemark record -q -o out.d/%n.tmk "./a'b" >/dev/null
tidemark record -q -o out.d/%n.tmk $'./c\nd' >/dev/null
ls out.d
# A full disk is said, whatever is written.
for command in help version "record --help" "--dump-commands" "report s.tmk" "report --json s.tmk"; do
    tidemark $command >/dev/full 2>err
    echo "status $? $(grep -c 'cannot write: No space left' err)"
done
# A locale without UTF-8 gets none of it, but the unit of microseconds.
LC_ALL=C tidemark plot s.tmk | sed 's/µ//g' | LC_ALL=C grep -c '[^ -~]'
true
