# xz-utils: packs with threads, unpacks, says what is in it
numbers 200000 >numbers
same pack xz -T2 --block-size=256KiB -c numbers
cp bare.out packed.xz
same unpack xz -dc packed.xz
same list xz --robot -lvv packed.xz
