/* disguised CASE: keeps a list of ten nodes by one word that is no plain pointer. The stack below is
 * scrubbed, so that nothing else leads to it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline, noclone))

struct node {
    struct node *next;
    long rest[3];
};

uintptr_t word;

APART static void scrub(void)
{
    volatile char frame[16384];
    for (size_t i = 0; i < sizeof frame; i++)
        frame[i] = 0;
}

APART static uintptr_t list(void)
{
    struct node *head = NULL;
    for (int i = 0; i < 10; i++) {
        struct node *node = calloc(1, sizeof *node);
        node->next = head;
        head = node;
    }
    return (uintptr_t)head;
}

/* As lock-free lists count in the highest 16 bits. */
APART static void highest_bits(void)
{
    word = list() | (uintptr_t)0x1234 << 48;
}

/* As interpreters say "an object" by a number that is none (NaN). */
APART static void not_a_number(void)
{
    word = list() | (uintptr_t)0xfffc << 48;
}

APART static void lowest_bit(void)
{
    word = list() | 1;
}

APART static void turned_by_xor(void)
{
    word = list() ^ (uintptr_t)0x5555555555555550;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"highest_bits", highest_bits},
                 {"not_a_number", not_a_number},
                 {"lowest_bit", lowest_bit},
                 {"turned_by_xor", turned_by_xor}};
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
        if (!strcmp(argv[1], cases[i].name))
            cases[i].run();
    scrub();
    return 0;
}
