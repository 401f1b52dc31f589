# An output takes the place of an earlier one of its kind, and of no other file: not of a source file that
# -o named by a slip, and not of what the command reads.
. "$HERE/lib.sh"

echo 'int main(void) { return 0; }' >prog.c
cp prog.c sound
tidemark record -q --trace -o run.tmk "$VICTIMS/basic" 1 >/dev/null
cp run.tmk sound.tmk

# The command is refused, says one sentence, and the file is as it was.
refused() {
    local file=$1
    cp "$file" before
    shift
    try "$@"
    sentence "$file"
    cmp "$file" before
}

echo "--- before the program runs"
for times in once twice; do
    refused prog.c tidemark record -o prog.c touch ran
done
cp prog.c trace.tmt
refused trace.tmt tidemark record --trace -o trace.tmk touch ran
refused prog.c tidemark count -o prog.c touch ran
ls ran trace.tmk 2>/dev/null
echo "--- once the name is known"
cp prog.c true.tmk
cp prog.c true.tmt
tidemark record -o %n.tmk true 2>err
sentence "true.tmk"
tidemark record -q --trace -o '%n.%n.tmk' true && cp prog.c true.true.tmt
tidemark record --trace -o '%n.%n.tmk' true 2>said
grep true.true.tmt said >err
sentence "true.true.tmt"
cmp true.tmk prog.c && cmp true.true.tmt prog.c && echo "left alone"
echo "--- an empty file may go"
: >empty.tmk
tidemark record -q -o empty.tmk true && tidemark report --json empty.tmk | jq ".program != null"
echo "--- other commands"
refused prog.c tidemark replay -q -o prog.c run.tmt
refused prog.c tidemark import --force -o prog.c run.tmk
tidemark check run.tmk --budget budget.toml --update >/dev/null 2>&1
refused prog.c tidemark check run.tmk --budget budget.toml --junit prog.c
refused run.tmk tidemark check run.tmk --budget budget.toml --sarif run.tmk
refused run.tmk tidemark export --to csv --force -o run.tmk run.tmk
refused run.tmt tidemark export --to csv --force -o run.tmt run.tmk
refused run.tmk tidemark html --force -o run.tmk run.tmk
cp run.tmk profile.svg
refused profile.svg tidemark plot --force -o profile.svg profile.svg
refused profile.svg tidemark plot --force -o profile.svg run.tmk
printf '10 20\n20 30\n' >samples.txt
refused samples.txt tidemark plot --force -o samples.txt samples.txt
for times in once twice; do
    tidemark check run.tmk --budget budget.toml --junit tests.xml >/dev/null 2>&1 && tidemark export --to csv --force -o run.csv run.tmk 2>/dev/null
done
ls run.csv tests.xml tests.xml.old
echo "--- a job"
"$MAKE_JOB" jobs 4 >/dev/null
rank=$(ls jobs/*.tmk jobs/*/*.tmk 2>/dev/null | head -1)
refused prog.c tidemark job -o prog.c jobs
cp "$rank" sound.rank
try tidemark job -o "$rank" jobs
sentence "a profile of the job"
cmp "$rank" sound.rank
cmp prog.c sound && cmp run.tmk sound.tmk && ls ./*.c.old 2>/dev/null
true
