# truth: healthy
# what: zstd packs in two threads
# needs: zstd
numbers 200000 >text
record zstd -q -T2 -9 text
