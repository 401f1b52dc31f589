# DHAT's JSON, shown by valgrind's viewer in a browser.
. "$HERE/lib.sh"
viewer=/usr/libexec/valgrind/dh_view.html
web=$HERE/../../web
browser=$(command -v chromium-headless-shell || command -v chromium)

tidemark record -q -o run.tmk "$VICTIMS/basic" >/dev/null 2>&1
tidemark export --to dhat run.tmk 2>/dev/null
[ -e $viewer ] && [ -d "$web/node_modules/playwright-core" ] && [ -x "$browser" ] && command -v node >/dev/null ||
    skip "no dh_view, chromium or playwright"
ln -s "$(realpath "$web/node_modules")" node_modules
cp "$HERE/dh_view.mjs" .
node dh_view.mjs "$browser" $viewer run.dhat.json >shown || cat shown
tidemark report --json run.tmk | jq -r '.program | "\(.alloc_bytes + .realloc_bytes) \(.alloc_count + .realloc_count)", "\(.at_peak_bytes) \(.at_peak_count)", "\(.live_bytes) \(.live_count)"' >wanted
tr -d , <shown | sed -n 's/.* \([0-9]*\) bytes (100%.* in \([0-9]*\) blocks (100%.*/\1 \2/p' | head -3 | cmp - wanted && echo "the same sums"
grep -q 'victim_small (.*basic.c:' shown && echo "names and lines"
