# truth: healthy
# what: mawk counts words in an array
# needs: mawk
# small: yes
numbers 100000 >text
record mawk '{ seen[$1 % 5000]++ } END { for (k in seen) n += seen[k]; print n }' text >/dev/null
