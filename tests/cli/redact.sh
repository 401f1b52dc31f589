# What is hidden of a profile before it is passed on; the profile itself stays as it is.
. "$HERE/lib.sh"
mkdir -p home/mallory && cp "$VICTIMS/basic" home/mallory/billing
try tidemark record -q -o run.tmk home/mallory/billing 1 --password=hunter2 customers.csv
# What of it is in an output, for each of the words. A machine may be called "vm", and the folder of
# this test "x.lmVMk1", so the machine's name is a word of its own.
holds() {
    for word in hunter2 customers.csv mallory billing; do
        grep -qi -- "$word" out && printf '%s ' "$word"
    done
    grep -qiw -- "$(uname -n)" out && printf 'HOST '
    grep -qi victim_ out && printf 'victim_ '
    echo
}
for level in no secrets places names; do
    echo "== $level"
    try tidemark export --to jsonl --redact=$level -o - run.tmk
    cat err
    for format in perfetto folded callgrind speedscope csv; do
        tidemark export --to $format --redact=$level -o - run.tmk 2>/dev/null
    done >out
    tidemark export --to pprof --redact=$level -o - run.tmk 2>/dev/null | gzip -dc | strings >>out
    holds
    rm -f run.html
    try tidemark html --no-sources --redact=$level run.tmk
    cat err
    python3 - >out <<'P'
import base64, gzip, re
for text in re.findall(r"[A-Za-z0-9+/]{24,}={0,2}", open("run.html").read()):
    if text.startswith("H4sI"):
        data = gzip.decompress(base64.b64decode(text)).decode(errors="replace")
        if data.startswith(("{", "[")):  # the rest is the page's own script
            print(data)
P
    holds
done
echo "== sums stay, hashes are the same for one salt"
for level in no names; do
    tidemark export --to folded --redact=$level -o $level.folded run.tmk 2>/dev/null
    awk '{ sum += $NF } END { print sum > 0 }' $level.folded
    awk '{ sum += $NF } END { print sum }' $level.folded >$level.sum
done
cmp no.sum names.sum && echo "same sum"
for salt in a a b; do
    tidemark export --to folded --redact=names --redact-salt=$salt -o - run.tmk 2>/dev/null | md5sum
done >sums
sed -n 1p sums >first && sed -n 2p sums | cmp - first && echo "same hashes"
sed -n 3p sums | cmp -s - first || echo "others"
echo "== the profile itself is untouched; a database cannot be"
tidemark query run.tmk "SELECT value LIKE '%hunter2%' FROM meta WHERE key = 'command'" -f csv | tr -d '\r'
try tidemark export --to sqlite --redact=names -o run.db run.tmk
sentence redact
echo "== a job's figures"
for level in no secrets places names; do
    tidemark job --redact=$level run.tmk 2>/dev/null >out
    tidemark job --json --redact=$level run.tmk 2>err >>out
    echo "$level: $(holds)$(cat err)"
done
try tidemark job -o job.tmk --redact=names run.tmk
sentence "has everything"
echo "== what is made to be passed on without"
printf '[program]\npeak = 0\nallocations = 0\n' >none.toml
for format in text json junit sarif github; do
    tidemark check -b none.toml -f $format run.tmk 2>&1
done >out
holds
for ending in svg txt gp; do
    tidemark plot -o plot.$ending run.tmk 2>/dev/null
done
cat plot.* >out
holds
