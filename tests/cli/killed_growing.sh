# A program that soon keeps a million small blocks, and is killed, was looked at when it had them:
# a look at twice the last level may take a tenth of the run. Nobody looks when it is killed.
. "$HERE/lib.sh"
{
    tidemark record -q -o run.tmk perl -e '
        my @kept = map { "x" x 40 } 1 .. 1000000;
        select undef, undef, undef, 3;
        kill KILL => $$'
} 2>/dev/null
echo "status $?"
tidemark report --json run.tmk >run.json
jq -r '.samples | max_by(.resident_bytes)
    | "looked at with 150 MB or more resident: \(.resident_bytes >= 150e6)",
      "in a million blocks: \(.live_count >= 1e6)",
      "with whose they are: \(.ledger != null)"' run.json
