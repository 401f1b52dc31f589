# zstd: packs with threads, trains a dictionary
numbers 200000 >numbers
same pack zstd -q -T2 -12 -c numbers
cp bare.out packed.zst
same unpack zstd -q -dc packed.zst
split -b 2000 numbers part.
same train zstd -q --train part.* -o dictionary
