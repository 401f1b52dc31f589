# Memory of the whole machine beside a recording: what /proc/meminfo says, the same after a replay, and
# nothing of a program that is over at once.
. "$HERE/lib.sh"
export LC_ALL=C.UTF-8

# On a busy machine that takes longer at times.
is_short() {
    rm -f short.tmk
    tidemark record -q -o short.tmk true && tidemark report --json short.tmk | jq -e '.meta.duration_ns | tonumber < 90000000'
}
until_true is_short >/dev/null
tidemark report --json short.tmk | jq -c '.machine_memory'

tidemark record -q --trace -o run.tmk sleep 0.8
file=run.tmk
total=$(awk '/^MemTotal:/ { print $2 * 1024 }' /proc/meminfo)
tidemark report --json "$file" >run.json
jq --argjson total "$total" '(.meta.duration_ns | tonumber) as $run | .machine_memory | (length >= 2 and (length <= 5 or $run > 1200000000)),
    all(.available_bytes > 0 and .available_bytes <= $total and .cached_bytes != null),
    ([.[].time_ns] | . == sort and .[0] >= 100000000 and .[-1] <= $run)' run.json
tidemark report --show=memory "$file" | grep -o 'machine  *[0-9.]* .iB of [0-9.]* .iB available at least, after' |
    sed 's/[0-9.]* .iB/N/g'
query "$file" "SELECT count(*) = $(jq '.machine_memory | length' run.json) FROM machine_memory"
tidemark replay -q -o again.tmk run.tmt
tidemark report --json again.tmk | jq -c .machine_memory | cmp - <(jq -c .machine_memory run.json) && echo the same

try tidemark plot --machine "$file" -o machine.svg
grep -o '<text[^>]*class="title">[^<]*' machine.svg | sed 's/.*>//'
tidemark plot --machine "$file" | grep -o 'a  available'
try tidemark plot --machine short.tmk
sentence 'less than a tenth of a second'
try tidemark plot --machine run.tmk short.tmk
sentence 'give one file'
