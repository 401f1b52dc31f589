# The claims of doc/SECURITY.md that no other scenario shows, tried as somebody would who means harm.
. "$HERE/lib.sh"
command -v python3 >/dev/null || skip "no python3"
umask 0

echo "== what is recorded is for its user alone, whatever the umask"
tidemark record -q --trace -o run.tmk "$VICTIMS/basic" 1 >/dev/null
(tidemark record -q -o slow.tmk sh -c 'touch began; while [ ! -e looked ]; do sleep 0.05; done') &
until_true test -e slow.tmk-shm && stat -c '%a %n' slow.tmk slow.tmk-wal slow.tmk-shm
touch looked && wait
PMI_SIZE=1 PMI_RANK=0 tidemark record -q --separate --job=job "$VICTIMS/basic" 1 >/dev/null 2>&1
PMI_SIZE=1 PMI_RANK=0 tidemark record -q --job=node "$VICTIMS/basic" 1 >/dev/null 2>&1
tidemark unpack run.tmk run.db
tidemark replay -q -o again.tmk run.tmt 2>/dev/null
stat -c '%a %n' run.tmk run.tmt run.db again.tmk
stat -c %a job/*/*.tmk job/*/*.entry node/*/node.*

echo "== a symbolic link where a file is to be written: what it leads to stays as it is"
echo precious >target
for name in run.tmk run.tmk-wal run.tmk-shm run.tmt run.tmk.old run.tmk.copy; do
    rm -f run.tmk* run.tmt*
    ln -s target $name
    tidemark record -q --trace -o run.tmk "$VICTIMS/basic" 1 >/dev/null 2>&1
    echo "$name $(cat target)"
done
rm -f run.tmk* run.tmt* && tidemark record -q --trace -o run.tmk "$VICTIMS/basic" 1 >/dev/null
for leads in target nowhere; do
    for command in "export --to csv run.tmk -o" "html run.tmk -o" "plot run.tmk -o" "unpack run.tmk" \
        "replay run.tmt -q -o" "export --force --to csv run.tmk -o" "count -q -o" "check run.tmk -B run.tmk --junit"; do
        ln -s $leads made.svg
        case $command in
        count*) tidemark count -o made.svg "$VICTIMS/basic" 1 >/dev/null 2>&1 ;;
        *) tidemark $command made.svg >/dev/null 2>&1 ;;
        esac
        [ ! -e nowhere ] && [ "$(cat target)" = precious ] || echo "$command wrote through a link"
        rm -f made.svg*
    done
done
echo "done"

echo "== names that would drive a terminal, a shell, a browser or a spreadsheet"
"$MAKE_PROFILE" hostile hostile.tmk
plain() {
    python3 -c '
import sys, unicodedata
text = open(sys.argv[1], "rb").read().decode()
bad = {hex(ord(c)) for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")}
print(sys.argv[2], "plain" if not bad and len(text) > 50 else f"{len(text)} {bad}")' "$1" "$2"
}
printf '[program]\npeak = 0\nallocations = 0\n' >none.toml
for command in "report" "report --show=all -n 100" "report --tree" "insight" "annotate" "diff hostile.tmk" "check -b none.toml" \
    "check -f github -b none.toml" "top --plain -n 1" "job"; do
    tidemark $command hostile.tmk >out 2>err
    plain out "$command"
done
tidemark query hostile.tmk 'SELECT name FROM function' >out
plain out query
for format in folded callgrind massif openmetrics csv dot; do
    tidemark export --to $format hostile.tmk -o - >out 2>err
    plain out $format
done
tidemark export --to csv hostile.tmk -o - | grep -c '^"'"'"'=HYPERLINK'
if command -v dot >/dev/null && command -v xmllint >/dev/null; then
    tidemark export --to svg hostile.tmk -o hostile.svg 2>err
    xmllint --noout hostile.svg && xmllint --xpath 'count(//*[local-name()="script"] | //@onload | //@onerror)' hostile.svg
else
    echo 0
fi

echo "== no shell sees a name"
name='x`touch pwned`$(touch pwned);touch pwned;'"'"'|touch pwned'
cp "$VICTIMS/basic" "$name"
tidemark record -q --trace -o "$name.tmk" "./$name" 1 '$(touch pwned)' >/dev/null
for command in report insight annotate plot; do tidemark $command "$name.tmk" >/dev/null 2>&1; done
for format in svg dot callgrind; do tidemark export --to $format "$name.tmk" -o "$name.$format" 2>/dev/null; done
for format in svg gp png; do tidemark plot "$name.tmk" -o "$name.plot.$format" 2>/dev/null; done
! command -v gnuplot >/dev/null || gnuplot "./$name.plot.gp" >/dev/null 2>&1
tidemark doctor "./$name" >/dev/null 2>&1
tidemark query "$name.tmk" "SELECT 1" >/dev/null
ls | grep -c '^pwned'

echo "== a profile of a stranger's does not fetch other files"
for file in id_rsa source.c; do
    echo "my secret" >$file && touch -d '2001-01-01' $file
    rm -f stranger.db && tidemark unpack hostile.tmk stranger.db
    sqlite3 stranger.db "UPDATE file SET path = '$PWD/$file'; UPDATE location_frame SET line = 1"
    tidemark html --force -o stranger.html stranger.db 2>/dev/null
    python3 - <<'P'
import base64, gzip, re
found = [gzip.decompress(base64.b64decode(text)) for text in re.findall(r"[A-Za-z0-9+/]{24,}={0,2}", open("stranger.html").read()) if text.startswith("H4sI")]
print("texts" if found else "no text", "with the secret" if any(b"my secret" in text for text in found) else "without the secret")
P
done

echo "== a program that writes noise into the memory it shares with the collector harms its own profile only"
for kind in any head any head any head; do
    seed=$RANDOM
    rm -f noise.tmk*
    sh -c 'tidemark record -q -o noise.tmk python3 "$HERE/scribble.py" "$@"; echo $? >status' sh $kind $seed >/dev/null 2>err
    tidemark report noise.tmk >out 2>&1 && [ "$(cat status)" = 137 ] || { echo "seed $kind $seed: $(cat status)"; head -3 out err; }
done
echo "done"
