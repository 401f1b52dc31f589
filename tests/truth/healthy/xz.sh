# truth: healthy
# what: xz packs a megabyte
# needs: xz
# small: yes
numbers 150000 >text
record xz -k -6 text
