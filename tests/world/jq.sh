# jq: a JSON document made, sorted, grouped
same make jq -nc '[range(20000) | {key: (. % 97 | tostring), value: ., text: ("x" * (. % 50 + 1))}]'
cp bare.out document
same group jq -S 'group_by(.key) | map({(.[0].key): (map(.value) | add)}) | add' document
same wrong jq '.[' document
