# lz4: packs and unpacks
numbers 200000 >numbers
same pack lz4 -q -9 -c numbers
cp bare.out packed.lz4
same unpack lz4 -q -dc packed.lz4
