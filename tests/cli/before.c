/* Blocks from before any library's constructor has run, at the low addresses of a program that is
 * not position-independent: 1000 of 10 bytes. The program frees 900, and its child the others. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 1000, CHILDS = 100 };

static void *volatile blocks[BLOCKS];

static void begin(void)
{
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = malloc(10);
}
__attribute__((section(".preinit_array"), used)) static void (*const before_all)(void) = begin;

static void free_some(int from, int to)
{
    for (int i = from; i < to; i++)
        free(blocks[i]);
}

int main(void)
{
    free_some(CHILDS, BLOCKS);
    pid_t child = fork();
    if (child == 0) {
        free_some(0, CHILDS);
        return 0;
    }
    waitpid(child, NULL, 0);
    return 0;
}
