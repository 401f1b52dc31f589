# Which library asks for memory, itself and with what is asked for below it.
. "$HERE/lib.sh"

tidemark record -q -o run.tmk "$VICTIMS/dlopen" "$VICTIMS/plugin_alpha.so" "$VICTIMS/plugin_beta.so" >/dev/null
tidemark report --by=library --top=100 --json run.tmk >run.json
# Fifty times two blocks of its own, and one of the callback's.
jq -r '.libraries.rows[] | select(.module // "" | test("plugin_")) | "\(.module | split("/") | last) \(.exclusive.alloc_count) \(.inclusive.alloc_count)"' run.json | sort
jq '([.libraries.rows[].exclusive.alloc_count] | add) == .program.alloc_count, .libraries.metric' run.json
tidemark report --by=library --sort=count -i -w 100 run.tmk | grep -o '^Libraries  [a-z ]*\|150 .*plugin_[a-z]*' | tr -s ' ' | sed 's|/.*plugin|plugin|' | sort
tidemark report --by=library --filter='function:plugin_alpha_work' --json run.tmk | jq -c '[.libraries.rows[] | select(.exclusive.alloc_count > 0) | .exclusive.alloc_count] | add'
jq 'has("libraries")' <<EOF
$(tidemark report --json run.tmk)
EOF
