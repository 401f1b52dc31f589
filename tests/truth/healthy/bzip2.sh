# truth: healthy
# what: bzip2 packs
# needs: bzip2
numbers 200000 >text
record bzip2 -k text
