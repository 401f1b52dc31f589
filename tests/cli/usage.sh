# Wrong use: 125 and one sentence; the nearest option is suggested. Help is no error.
. "$HERE/lib.sh"

try tidemark record
sentence "no program"
try tidemark record --quite true
sentence "did you mean.*--quiet|--quiet"
try tidemark record --on-full=sometimes true
sentence "wait.*drop|on-full"
try tidemark record --ring 3K true
sentence "ring"
try tidemark record -o '%z.tmk' true
sentence "%z|after %"
try tidemark record -o '' true
sentence "empty|output"
try tidemark recrod true
sentence "record"
try tidemark
echo "says how: $(cat out err | grep -c 'record')" | sed 's/: [1-9][0-9]*$/: yes/'
tidemark --dump-commands | cut -f 1 | grep -vx "help\|version" >commands
[ "$(wc -l <commands)" -gt 20 ] && echo "more than 20 commands"
for command in "" $(cat commands); do
    tidemark $command --help >out 2>err || echo "status $? of '$command'"
    [ -s out ] && [ ! -s err ] || echo "no help for '$command' on stdout"
    [ "$(wc -L <out)" -le 80 ] || echo "wider than a screen: '$command'"
    [ "$(wc -l <out)" -le 42 ] || echo "longer than a screen: '$command'"
    [ "$command" ] || continue
    tidemark $command --help=all >all || echo "status $? of '$command --help=all'"
    [ "$(wc -l <all)" -ge "$(grep -vc 'help=all' out)" ] || echo "all is less than some: '$command'"
done
try tidemark --version
grep -Ec '^tidemark [0-9]+\.[0-9]+' out
# -- ends our options; the program's own are its own.
try tidemark record -q -- sh -c 'echo "$@"' sh --quiet -o x --
cat out
try tidemark record -q sh -c 'echo "$@"' sh --help
cat out
