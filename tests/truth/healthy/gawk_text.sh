# truth: healthy
# what: gawk joins a text word by word, up to 2,000 bytes, and starts anew
# needs: gawk
numbers 200000 >n
record gawk '{ s = s $1; if (length(s) > 2000) s = "" } END { print length(s) }' n >out
