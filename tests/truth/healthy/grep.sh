# truth: healthy
# what: grep with an expression with references back
# needs: grep
numbers 200000 >text
record grep -cE '([0-9])\1' text >/dev/null
