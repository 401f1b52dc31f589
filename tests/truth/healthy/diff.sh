# truth: healthy
# what: diff of two long files
# needs: diff
numbers 60000 >a; numbers 60500 | sed 's/^77/x/' >b
record diff a b >/dev/null || [ $? = 1 ]
