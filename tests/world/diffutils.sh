# diffutils grep sed: compares, searches, edits
numbers 50000 >a
sed 's/7/8/' a >b
same diff diff -u a b
same grep grep -nE '(1|2)3.*4$' a
same sed sed -n 'H;${x;s/\n/,/g;p}' a
same awk awk '{ s[$1 % 97] += $1; t[$1] = $0 } END { for (i = 0; i < 97; i++) print i, s[i] }' a
