# truth: healthy
# what: jq sorts and groups 20,000 objects
# needs: jq
# small: yes
awk 'BEGIN { print "["; for (i = 0; i < 20000; i++) printf "%s{\"a\": %d, \"b\": \"text %d\"}\n", i ? "," : "", i % 100, i; print "]" }' >in.json
record jq 'group_by(.a) | map({a: .[0].a, n: length}) | length' in.json >/dev/null
