/* Long-lived blocks among temporary ones: the Dassault case of the MALT paper, section 5.2. While a
 * step fills its work list it also notes results, and each lies between two pieces of work. When the
 * step ends 48 MB are freed, but on nearly every page a result keeps what lies around it.
 *
 *   cc -g -O1 examples/fragmentation.c -o fragmentation
 *   tidemark record -o run.tmk ./fragmentation
 *   tidemark insight run.tmk
 *
 * What to look for: "fragmentation": the requested memory falls, the resident memory does not
 * (`tidemark report` draws both), and the blocks that keep it come from note_result() below. Notes
 * in an array of their own, or made before the step, would let it go. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PIECES = 24000, PIECE_BYTES = 2000, RESULT_BYTES = 40, EVERY = 2 };

static void *piece[PIECES];
static void *result[PIECES / EVERY];

__attribute__((noinline)) static void *make_piece(void)
{
    void *made = malloc(PIECE_BYTES);
    if (!made)
        exit(1);
    return memset(made, 1, PIECE_BYTES);
}

__attribute__((noinline)) static void *note_result(int value)
{
    int *note = malloc(RESULT_BYTES); /* guilty */
    if (!note)
        exit(1);
    *note = value;
    return note;
}

static void rest(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

int main(void)
{
    long sum = 0;
    for (int i = 0; i < PIECES; i++) {
        piece[i] = make_piece();
        if (i % EVERY == 0)
            result[i / EVERY] = note_result(i);
    }
    rest(300); /* the step is at work */
    for (int i = 0; i < PIECES; i++)
        free(piece[i]);
    rest(700); /* the rest of the program needs the results only */
    for (int i = 0; i < PIECES / EVERY; i++)
        sum += *(int *)result[i];
    printf("%ld\n", sum);
    return 0;
}
