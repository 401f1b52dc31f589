/* Does what standard input says, a line at a time, and answers each with "ok": what it has
 * allocated at any moment is known. No stdio: nothing but the blocks asked for is allocated.
 *
 *   a COUNT BYTES allocates and fills blocks t COUNT BYTES allocates and frees at once
 *   f               frees all of them, last ones first   m NAME          makes a mark
 *   h COUNT         frees so many, first ones first      x STATUS        exits
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "tidemark/tidemark.h"

enum { MOST = 1 << 22 };
static char **blocks; /* mapped */
static size_t first, count;

static void allocate(size_t number, size_t bytes)
{
    for (size_t i = 0; i < number && count < MOST; i++) {
        blocks[count] = malloc(bytes);
        memset(blocks[count++], 1, bytes);
    }
}

static void churn(size_t number, size_t bytes)
{
    for (size_t i = 0; i < number; i++) {
        char *volatile block = malloc(bytes);
        free(block);
    }
}

static void free_all(void)
{
    while (count > first)
        free(blocks[--count]);
    first = count = 0;
}

static void free_some(size_t number)
{
    while (number-- && first < count)
        free(blocks[first++]);
}

static void obey(char *line)
{
    char *end = line + 1;
    size_t one = strtoull(end, &end, 10), two = strtoull(end, NULL, 10);
    switch (*line) {
    case 'a':
        allocate(one, two);
        break;
    case 't':
        churn(one, two);
        break;
    case 'f':
        free_all();
        break;
    case 'h':
        free_some(one);
        break;
    case 'm':
        tidemark_mark(line + 2);
        break;
    case 'x':
        exit((int)one);
    }
}

int main(void)
{
    static char line[256];
    size_t length = 0;
    blocks = mmap(NULL, MOST * sizeof *blocks, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    while (length < sizeof line - 1 && read(STDIN_FILENO, line + length, 1) == 1) {
        if (line[length++] != '\n')
            continue;
        line[length - 1] = 0;
        length = 0;
        obey(line);
        if (write(STDOUT_FILENO, "ok\n", 3) != 3)
            return 1;
    }
    return 0;
}
