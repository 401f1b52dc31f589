# One list that is lost at the end is often what main() held until then: a notice. If a snapshot found
# it lost while the program was at work, it is as severe as it is large.
. "$HERE/lib.sh"

said() { # FILE
    tidemark insight --json "$1" | jq -c '.insights[] | select(.id == "leak-lost") | [.severity, .title]'
}

for when in late early; do
    tidemark record -q -o run.tmk "$VICTIMS/forgotten" "$when"
    echo "$when: $(said run.tmk)"
done
