# A program of node: memory outside of V8's heap stands under the function of JavaScript that asked for
# it, where V8 names its code, and under V8's own where it does not.
. "$HERE/lib.sh"

command -v node >/dev/null || skip "no node"
sessions=$(cd "$HERE/../../examples" && pwd)/sessions.js
tidemark record -q -o run.tmk node --perf-basic-prof "$sessions" 1000
tidemark report --json --sort peak run.tmk |
    jq -r '.sections[0] | .total as $total | .sites[0] |
        "\(.function) \(.file | sub(".*/"; "")):\(.line), \(if .value > $total * 0.8 then "nearly all" else . end)"'
tidemark report --json --no-hide-std --sort peak run.tmk | jq -r '.sections[0].sites[0].function' | grep -c 'v8::\|node::'
tidemark annotate --json --metric peak run.tmk | jq -r '.files[0].file' | sed 's|.*/||'
tidemark record -q -o unnamed.tmk node "$sessions" 1000
tidemark report --json --sort peak unnamed.tmk | jq -r '.sections[0].sites[0].function' | grep -c 'v8::\|node::'
# The same functions by V8's jitdump, which lies where node was told.
mkdir dumps
(cd dumps && tidemark record -q -o dumped.tmk node --perf-prof --interpreted-frames-native-stack "$sessions" 1000)
tidemark report --json --sort peak dumps/dumped.tmk | jq -r '.sections[0].sites[0] | "\(.function) \(.file | sub(".*/"; "")):\(.line)"'
rm -f /tmp/perf-"$(tidemark query -f csv run.tmk "SELECT value FROM meta WHERE key = 'pid'" | tail -1 | tr -d '\r')".map
