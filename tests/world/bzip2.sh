# bzip2: packs and unpacks
numbers 100000 >numbers
same pack bzip2 -c numbers
cp bare.out packed.bz2
same unpack bzip2 -dc packed.bz2
head -c 1000 packed.bz2 >broken.bz2
same broken bzip2 -t broken.bz2
