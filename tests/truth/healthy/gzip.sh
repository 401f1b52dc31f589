# truth: healthy
# what: gzip packs
# needs: gzip
numbers 200000 >text
record gzip -k text
