# truth: healthy
# what: ls -lR and cat
# needs: ls
record ls -lR /usr/share/doc >/dev/null
numbers 100000 >n
record cat n >/dev/null
