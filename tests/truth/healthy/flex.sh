# truth: healthy
# what: flex makes a scanner
# needs: flex
{ echo '%option noyywrap'; echo '%%'; for i in $(seq 300); do echo "word$i[a-z]+ return $i;"; done; echo '%%'; } >in.l
record flex -o out.c in.l
