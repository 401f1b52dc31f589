# Functions that only pass memory on: who calls them is the owner, in every command, and what the user
# says of them counts.
. "$HERE/lib.sh"

tidemark record -q -o run.tmk "$VICTIMS/wrapped"
owners() { # OPTIONS…
    tidemark report --json --sort=leaked --top=20 "$@" run.tmk |
        jq -r '.sections[] | select(.metric == "leaked") | .sites[] | [.function, .through // "-", .metrics.live_count, .metrics.live_bytes] | map(tostring) | join(" ")' | sort
}
echo "== who owns what, and through whom"
owners
echo "== text: the wrapper in front of its caller"
tidemark report -w 100 --sort=leaked --top=9 run.tmk | grep -o '[a-z_]* ← [a-z_]*' | sort -u
echo "== the tables of holders at a moment, and the insights' sites"
tidemark insight --json run.tmk | jq -r '[.insights[].paths[].frames[0].function] | unique | join(" ")'
echo "== what the user says"
owners --not-through '^my_malloc$'
owners --through '^give_node$' | grep give_node
try tidemark report --through '(' run.tmk
sentence "through: no regular expression"
printf '[names]\nthrough = ["^give_node$"]\nnot-through = ["^name_dup$"]\n' >config.toml
TIDEMARK_CONFIG=$PWD/config.toml owners | cut -d' ' -f1,2
echo "== leaks, check, diff, export, query take the owner too"
printf '[function."parse_header"]\nlive = "1 kB"\n[function."my_malloc"]\nlive = "1 kB"\n' >budget.toml
tidemark check -b budget.toml --json run.tmk | jq -c '.verdicts[] | [.scope, .state, .value]'
tidemark diff --json run.tmk run.tmk | jq -r '[.. | .function? // empty] | unique | map(select(. == "my_malloc" or . == "parse_header")) | join(" ")'
tidemark export --to folded -m leaked -o - run.tmk | grep -c my_malloc || true
through() { # the functions of a JSON, with their wrappers
    jq -r '[.. | objects | select(.function? == "parse_header" or .function? == "load_index") | "\(.through // "-") \(.function)"] | unique | join(", ")'
}
echo "== and name the wrapper in front"
tidemark job -f json run.tmk run.tmk | jq '{functions}' | through
tidemark job --width 100 run.tmk run.tmk | grep -o 'my_malloc ← [a-z_]*' | sort -u | paste -sd ' '
tidemark job --not-through '^my_malloc$' -f json run.tmk run.tmk | jq -c '.functions[0] | [.through, .function]'
tidemark diff --json run.tmk run.tmk | jq '{functions}' | through
tidemark check -b budget.toml --json run.tmk | through
tidemark record -q --trace -o traced.tmk "$VICTIMS/wrapped"
tidemark blocks --json traced.tmt | jq -s '[.[].frames[0]]' | through
tidemark events --filter parse_header traced.tmt | grep -o 'my_malloc ← parse_header' | sort -u
tidemark top -n 1 run.tmk | grep -o 'my_malloc ← [a-z_]*' | sort -u | paste -sd ' '
tidemark top -n 1 --not-through '^my_malloc$' run.tmk | grep -c '←.*my_malloc\|my_malloc ←' || :
tidemark plot --sites 5 run.tmk | grep -o 'my_malloc ← [a-z_]*' | sort -u | paste -sd ' '
echo "== of two wrappers of one caller the one that most was asked through"
cat >two.c <<'EOC'
#include <stdlib.h>
#define OWN __attribute__((noinline, noclone))
void *volatile kept[4000];
OWN void *few_alloc(size_t bytes)
{
    void *block = malloc(bytes);
    return block ? block : (abort(), NULL);
}
OWN void *most_alloc(size_t bytes)
{
    void *block = malloc(bytes);
    return block ? block : (abort(), NULL);
}
OWN static void one(void) { for (int i = 0; i < 500; i++) kept[i] = few_alloc(1000); }
OWN static void two(void) { for (int i = 0; i < 500; i++) kept[500 + i] = most_alloc(1000); }
OWN static void three(void) { for (int i = 0; i < 500; i++) kept[1000 + i] = few_alloc(1000); }
OWN static void work(void)
{
    kept[1500] = few_alloc(900);
    for (int i = 0; i < 1000; i++)
        kept[2000 + i] = most_alloc(1000);
}
int main(void)
{
    one();
    two();
    three();
    work();
    return 0;
}
EOC
cc -g -O1 -fno-builtin -o two two.c
tidemark record -q -o two.tmk ./two
tidemark report -w 100 two.tmk | grep -o '[a-z_]* ← work' | sort -u
