/* truth: sick
 * what: each script that is sent by EVAL is kept under its digest for ever
 * real: Redis before 7.4: the script cache grows without bound if scripts are made per call
 * expect: leak-growth leak-possible grew-until-teardown leak-lost
 * wrapper: zmalloc ztrymalloc_usable sdsnewlen
 * run: service idle 0.3; ask 4000; idle 0.5; ask 4000; idle 0.5 */
#include "truth.h"

struct entry {
    struct entry *next;
    unsigned digest;
    char *body;
};

static struct entry *table[1024];
static size_t used;

NOINLINE static void *zmalloc(size_t size)
{
    size_t *block = malloc(size + sizeof *block);
    if (!block)
        abort();
    *block = size;
    used += size;
    return block + 1;
}

NOINLINE static void zfree(void *block)
{
    used -= ((size_t *)block)[-1];
    free((size_t *)block - 1);
}

NOINLINE static char *sdsnewlen(const char *text, size_t length)
{
    char *string = zmalloc(length + 9);
    memcpy(string, text, length);
    string[length] = 0;
    return string;
}

NOINLINE static void luaCreateFunction(const char *script, unsigned digest)
{
    struct entry *entry = zmalloc(sizeof *entry); /* guilty: luaCreateFunction */
    entry->digest = digest;
    entry->body = sdsnewlen(script, 180); /* guilty: luaCreateFunction */
    entry->next = table[digest % 1024];
    table[digest % 1024] = entry;
}

NOINLINE static void evalCommand(const char *line, unsigned i)
{
    char script[200] = "return redis.call('get', ";
    strncat(script, line, 100);
    char *argument = sdsnewlen(line, strlen(line));
    luaCreateFunction(script, i * 2654435761u);
    zfree(argument);
}

int main(void)
{
    char line[200];
    unsigned i = 0;
    while (fgets(line, sizeof line, stdin))
        evalCommand(line, i++);
    printf("%zu\n", used);
    return 0;
}
