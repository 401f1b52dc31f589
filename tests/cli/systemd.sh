# The example's drop-in: its options are right, and what it says of them happens.
. "$HERE/lib.sh"
. "$HERE/commanded.sh"
unit=$HERE/../../examples/systemd/tidemark.conf

# As systemd reads it.
setting() { sed -n "s/^Environment=\"\{0,1\}$1=\([^\"]*\)\"\{0,1\}$/\1/p" "$unit" | sed "s,%%,\x01,g; s,%N,web@one,g; s,\x01,%,g"; }

mkdir -p state/web@one
options=$(setting TIDEMARK_OPTIONS | sed "s,/var/lib/tidemark,$PWD/state,")
echo "$options" | grep -o -- '-o .*' | sed "s,$PWD,,"
library=$BIN/../lib/$(setting LD_PRELOAD)
mkfifo commands answers
LD_PRELOAD=$library TIDEMARK_OPTIONS=$options "$CLI/cli_commanded" <commands >answers 2>err &
service=$!
exec 3>commands 4<answers
say a 10 1000
tidemark snapshot $service >snapshot
sed "s,$PWD,,; s,$service,PID," snapshot
say h 3
say x 0
exec 3>&- 4<&-
wait $service
echo "status $?"
cat err
tidemark report --json "$(cat snapshot)" | jq -c '[.program.live_bytes, .meta.snapshot, .meta.budget_millionths]'
tidemark report --json "state/web@one/cli_commanded.$service.tmk" | jq -c '[.program.live_bytes, .meta.snapshots, .end]'
if command -v systemd-analyze >/dev/null && systemd-analyze --version >/dev/null 2>&1; then
    mkdir -p web.service.d
    printf '[Service]\nExecStart=/bin/true\n' >web.service
    cp "$unit" web.service.d/
    systemd-analyze verify --man=no "$PWD/web.service" 2>&1 | grep -i 'unknown\|invalid\|failed to parse\|ignoring' | grep tidemark.conf
fi
true
