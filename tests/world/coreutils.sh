# coreutils: sorts with threads, joins, splits, sums
numbers 200000 >numbers
same sort sort --parallel=2 -S 4M -k1,1r numbers
same random shuf --random-source=numbers numbers
same sum sha256sum numbers
same factor factor 1000000007 340282366920938463463374607431768211455
same ls ls -lR --time-style=+ "$SOURCE/src"
same fails cat /none
