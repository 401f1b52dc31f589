# A program that soon keeps a million small blocks, and is killed, was looked at when it had them:
# a look at twice the last level may take a tenth of the run. Nobody looks when it is killed.
. "$HERE/lib.sh"
looked_at() {
    jq -r '.samples | max_by(.resident_bytes)
        | "looked at with 150 MB or more resident: \(.resident_bytes >= 150e6)",
          "in a million blocks: \(.live_count >= 1e6)",
          "with whose they are: \(.ledger != null)"' run.json
}
# On a busy machine the collector needs longer to get there.
for wait in 3 10 30 60; do
    {
        tidemark record -q --force -o run.tmk perl -e '
            my @kept = map { "x" x 40 } 1 .. 1000000;
            select undef, undef, undef, $ARGV[0];
            kill KILL => $$' $wait
    } 2>/dev/null
    status=$?
    tidemark report --json run.tmk >run.json
    looked_at >said
    grep -q false said || break
done
echo "status $status"
cat said
