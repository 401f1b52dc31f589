# make: a tree of rules, two jobs at once
{ echo 'all: '; for i in $(seq 1 100); do echo "all: f$i"; echo "f$i: f$((i / 2))"; printf '\t@echo %s >f%s\n' $i $i; done; echo 'f0:'; printf '\t@echo 0 >f0\n'; } >Makefile
same build make -s -j2 && rm -f f[0-9]*
