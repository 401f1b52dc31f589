# truth: healthy
# what: sort in two threads
# needs: sort
# small: yes
numbers 300000 >text
record sort -n --parallel=2 text >/dev/null
