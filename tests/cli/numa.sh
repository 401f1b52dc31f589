# On which NUMA nodes each owner's resident memory is: with a stand-in for a kernel of three nodes, and on
# a machine with one.
. "$HERE/lib.sh"

[ "$(uname -m)" = x86_64 ] || skip "the stand-in is for x86-64"

# Of 16 MiB: six on node 0, two on node 10 (above 7), seven on node 1, and one is not told.
LD_PRELOAD="$CLI/libcli_two_nodes.so" tidemark record -q -o many.tmk "$CLI/cli_numa_fill"

echo "== SQL, in MiB"
query many.tmk "SELECT function, resident_bytes >> 20, node_0_bytes >> 20, node_1_bytes >> 20, node_2_bytes,
    node_above_bytes >> 20 FROM owners WHERE kind = 'mapping' AND function = 'map_and_fill'
    AND sample = (SELECT max(id) FROM sample)"

echo "== JSON, in MiB"
tidemark report --json many.tmk | jq -c '.owners[] | select(.function == "map_and_fill") |
    [.resident_bytes, .node_0_bytes, .node_1_bytes, .node_2_bytes, .node_above_bytes] | map(. / 1048576)'

echo "== no owner has more on nodes than is resident"
tidemark report --json many.tmk | jq -c '[.owners[] | select(.node_0_bytes != null) | select(.resident_bytes <
    .node_0_bytes + .node_1_bytes + .node_2_bytes + .node_3_bytes + .node_4_bytes + .node_5_bytes + .node_6_bytes +
    .node_7_bytes + .node_above_bytes)] | length'

echo "== the sum is what is resident all the same"
tidemark report --json many.tmk | jq -c '.resident_bytes == ([.owners[].resident_bytes] | add)'

echo "== the report"
tidemark report --show=numa -w 100 many.tmk | grep -E 'resident|map_and_fill' | tr -s ' '

echo "== one node: not asked, and not known"
tidemark record -q -o one.tmk "$CLI/cli_numa_fill"
tidemark report --json one.tmk | jq -c '[.owners[] | .node_0_bytes, .node_above_bytes | select(. != null and . != 0)] | length'
tidemark report --show=numa one.tmk | grep -c 'was not asked'
