/* lost CASE: leaves blocks behind in a way whose classes are known (lost.expect). Blocks are asked
 * for in functions of their own, and the stack below is scrubbed, so that no dead frame or register
 * keeps what the case gives up. */
#include <err.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <ucontext.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

struct node {
    struct node *next, *other;
    char rest[32];
};

struct node *kept;
void *places[64];
_Thread_local struct node *in_thread;

APART static void scrub(void)
{
    volatile char frame[16384];
    for (size_t i = 0; i < sizeof frame; i++)
        frame[i] = 0;
}

APART static struct node *node_new(struct node *next)
{
    struct node *node = calloc(1, sizeof *node);
    node->next = next;
    return node;
}

APART static struct node *list(int count)
{
    struct node *head = NULL;
    while (count--)
        head = node_new(head);
    return head;
}

/* ---- Cases ---- */

APART static void lose_one(void)
{
    node_new(NULL);
}
APART static void lose_list(void)
{
    list(10);
}
APART static void keep_list(void)
{
    kept = list(10);
}
APART static void cut_list(void)
{
    kept = list(10);
    kept->next->next = NULL; /* eight hang nowhere */
}
APART static void ring(void)
{
    struct node *last = node_new(NULL), *first = node_new(node_new(last));
    last->next = first;
}
APART static void two_rings_joined(void)
{
    struct node *a = node_new(NULL), *b = node_new(NULL);
    a->next = a;
    b->next = b;
    a->other = b;
}
APART static void shared_below(void)
{
    struct node *below = node_new(NULL);
    node_new(below);
    node_new(below);
}
APART static void lost_points_to_kept(void)
{
    kept = node_new(NULL);
    node_new(kept);
}
APART static void tree(void)
{
    struct node *root = node_new(NULL);
    root->next = node_new(node_new(NULL));
    root->other = node_new(node_new(NULL));
    kept = root;
}
APART static void middle(void)
{
    places[0] = (char *)malloc(100) + 50;
}
APART static void last_byte(void)
{
    places[0] = (char *)malloc(100) + 99;
}
APART static void one_past(void)
{
    places[0] = (char *)malloc(96) + 96;
}
APART static void list_by_middles(void)
{
    struct node *tail = node_new(NULL), *head = node_new((struct node *)&tail->rest);
    kept = head;
}
APART static void below_a_middle(void)
{
    struct node *head = node_new(node_new(NULL));
    places[0] = &head->other;
}
APART static void both_ways(void)
{
    struct node *node = node_new(NULL);
    places[0] = &node->rest;
    places[1] = node;
}
APART static void unaligned(void)
{
    struct node *node = node_new(NULL);
    memcpy((char *)places + 3, &node, sizeof node);
}
APART static void tagged(void)
{
    places[0] = (void *)((uintptr_t)node_new(NULL) | 1);
}
APART static void hidden(void)
{
    places[0] = (void *)~(uintptr_t)node_new(NULL);
}
APART static void header_of_length(void)
{
    uint64_t *block = malloc(8 + 200);
    block[0] = 200;
    places[0] = block + 1;
}
APART static void no_bytes(void)
{
    places[0] = malloc(0);
    malloc(0);
}
APART static void by_realloc(void)
{
    kept = realloc(node_new(NULL), 4096);
    memset(kept, 0, 4096);
    realloc(node_new(NULL), 100000);
}
APART static void aligned(void)
{
    places[0] = aligned_alloc(4096, 8192);
    memset(places[0], 0, 8192);
    aligned_alloc(64, 640);
}
APART static void large(void)
{
    struct node **table = calloc(1 << 20, 1); /* a mapping of its own */
    table[60000] = node_new(NULL);
    places[0] = table;
}
APART static void large_lost(void)
{
    struct node **table = calloc(1 << 20, 1);
    table[60000] = node_new(NULL);
}
APART static void in_freed(void)
{
    struct node *holder = node_new(NULL);
    holder->other = node_new(NULL);
    free(holder);
}
APART static void in_own_mapping(void)
{
    void **map = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    map[5000] = node_new(NULL);
}
APART static void in_unmapped(void)
{
    void **map = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    map[5000] = node_new(NULL);
    munmap(map, 65536);
}
APART static void in_shared_mapping(void)
{
    void **map = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    map[5000] = node_new(NULL);
}
APART static void in_segment(void)
{
    int id = shmget(IPC_PRIVATE, 65536, IPC_CREAT | 0600);
    void **map = shmat(id, NULL, 0);
    shmctl(id, IPC_RMID, NULL);
    map[5000] = node_new(NULL);
}
APART static void in_tls(void)
{
    in_thread = node_new(NULL);
}

/* ---- Threads and stacks ---- */

static pthread_barrier_t ready;

APART static void deep_inside(void *of)
{
    pthread_barrier_wait(&ready);
    pause();
    places[63] = of; /* so that it is kept until here */
}
static void *waiting(void *argument)
{
    deep_inside(node_new(NULL));
    return argument;
}
/* The C library keeps the stack for the next thread, and the pointer in it. */
static void *ending(void *argument)
{
    struct node *volatile head = list(10);
    pthread_barrier_wait(&ready);
    return head ? argument : NULL;
}
APART static void on_ended_stack(void)
{
    pthread_t thread;
    pthread_barrier_init(&ready, NULL, 2);
    pthread_create(&thread, NULL, ending, NULL);
    pthread_barrier_wait(&ready);
    pthread_join(thread, NULL);
}
APART static void on_waiting_stack(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    static char stack[1 << 18] __attribute__((aligned(4096)));
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack,
                          sizeof stack); /* no block of the loader's but its TLS */
    pthread_barrier_init(&ready, NULL, 2);
    pthread_create(&thread, &attributes, waiting, NULL);
    pthread_barrier_wait(&ready);
}

static ucontext_t back, fiber;
static void fiber_main(void)
{
    struct node *volatile mine = node_new(NULL);
    swapcontext(&fiber, &back);
    places[62] = mine;
}
/* The stack is a block: what stands on it is kept by it. */
APART static void on_fiber(void)
{
    enum { STACK = 65536 };
    char *stack = calloc(1, STACK);
    places[0] = stack;
    getcontext(&fiber);
    fiber.uc_stack.ss_sp = stack;
    fiber.uc_stack.ss_size = STACK;
    fiber.uc_link = &back;
    makecontext(&fiber, fiber_main, 0);
    swapcontext(&back, &fiber);
}

static void free_kept(void)
{
    free(kept);
    kept = NULL;
}
APART static void freed_at_exit(void)
{
    kept = node_new(NULL);
    atexit(free_kept);
}
APART static void head_freed_at_exit(void)
{
    kept = list(3);
    atexit(free_kept);
}

/* What is in registers alone when the C library is called that ends the program. */
#if defined(__x86_64__)
#define CALL_WITH_BLOCKS_IN_REGISTERS(call)                                                        \
    __asm__ volatile("leaq places(%%rip), %%rax\n\t"                                               \
                     "movq (%%rax), %%rbx\n\t"                                                     \
                     "movq 8(%%rax), %%r12\n\t"                                                    \
                     "movq 16(%%rax), %%r13\n\t"                                                   \
                     "movq 24(%%rax), %%r14\n\t"                                                   \
                     "movq 32(%%rax), %%r15\n\t"                                                   \
                     "movq $0, (%%rax)\n\t"                                                        \
                     "movq $0, 8(%%rax)\n\t"                                                       \
                     "movq $0, 16(%%rax)\n\t"                                                      \
                     "movq $0, 24(%%rax)\n\t"                                                      \
                     "movq $0, 32(%%rax)\n\t"                                                      \
                     "xorl %%edi, %%edi\n\t"                                                       \
                     "xorl %%esi, %%esi\n\t"                                                       \
                     "xorl %%eax, %%eax\n\t"                                                       \
                     "andq $-16, %%rsp\n\t" call                                                   \
                     :                                                                             \
                     :                                                                             \
                     : "rax", "rbx", "rdi", "rsi", "r12", "r13", "r14", "r15", "memory")
#else
#define CALL_WITH_BLOCKS_IN_REGISTERS(call) exit(0)
#endif
APART static void fill_places(void)
{
    for (size_t i = 0; i < 5; i++)
        places[i] = node_new(node_new(NULL));
}
APART static void in_registers_at_exit(void)
{
    fill_places();
    scrub();
    CALL_WITH_BLOCKS_IN_REGISTERS("call exit@PLT");
}
APART static void in_registers_at_fast_exit(void)
{
    fill_places();
    scrub();
    CALL_WITH_BLOCKS_IN_REGISTERS("call _exit@PLT");
}
/* errx(0, NULL), and nobody hears it. */
APART static void in_registers_at_err(void)
{
    fill_places();
    close(STDERR_FILENO);
    scrub();
    CALL_WITH_BLOCKS_IN_REGISTERS("call errx@PLT");
}

/* Only a frame of the C library has the pointer as it calls exit(): errx() keeps its arguments. */
APART static void given_to_err(void)
{
    static volatile uintptr_t hidden;
    hidden = ~(uintptr_t)list(3);
    close(STDERR_FILENO);
    scrub();
    errx(0, "%p", (void *)~hidden);
}

/* glibc remembers the rest of the last chunk that it split. Here that rest is joined with its
 * neighbour again, and a block that is lost lies over both. */
APART static void over_last_remainder(void)
{
    enum { SMALL = 200, LARGE = 2000, CACHED = 7 };
    void *cached[CACHED];
    for (size_t i = 0; i < CACHED; i++)
        cached[i] = malloc(SMALL);
    void *volatile large = malloc(LARGE);
    places[0] = malloc(24); /* the heap goes on */
    free(large);
    void *volatile part = malloc(SMALL); /* splits it */
    for (size_t i = 0; i < CACHED; i++)
        free(cached[i]); /* the thread's cache is full */
    free(part);
    large = malloc(LARGE);
    large = part = NULL;
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
#define CASE(name)                                                                                 \
    {                                                                                              \
#name, name                                                                                \
    }
    CASE(lose_one),
    CASE(lose_list),
    CASE(keep_list),
    CASE(cut_list),
    CASE(ring),
    CASE(two_rings_joined),
    CASE(shared_below),
    CASE(lost_points_to_kept),
    CASE(tree),
    CASE(middle),
    CASE(last_byte),
    CASE(one_past),
    CASE(list_by_middles),
    CASE(below_a_middle),
    CASE(both_ways),
    CASE(unaligned),
    CASE(tagged),
    CASE(hidden),
    CASE(header_of_length),
    CASE(no_bytes),
    CASE(by_realloc),
    CASE(aligned),
    CASE(large),
    CASE(large_lost),
    CASE(in_freed),
    CASE(in_own_mapping),
    CASE(in_unmapped),
    CASE(in_shared_mapping),
    CASE(in_segment),
    CASE(in_tls),
    CASE(on_waiting_stack),
    CASE(on_ended_stack),
    CASE(on_fiber),
    CASE(freed_at_exit),
    CASE(head_freed_at_exit),
    CASE(in_registers_at_exit),
    CASE(in_registers_at_fast_exit),
    CASE(in_registers_at_err),
    CASE(given_to_err),
    CASE(over_last_remainder),
};

int main(int count, char **words)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases && count > 1; i++)
        if (!strcmp(words[1], cases[i].name)) {
            cases[i].run();
            scrub();
            return 0;
        }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        puts(cases[i].name);
    return 2;
}
