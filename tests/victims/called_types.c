/* What calls' results are assigned to: variables, members, through functions that hand them on; and a
 * block that is larger than what it is assigned to, and one of no type. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline, noclone))
struct link {
    struct link *next, *before;
};
struct node {
    struct link link;
    int number;
    char *name;
    struct node *child;
};
struct item {
    double weight[7];
};
struct text {
    size_t length;
    char bytes[];
};
struct old_text {
    int length;
    char bytes[1];
};
typedef struct {
    long a, b, c;
} plain_t;
struct base {
    int kind, unused[3];
};
struct derived {
    struct base base;
    int more[8];
};
union either {
    long number;
    char bytes[24];
};
struct holder {
    struct node *first;
    struct {
        struct item *item;
    } inner;
};

struct pair {
    short one[9], other[10];
};

struct apple {
    long seeds[8];
};
struct berry {
    long stones[8];
};

struct link *all;
struct node *of_all;
struct holder holder;
void *kept[64];
size_t kept_count;

APART static void keep(void *block)
{
    kept[kept_count++ % 64] = block;
}
APART static void *xmalloc(size_t bytes)
{
    void *block = malloc(bytes);
    if (!block)
        exit(1);
    return block;
}
APART static void *xzalloc(size_t bytes)
{
    return memset(xmalloc(bytes), 0, bytes);
}
static inline void list_add(struct link *link)
{
    link->next = all;
    if (all)
        all->before = link;
    all = link;
}

APART static void by_variable(int n)
{
    struct node *node = malloc(sizeof *node);
    if (!node)
        return;
    node->number = n;
    node->name = NULL;
    list_add(&node->link);
}
APART static struct item *by_return(void)
{
    struct item *item = calloc(1, sizeof(struct item));
    item->weight[0] = 1;
    return item;
}
APART static struct pair *by_function(void) /* no variable has it */
{
    return malloc(sizeof(struct pair));
}
APART static void by_wrapper(int n)
{
    plain_t *plain = xmalloc(sizeof *plain);
    plain->a = n;
    keep(plain);
}
APART static void by_two_wrappers(void)
{
    union either *either = xzalloc(sizeof *either);
    either->number = 7;
    keep(either);
}
APART static void by_global(void)
{
    of_all = malloc(sizeof *of_all);
    of_all->number = 1;
}
APART static void by_member(struct holder *to)
{
    to->first = malloc(sizeof(struct node));
    to->inner.item = malloc(sizeof(struct item));
}
APART static void open_ended(const char *words)
{
    struct text *text = malloc(sizeof *text + strlen(words) + 1);
    text->length = strlen(words);
    strcpy(text->bytes, words);
    keep(text);
}
APART static void old_open_ended(const char *words)
{
    struct old_text *text = malloc(sizeof *text + strlen(words));
    text->length = (int)strlen(words);
    strcpy(text->bytes, words);
    keep(text);
}
APART static void numbers(int n)
{
    int *array = malloc((size_t)n * sizeof *array);
    for (int i = 0; i < n; i++)
        array[i] = i;
    keep(array);
}
APART static void structures(int n)
{
    plain_t *array = malloc((size_t)n * sizeof *array);
    for (int i = 0; i < n; i++)
        array[i].a = i;
    keep(array);
}
APART static void pointers(int n)
{
    struct node **array = calloc((size_t)n, sizeof *array);
    array[0] = of_all;
    keep(array);
}
APART static void larger(void) /* nothing is known: it is no base */
{
    struct base *base = malloc(sizeof(struct derived));
    base->kind = 1;
    keep(base);
}
APART static void *one_of_two(int n) /* nothing is known: it becomes one or the other */
{
    void *block = malloc(64);
    if (n > 3) {
        struct apple *apple = block;
        apple->seeds[1] = n;
        apple->seeds[3] = n;
        return block;
    }
    {
        struct berry *berry;
        berry = block;
        berry->stones[2] = n;
    }
    return block;
}
APART static void raw(void) /* nothing is known */
{
    void *block = malloc(100);
    keep(block);
}

int main(void)
{
    for (int i = 0; i < 10; i++) {
        by_variable(i);
        keep(by_return());
        keep(by_function());
        by_wrapper(i);
        by_two_wrappers();
        numbers(10 + i);
        structures(1 + i);
        pointers(3 + i);
        larger();
        raw();
        keep(one_of_two(i));
        old_open_ended(i % 2 ? "some words" : "other words than these");
        open_ended(i % 2 ? "some words" : "other words than these");
    }
    by_global();
    by_member(&holder);
    printf("%zu\n", kept_count);
    return 0;
}
