# What is lost at the end, as victims with known answers leave it: by class, as islands with their call
# paths, in text and JSON, with suppressions, as a limit, and where it is not known.
. "$HERE/lib.sh"

classes() { # PROFILE
    tidemark leaks --json "$1" | jq -r '[.lost, .indirect, .possible, .reachable] | map("\(.blocks) \(.bytes)") | join(" | ")'
}

echo "== classes: lost | indirect | possible | reachable"
for victim in lost lost_cxx; do
    for each in $("$VICTIMS/$victim"); do
        tidemark record -q -o run.tmk "$VICTIMS/$victim" "$each"
        # libstdc++'s pool of 72,704 bytes, and the TLS block of a thread
        echo "$each: $(classes run.tmk | sed 's/| 1 72704$/| 0 0/; s/| 1 [23][0-9][0-9] |/| its TLS |/')"
    done
done

echo "== text"
tidemark record -q -o run.tmk "$VICTIMS/lost" lose_list
tidemark leaks -w 80 run.tmk | sed 's/allocated .*/allocated T before/; s/([0-9.]* [^ ]* after/(T after/; s/[^ ]*lost\.c:[0-9]*/lost.c:N/; s/  *lost.c/ lost.c/'
echo "== of several threads, one of which waits"
tidemark record -q -o run.tmk "$VICTIMS/lost" on_waiting_stack
tidemark leaks run.tmk | head -1
echo "== on the stack of an ended thread whose ring another thread has had since"
cat >ended.c <<'EOC'
#include <pthread.h>
#include <stdlib.h>
static void *lose(void *argument)
{
    void *volatile blocks[10];
    for (int i = 0; i < 10; i++)
        blocks[i] = malloc(50);
    return argument;
}
static void *work(void *argument)
{
    free(malloc(10));
    return argument;
}
int main(void)
{
    pthread_t thread;
    pthread_attr_t large;
    pthread_attr_init(&large);
    pthread_create(&thread, &large, lose, NULL);
    pthread_join(thread, NULL);
    pthread_attr_setstacksize(&large, 16 << 20); /* not the stack that is kept */
    pthread_create(&thread, &large, work, NULL);
    pthread_join(thread, NULL);
    return 0;
}
EOC
cc -g -O1 -fno-builtin -o ended ended.c -pthread
tidemark record -q -o ended.tmk ./ended
classes ended.tmk | sed 's/|.*//'
echo "== JSON: the function of each island"
tidemark record -q -o run.tmk "$VICTIMS/lost" cut_list
tidemark leaks --json run.tmk | jq -c '.islands[] | [.function, .count, .bytes, .indirect_blocks, (.stack | map(.function) | index("cut_list"))]'
echo "== suppressed, as LeakSanitizer and as valgrind say it"
echo leak:cut_list >known
tidemark leaks --json -S known run.tmk | jq -c '[.lost.blocks, .suppressed.blocks, .suppressed.bytes]'
printf '{\n known\n Memcheck:Leak\n ...\n fun:cut_list\n}\n' >known
tidemark leaks --json -S known run.tmk | jq -c '[.lost.blocks, .suppressed.blocks]'
try tidemark leaks -S nothing run.tmk
sentence "cannot read the suppressions nothing"
echo "== as a limit"
printf '[program]\nlost = 0\n[function."cut_list"]\nlost_blocks = 8\n' >budget.toml
tidemark check -b budget.toml --json run.tmk | jq -c '.verdicts[] | [.metric, .scope, .state, .value]'
try tidemark check -b budget.toml -S known run.tmk
echo "== of one block"
tidemark record -q -o one.tmk "$VICTIMS/lost" lose_one
tidemark leaks one.tmk | sed -n '2s/([^)]*)/(T after the start)/p'
echo "== the insight"
tidemark record -q -o large.tmk "$VICTIMS/lost" large_lost
tidemark insight --json large.tmk | jq -c '.insights[] | select(.id == "leak-lost") | [.severity, .title]'
echo "== a program with nothing alive"
tidemark record -q -o none.tmk "$VICTIMS/lost" freed_at_exit
classes none.tmk
tidemark leaks none.tmk | head -1
echo "== where it is not known"
tidemark record -q --sample=1 -o sampled.tmk "$VICTIMS/lost" lose_one
try tidemark leaks sampled.tmk
sentence "not known: .*--sample"
(tidemark record -q -o killed.tmk sh -c 'kill -9 $$'; true) >/dev/null 2>&1
try tidemark leaks killed.tmk
sentence "not known: "
try tidemark check -b budget.toml killed.tmk
try tidemark leaks
sentence "no profile and no process given"
