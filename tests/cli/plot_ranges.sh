# tidemark plot: names for files, parts of the time, the end of the axis, standard input and PDF.
. "$HERE/lib.sh"
awk 'BEGIN { for (i = 0; i <= 1000; i++) print i / 100, i < 500 ? 1048576 : 3 * 1048576 }' >steps.txt
cp steps.txt other.txt

echo "--- names"
tidemark plot --label 'before & after' --label second steps.txt other.txt -o named.svg 2>/dev/null
grep -o '<title>[^<]*' named.svg | cut -c 8-27 | sort -u
try tidemark plot --label a --label b steps.txt
sentence "more labels than files"

echo "--- a tick above the highest, and an end that is asked for"
tidemark plot steps.txt -t -w 60 --height 9 | grep 'B ┤'
tidemark plot steps.txt -t -w 60 --height 9 --most 16M | grep 'B ┤' | head -1

echo "--- a part of the time"
tidemark plot steps.txt -t -w 60 --height 6 --from 4s --to 4500ms
try tidemark plot steps.txt --from 20s
sentence "nothing was recorded between"
try tidemark plot steps.txt --relative --to 5s
sentence "go with time"

echo "--- standard input, and more lines than are kept"
tidemark plot - -t -w 60 --height 6 <steps.txt | head -1
awk 'BEGIN { for (i = 0; i < 2500000; i++) print i / 1e6, (i == 1234567) * 5e6 + 1e6 }' |
    tidemark plot - -t -w 60 --height 8 | grep -c '^ *8 MiB ┤\|^ *6 MiB ┤'
printf 'nonsense\n' >bad.txt
try tidemark plot - -t <bad.txt
sentence "standard input, line 1"

echo "--- PDF"
if command -v gnuplot >/dev/null && gnuplot -e 'set terminal pdfcairo' 2>/dev/null; then
    tidemark plot steps.txt -o picture.pdf 2>/dev/null
    head -c 5 picture.pdf
    echo
else
    echo "%PDF-"
fi
