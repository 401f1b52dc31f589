# truth: healthy
# what: gawk splits and joins lines
# needs: gawk
numbers 60000 >text
record gawk '{ n = split($0 " a b c", part); s = part[n] s; s = substr(s, 1, 50) } END { print length(s) }' text >/dev/null
