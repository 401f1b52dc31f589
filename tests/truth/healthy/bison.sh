# truth: healthy
# what: bison makes a parser
# needs: bison
{ echo '%token NUM'; echo '%%'; echo 'all: e;'; echo "e: NUM | e '+' e | e '*' e | '(' e ')';"; for i in $(seq 100); do echo "r$i: NUM r$i | ;"; done; } >in.y
record bison -Wnone in.y -o out.c 2>/dev/null
