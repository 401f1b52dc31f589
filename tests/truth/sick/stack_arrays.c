/* truth: sick
 * what: a search keeps a board of 256 KiB in each of its 20 frames
 * expect: deep-stack
 * place: none */
#include "truth.h"

NOINLINE static long search(int depth)
{
    char board[256 << 10];
    memset(board, depth, sizeof board);
    use(board);
    char *moves = malloc(200);
    long best = depth ? search(depth - 1) : 1;
    pause_ms(5);
    use(moves);
    free(moves);
    return best + board[depth];
}

int main(void)
{
    long sum = 0;
    for (int game = 0; game < 8; game++)
        sum += search(19);
    printf("%ld\n", sum);
    return 0;
}
