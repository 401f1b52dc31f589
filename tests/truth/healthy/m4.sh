# truth: healthy
# what: m4 expands ten thousand macros
# needs: m4
{
    echo 'define(f, `$1 and $1, $2'"')"
    for i in $(seq 10000); do echo "f(word $i, 7)"; done
} >in.m4
record m4 in.m4 >/dev/null
