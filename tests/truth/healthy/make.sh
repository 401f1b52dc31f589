# truth: healthy
# what: make reads 1,000 targets and runs ten
# needs: make
{ echo 'all:' $(seq -f 't%g' 10); for i in $(seq 1000); do printf 't%d:\n\t@touch t%d\n' $i $i; done; } >Makefile
record make -s -j2 all
