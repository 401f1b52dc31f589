# Pictures of runs: in the terminal, as SVG, as a script for gnuplot and, where there is gnuplot, as PNG.
. "$HERE/lib.sh"

well_formed() { python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$1" && echo "well-formed"; }
pixels() { od -An -tx1 -N 4 "$1"; [ "$(wc -c <"$1")" -gt 5000 ] && echo "and not empty"; }

tidemark record -q -o r.tmk "$VICTIMS/basic" 1 >/dev/null
tidemark record -q -o s.tmk "$VICTIMS/basic" 4 >/dev/null

try tidemark plot r.tmk
head -1 out
LC_ALL=C grep -q "$(printf '\342\243')" out && echo "dots"
grep -c '[ab]  re' out
[ "$(wc -L <out)" -le 80 ] && echo "80 columns"
try tidemark plot r.tmk s.tmk --relative --level requested --width 60
grep '^ *[ab]  ' out | tr -s ' '
grep -o '100 %' out

try tidemark plot r.tmk s.tmk -o x.svg
well_formed x.svg
grep -o '<path d="M[^"]*' x.svg | wc -l | awk '$1 >= 4 { print "lines of both" }'
try tidemark plot r.tmk -o x.svg
sentence 'x.svg'
try tidemark plot r.tmk -o x.svg --force
grep -o '<text[^>]*class="title">[^<]*' x.svg | sed 's/.*>//'
for view in '--sites 4' '--functions 3 --stacked' '--paths 5' --sizes '--lifetimes --bytes'; do
    try tidemark plot r.tmk $view -o "y$view.svg"
    well_formed "y$view.svg"
done
grep -q victim_spike 'y--sites 4.svg' && echo "the peak's call site"
try tidemark plot r.tmk --sites 3 --filter victim_spike
grep -c victim_ out

# Paths of the same functions: the lines tell them apart, and what nothing tells apart is one path.
if command -v cc >/dev/null; then
    cat >alike.c <<'EOF'
#include <stdlib.h>
void *volatile kept;
__attribute__((noinline)) static void leaf(size_t bytes) { *(volatile char *)(kept = malloc(bytes)) = 1; }
int main(void) {
    for (int i = 0; i < 100; i++) {
        leaf(30000);
        leaf(20000);
        leaf(9000), leaf(1000);
    }
}
EOF
    cc -g -O0 -fno-builtin -o alike alike.c
    tidemark record -q -o alike.tmk ./alike
    tidemark plot alike.tmk --paths 9 | grep -o 'leaf ← main.*'
else
    printf 'leaf ← main  alike.c:%s\n' 6 7 8
fi

# What malloc_count's memprofile writes, one and several.
printf '0 0\n0.5 1048576\n1.5 4194304\n' >map.txt
printf 'func=std::map<a> ts=0 mem=1\nfunc=std::map<a> ts=1 mem=5000000\nfunc=b ts=0 mem=7\nfunc=b ts=2 mem=9\n' >both.txt
try tidemark plot map.txt both.txt -w 60 --height 5
grep '^ *[abc]  ' out
try tidemark plot map.txt both.txt -o z.svg
well_formed z.svg
printf '0 0\n0.5 much\n' >bad.txt
try tidemark plot bad.txt
sentence 'bad.txt, line 2'

try tidemark plot r.tmk s.tmk -o x.gp
grep -c '^\$data[0-9]* << END' x.gp
if command -v gnuplot >/dev/null; then
    gnuplot -e "set terminal png; set output 'g.png'" x.gp && pixels g.png
    try tidemark plot r.tmk --functions 3 --stacked -o x.png
    pixels x.png
else
    printf ' 89 50 4e 47\nand not empty\nstatus 0\n 89 50 4e 47\nand not empty\n'
fi
# Without it one sentence, and no file.
mkdir empty
tidemark=$(command -v tidemark)
PATH=$PWD/empty try "$tidemark" plot r.tmk -o none.png
sentence 'need gnuplot'
ls none.png* 2>/dev/null

try tidemark plot r.tmk -o x.jpg
sentence 'svg'
try tidemark plot r.tmk --sizes --ranks
sentence 'more than one thing'
try tidemark plot r.tmk --ranks
sentence 'ranks over time'
try tidemark plot r.tmk map.txt --sizes
sentence 'map.txt'
try tidemark plot nowhere.tmk
sentence 'nowhere.tmk'

# A job: its ranks, and its nodes.
mkdir job
for rank in 0 1 2; do
    OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=3 PMIX_NAMESPACE=one PMIX_RANK=$rank \
        tidemark record -q --job=job "$VICTIMS/basic" 1 >/dev/null 2>&1
done
tidemark job job -o job.tmk >/dev/null 2>err || cat err
try tidemark plot job.tmk -o ranks.svg
well_formed ranks.svg
grep -o '>rank [0-9]<' ranks.svg | sort -u | wc -l
# The directory of the job and a trace do as well.
try tidemark plot job --title same -o dir.svg
tidemark plot job.tmk --title same -o file.svg 2>/dev/null
cmp -s dir.svg file.svg && echo "the same picture"
tidemark record -q --trace -o t.tmk "$VICTIMS/basic" 1 >/dev/null
mkdir made
TMPDIR=$PWD/made try tidemark plot t.tmk t.tmt job --level requested -w 60
grep '^ *[abc]  ' out
rmdir made && echo "nothing is left"
try tidemark plot job.tmk --nodes -o nodes.svg
well_formed nodes.svg
for wrong in "--paths 0" "--sites=0" "--functions 0"; do
    try tidemark plot t.tmk $wrong
    sentence "how many are drawn: 1 or more"
done
try tidemark plot t.tmk --paths 3 --level requested
sentence "level goes with --memory"
