# The examples of manual pages and README, typed.
. "$HERE/lib.sh"

for program in python3 g++ cc; do
    command -v $program >/dev/null || skip "no $program"
done
sleep 60 &
tidemark attach --detach $! 2>err
kill_hard $!
export ATTACH=
grep -q 'cannot be looked into\|the kernel\|x86-64' err && ATTACH="may not attach"
python3 "$HERE/examples.py" "$(cd "$HERE/../.." && pwd)"
