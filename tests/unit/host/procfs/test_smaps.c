#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/syscall.h>

#include "procfs/module_end.h"
#include "procfs/process.h"
#include "procfs/smaps.h"
#include "../../model/numbers.h"

#define UNKNOWN UINT64_MAX
#include "victim.h"

#define KIB 1024u

/* ---- Texts --------------------------------------------------------------------------------- */

/* A file that reads as `text`. */
static int file_of(const char *text, size_t length)
{
    int fd = memfd_create("text", MFD_CLOEXEC);
    assert_int_equal(write(fd, text, length), length);
    lseek(fd, 0, SEEK_SET);
    return fd;
}

static int read_text(struct smaps *smaps, const char *text, size_t length)
{
    int fd = file_of(text, length);
    int error = smaps_read_fd(smaps, fd);
    close(fd);
    return error;
}

static const char sample[] =
    "1000-5000 r--p 00000000 fe:00 7                          /lib/a b.so\n"
    "Size:                 16 kB\n"
    "Rss:                  12 kB\n"
    "Pss:                   4 kB\n"
    "Shared_Clean:          8 kB\n"
    "Shared_Dirty:          0 kB\n"
    "Private_Clean:         3 kB\n"
    "Private_Dirty:         1 kB\n"
    "Anonymous:             0 kB\n"
    "AnonHugePages:         0 kB\n"
    "ShmemPmdMapped:        2 kB\n"
    "FilePmdMapped:         1 kB\n"
    "Shared_Hugetlb:        5 kB\n"
    "Private_Hugetlb:       6 kB\n"
    "Swap:                  9 kB\n"
    "SwapPss:               2 kB\n"
    "Locked:               10 kB\n"
    "NewInLinux9:          10 oranges\n"
    "VmFlags: rd mr mw me ac gd \n"
    "5000-6000 r-xp 00004000 fe:00 7                          /lib/a b.so\n"
    "Size:                  4 kB\n"
    "Rss:                   4 kB\n"
    "6000-7000 rw-s 00000000 00:01 9                          /memfd:x\\012y (deleted) (deleted)\n"
    "Size:                  4 kB\n";

static void a_text_is_taken_apart(void **state)
{
    (void)state;
    struct smaps smaps = SMAPS_INIT;
    assert_int_equal(read_text(&smaps, sample, strlen(sample)), 0);
    assert_int_equal(smaps.count, 3);
    assert_int_equal(smaps.damaged, 0);
    const struct smaps_mapping *first = &smaps.mappings[0];
    assert_int_equal(first->start, 0x1000);
    assert_int_equal(first->end, 0x5000);
    assert_int_equal(first->inode, 7);
    assert_int_equal(first->device_major, 0xfe);
    assert_string_equal(first->path, "/lib/a b.so");
    assert_int_equal(number_of(first->bytes.size), 16 * KIB);
    assert_int_equal(number_of(first->bytes.rss), 12 * KIB);
    assert_int_equal(number_of(first->bytes.pss), 4 * KIB);
    assert_int_equal(number_of(first->bytes.shared), 8 * KIB);
    assert_int_equal(number_of(first->bytes.uss), 4 * KIB);
    assert_int_equal(number_of(first->bytes.anonymous), 0);
    assert_int_equal(number_of(first->bytes.huge), 3 * KIB);
    assert_int_equal(number_of(first->bytes.hugetlb), 11 * KIB);
    assert_int_equal(number_of(first->bytes.swap), 9 * KIB);
    assert_int_equal(number_of(first->bytes.swap_pss), 2 * KIB);
    assert_int_equal(number_of(first->bytes.locked), 10 * KIB);
    assert_int_equal(first->flags, SMAPS_IS_ACCOUNTED | SMAPS_GROWS_DOWN);
    assert_int_equal(first->kind, SMAPS_DATA); /* relocated, then protected */
    assert_int_equal(smaps.mappings[1].kind, SMAPS_TEXT);
    assert_int_equal(number_of(smaps.mappings[1].bytes.pss), UNKNOWN);
    assert_string_equal(smaps.mappings[2].path, "/memfd:x\ny (deleted)");
    assert_true(smaps.mappings[2].deleted);
    assert_int_equal(smaps.mappings[2].kind, SMAPS_SHARED_MEMORY);

    struct smaps_totals totals;
    smaps_sum(&smaps, &totals);
    assert_int_equal(number_of(totals.all.size), 24 * KIB);
    assert_int_equal(number_of(totals.all.rss), UNKNOWN); /* the last does not say */
    assert_int_equal(number_of(totals.kinds[SMAPS_TEXT].rss), 4 * KIB);
    assert_int_equal(number_of(totals.kinds[SMAPS_HEAP].rss), 0);

    assert_ptr_equal(smaps_find(&smaps, 0x4fff), first);
    assert_ptr_equal(smaps_find(&smaps, 0x5000), first + 1);
    assert_null(smaps_find(&smaps, 0xfff));
    assert_null(smaps_find(&smaps, 0x7000));
    smaps_release(&smaps);
}

/* Whatever the text: sorted mappings, numbers that stood there, no crash (run with asan). */
static void check_table(const struct smaps *smaps)
{
    struct smaps_totals totals;
    for (size_t i = 0; i < smaps->count; i++) {
        const struct smaps_mapping *mapping = &smaps->mappings[i];
        assert_true(mapping->start < mapping->end);
        assert_true(!i || mapping->start >= mapping[-1].end);
        assert_true((unsigned)mapping->kind < SMAPS_KINDS);
        assert_non_null(memchr(mapping->path, '\0', 4096));
    }
    smaps_sum(smaps, &totals);
    assert_int_equal(totals.count, smaps->count);
}

static void a_text_may_be_cut_anywhere(void **state)
{
    (void)state;
    struct smaps smaps = SMAPS_INIT;
    for (size_t length = 0; length < strlen(sample); length++) {
        int error = read_text(&smaps, sample, length);
        assert_true(error == 0 || (error == -ESRCH && smaps.count == 0));
        check_table(&smaps);
        uint64_t rss = smaps.count ? number_of(smaps.mappings[0].bytes.rss) : UNKNOWN;
        assert_true(rss == 12 * KIB || rss == UNKNOWN); /* never 1 KiB, a cut 12 */
    }
    smaps_release(&smaps);
}

static void a_text_may_be_scrambled(void **state)
{
    (void)state;
    static const char spice[] = "0 9af-:kB\n\0\\rw/[]SRP()\xff";
    struct smaps smaps = SMAPS_INIT;
    for (int round = 0; round < 20000; round++) {
        char text[sizeof sample];
        memcpy(text, sample, sizeof text);
        for (long damage = 1 + random() % 8; damage; damage--)
            text[(size_t)random() % (sizeof text - 1)] =
                spice[(size_t)random() % (sizeof spice - 1)];
        int error = read_text(&smaps, text, sizeof text - 1);
        assert_true(error == 0 || error == -ESRCH);
        check_table(&smaps);
    }
    smaps_release(&smaps);
}

static void numbers_that_do_not_fit_are_left_out(void **state)
{
    (void)state;
    static const char text[] = "1000-2000 rw-p 00000000 00:00 0 \n"
                               "Size:                  4 kB\n"
                               "Rss:  99999999999999999999999 kB\n"
                               "Pss:     18014398509481984 kB\n" /* 2^54 KiB = 2^64 B */
                               "Swap:                  4 MB\n"
                               "Anonymous:            -4 kB\n"
                               "Locked:                4 kB\n"
                               "Locked:                4 kB\n"
                               "3000-2000 rw-p 00000000 00:00 0 \n"
                               "Rss:                   7 kB\n"
                               "0800-0900 rw-p 00000000 00:00 0 \n"
                               "Rss:                   7 kB\n"
                               "2000-3000 rw-p 00000000 00:00 0 \n"
                               "Rss:                   8 kB\n";
    struct smaps smaps = SMAPS_INIT;
    assert_int_equal(read_text(&smaps, text, sizeof text - 1), 0);
    assert_int_equal(smaps.count, 2);
    assert_int_equal(number_of(smaps.mappings[0].bytes.rss), UNKNOWN);
    assert_int_equal(number_of(smaps.mappings[0].bytes.pss), UNKNOWN);
    assert_int_equal(number_of(smaps.mappings[0].bytes.swap), UNKNOWN);
    assert_int_equal(number_of(smaps.mappings[0].bytes.anonymous), UNKNOWN);
    assert_int_equal(number_of(smaps.mappings[0].bytes.locked), 4 * KIB);
    assert_int_equal(number_of(smaps.mappings[1].bytes.rss), 8 * KIB);
    assert_int_equal(smaps.damaged, 5 + 2);
    smaps_release(&smaps);
}

/* Lines are looked for where those of the mapping before ended. */
static void a_mapping_may_have_other_lines_than_the_one_before(void **state)
{
    (void)state;
    static const char text[] = "1000-2000 rw-p 00000000 00:00 0 \n"
                               "Size:                  4 kB\n"
                               "Rss:                   0 kB\n"
                               "Pss:                   1 kB\n"
                               "Swap:                  2 kB\n"
                               "2000-3000 rw-p 00000000 00:00 0 \n"
                               "Size:          123456789 kB\n"  /* as long, */
                               "Rss:                  -1 kB\n"  /* … no number, */
                               "Pss:                   7 MB\n"  /* … no bytes, */
                               "Swap: 4 kB\nSwapPss:    8 kB\n" /* … two lines */
                               "3000-4000 rw-p 00000000 00:00 0 \n"
                               "Size:      1234567890123 kB\n"
                               "Rss:            00000005 kB\n"
                               "Rss:                   6 kB\n" /* a field twice */
                               "Swap:                  9 kB\n"
                               "4000-5000 rw-p 00000000 00:00 0 \n"
                               "Size:                  4 kB\n"
                               "Rss:                   3 kB"; /* cut off */
    struct smaps smaps = SMAPS_INIT;
    assert_int_equal(read_text(&smaps, text, sizeof text - 1), 0);
    assert_int_equal(smaps.count, 4);
    assert_int_equal(number_of(smaps.mappings[0].bytes.rss), 0);
    assert_int_equal(number_of(smaps.mappings[0].bytes.swap), 2 * KIB);
    assert_int_equal(number_of(smaps.mappings[1].bytes.size), 123456789ull * KIB);
    assert_int_equal(number_of(smaps.mappings[1].bytes.rss), UNKNOWN);
    assert_int_equal(number_of(smaps.mappings[1].bytes.pss), UNKNOWN);
    assert_int_equal(number_of(smaps.mappings[1].bytes.swap), 4 * KIB);
    assert_int_equal(number_of(smaps.mappings[1].bytes.swap_pss), 8 * KIB);
    assert_int_equal(number_of(smaps.mappings[2].bytes.size), 1234567890123ull * KIB);
    assert_int_equal(number_of(smaps.mappings[2].bytes.rss), 5 * KIB);
    assert_int_equal(number_of(smaps.mappings[2].bytes.swap), 9 * KIB);
    assert_int_equal(number_of(smaps.mappings[3].bytes.rss), UNKNOWN);
    assert_int_equal(smaps.damaged, 3);
    smaps_release(&smaps);
}

static void a_line_may_be_of_any_length(void **state)
{
    (void)state;
    size_t length = 3u << 20;
    struct strbuf text = STRBUF_INIT;
    struct smaps smaps = SMAPS_INIT;
    strbuf_add_string(&text, "1000-2000 r-xp 00000000 fe:00 7 /");
    strbuf_add_repeated(&text, "x", length);
    strbuf_add_string(&text, "\nRss: 4 kB\n2000-3000 rw-p 00000000 00:00 0 \nRss: 8 kB\n");
    assert_int_equal(read_text(&smaps, text.data, text.length), 0);
    assert_int_equal(strlen(smaps.mappings[0].path), length + 1);
    assert_int_equal(number_of(smaps.mappings[1].bytes.rss), 8 * KIB);
    strbuf_release(&text);
    smaps_release(&smaps);
}

/* ---- Kinds --------------------------------------------------------------------------------- */

static void kinds_follow_from_names_flags_and_neighbours(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        enum smaps_kind kind;
    } table[] = {
        {"1000-2000 r--p 00000000 fe:00 7 /bin/x (deleted)", SMAPS_RODATA},
        {"2000-3000 r-xp 00001000 fe:00 7 /bin/x (deleted)", SMAPS_TEXT},
        {"3000-4000 ---p 00002000 fe:00 7 /bin/x (deleted)", SMAPS_RODATA},
        {"4000-5000 rw-p 00003000 fe:00 7 /bin/x (deleted)", SMAPS_DATA},
        {"5000-6000 rw-p 00000000 00:00 0 ", SMAPS_BSS},
        {"6000-7000 rw-p 00000000 00:00 0 [heap]", SMAPS_HEAP},
        {"7000-8000 rw-p 00000000 00:00 0 ", SMAPS_ANONYMOUS},
        {"8000-9000 r--p 00000000 fe:00 8 /usr/share/x.dat", SMAPS_FILE},
        {"9000-a000 rw-p 00000000 00:00 0 ", SMAPS_ANONYMOUS},
        {"a000-b000 r--p 00000000 fe:01 7 /other/device/same/inode", SMAPS_FILE},
        {"b000-c000 ---p 00000000 00:00 0 ", SMAPS_RESERVED},
        {"c000-d000 rw-s 00000000 00:01 1 /memfd:tidemark (deleted)", SMAPS_TOOL},
        {"d000-e000 rw-s 00000000 00:01 1 /memfd:tidemarks (deleted)", SMAPS_SHARED_MEMORY},
        {"e000-f000 rw-s 00000000 00:01 2 /memfd:tidemark", SMAPS_FILE},
        {"f000-10000 rw-s 00000000 00:01 3 /dev/shm/x", SMAPS_SHARED_MEMORY},
        {"10000-11000 rw-s 00000000 00:01 4 /SYSV00000000 (deleted)", SMAPS_SHARED_MEMORY},
        {"11000-12000 rw-s 00000000 00:01 5 /SYSV/of/someone", SMAPS_FILE},
        {"12000-13000 rw-s 00000000 00:01 6 /dev/zero (deleted)", SMAPS_SHARED_MEMORY},
        {"13000-14000 rw-p 00000000 00:01 6 /dev/zero", SMAPS_ANONYMOUS},
        {"14000-15000 rw-s 00000000 00:05 6 /dev/dri/card0", SMAPS_DEVICE},
        {"15000-16000 rw-p 00000000 00:00 0 [anon: glibc: pthread stack: 12]", SMAPS_THREAD_STACK},
        {"16000-17000 rw-p 00000000 00:00 0 [anon: glibc: malloc arena]", SMAPS_ANONYMOUS},
        {"17000-18000 rw-p 00000000 00:00 0 [anon:arena]", SMAPS_ANONYMOUS},
        {"18000-19000 rw-p 00000000 00:00 0 [stack:123]", SMAPS_THREAD_STACK},
        {"19000-1a000 r--p 00000000 00:00 0 [vvar_vclock]", SMAPS_VDSO},
        {"1a000-1b000 rw-p 00000000 00:0f 99 anon_inode:[perf_event]", SMAPS_OTHER},
        {"1b000-1c000 rw-p 00000000 00:00 0 [stack]", SMAPS_MAIN_STACK},
        {"1c000-1d000 r-xp 00000000 00:00 0 [vdso]", SMAPS_VDSO},
    };
    enum { COUNT = sizeof table / sizeof *table };
    struct strbuf text = STRBUF_INIT;
    struct smaps smaps = SMAPS_INIT;
    for (size_t i = 0; i < COUNT; i++)
        strbuf_addf(&text, "%s\nRss: 4 kB\n", table[i].line);
    strbuf_add_string(&text, "1d000-1e000 rw-p 00000000 00:00 0 \nVmFlags: rd wr gd \n"
                             "1e000-1f000 rw-s 00000000 00:0f 1 /anon_hugepage (deleted)\n"
                             "VmFlags: rd wr ht \n"
                             "1f000-20000 rw-s 00000000 00:0f 1 /sys/x/resource0\n"
                             "VmFlags: rd wr io pf \n"
                             "20000-21000 r--p 00000000 fe:00 7 /bin/x (deleted)\n"
                             "Anonymous: 4 kB\n");
    assert_int_equal(read_text(&smaps, text.data, text.length), 0);
    assert_int_equal(smaps.count, COUNT + 4);
    for (size_t i = 0; i < COUNT; i++) {
        if (smaps.mappings[i].kind != table[i].kind)
            print_message("%s\n", table[i].line);
        assert_int_equal(smaps.mappings[i].kind, table[i].kind);
        assert_int_equal(smaps.mappings[i].guessed, table[i].kind == SMAPS_BSS);
    }
    assert_int_equal(smaps.mappings[COUNT].kind, SMAPS_THREAD_STACK);
    assert_int_equal(smaps.mappings[COUNT + 1].kind, SMAPS_HUGE);
    assert_int_equal(smaps.mappings[COUNT + 2].kind, SMAPS_DEVICE);
    assert_int_equal(smaps.mappings[COUNT + 3].kind, SMAPS_DATA); /* written, then protected */
    strbuf_release(&text);
    smaps_release(&smaps);
}

static void hints_are_believed_where_they_cover(void **state)
{
    (void)state;
    static const char text[] = "1000-2000 ---p 00000000 00:00 0 \n"
                               "2000-6000 rw-p 00000000 00:00 0 \n"
                               "7000-9000 rw-p 00000000 00:00 0 \n"
                               "9000-a000 r--p 00000000 00:00 0 \n"
                               "b000-c000 rw-p 00000000 00:00 0 [heap]\n"
                               "c000-d000 rw-p 00000000 00:00 0 \n";
    static const struct smaps_hint ranges[] = {{0x6800, 0x8000, SMAPS_TOOL},
                                               {0x8000, 0xa000, SMAPS_TOOL},
                                               {0xb100, 0xb200, SMAPS_THREAD_STACK}};
    static const uint64_t pointers[] = {0xb180, 0x3000, 0x7100, 0, UINT64_MAX, 0x1800, 0xc100};
    struct smaps smaps = SMAPS_INIT;
    assert_int_equal(read_text(&smaps, text, sizeof text - 1), 0);
    const struct smaps_hints hints = {ranges, 3, pointers, 7};
    assert_int_equal(smaps_classify(&smaps, &hints), 0);
    static const enum smaps_kind expected[] = {SMAPS_RESERVED, SMAPS_THREAD_STACK, SMAPS_TOOL,
                                               SMAPS_TOOL,     SMAPS_HEAP,         SMAPS_ANONYMOUS};
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(smaps.mappings[i].kind, expected[i]);
    assert_true(smaps.mappings[1].guessed);
    assert_int_equal(smaps.mappings[4].hinted_bytes, 0x100);
    assert_int_equal(smaps.mappings[2].hinted_bytes, 0);

    static const struct smaps_hint unsorted[] = {{0x8000, 0xa000, SMAPS_TOOL},
                                                 {0x6800, 0x8000, SMAPS_TOOL}};
    const struct smaps_hints wrong = {unsorted, 2, NULL, 0};
    assert_int_equal(smaps_classify(&smaps, &wrong), -EINVAL);
    assert_int_equal(smaps_classify(&smaps, NULL), 0);
    assert_int_equal(smaps.mappings[2].kind, SMAPS_ANONYMOUS);
    assert_int_equal(smaps.mappings[4].hinted_bytes, 0);
    smaps_release(&smaps);
}

/* ---- A process with known mappings --------------------------------------------------------- */

struct known {
    char *anonymous, *reserved, *locked, *file, *memfd, *own, *sysv, *zero, *big, *break_area;
    char *thread_stack; /* an address in it */
    bool is_locked;
    atomic_bool thread_is_ready;
};

static char variables[3 << 12] = {1}; /* data */
static char zeroes[40 << 12];         /* bss */
static const char constant[] = "a constant";

static void *wait_in_thread(void *context)
{
    struct known *known = context;
    char local = 0;
    known->thread_stack = &local;
    atomic_store(&known->thread_is_ready, true);
    while (pause() < 0)
        continue;
    return NULL;
}

static char *map(size_t pages, int protection, int flags, int fd)
{
    void *memory = mmap(NULL, pages * process_page_bytes(), protection, flags, fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* Private memory with a page without access on either side, so that the kernel joins it with
 * nobody's, whatever stood beside the hole it found. */
static char *map_alone(size_t pages)
{
    size_t page = process_page_bytes();
    char *memory = map(pages + 2, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (!memory || mprotect(memory + page, pages * page, PROT_READ | PROT_WRITE) != 0)
        _exit(1);
    return memory + page;
}

static char *map_file(int fd, size_t pages, int flags, size_t touched)
{
    size_t page = process_page_bytes();
    if (fd < 0 || ftruncate(fd, (off_t)(pages * page)) != 0)
        _exit(1);
    char *memory = map(pages, PROT_READ | PROT_WRITE, flags, fd);
    memset(memory, 1, touched * page);
    close(fd);
    return memory;
}

static void map_known(void *shared)
{
    struct known *known = shared;
    size_t page = process_page_bytes();
    known->anonymous = map_alone(100);
    memset(known->anonymous, 1, 10 * page);
    memset(known->anonymous, 1, 30 * page);
    madvise(known->anonymous + 20 * page, 10 * page, MADV_DONTNEED);
    known->reserved = map(1000, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    known->locked = map_alone(8);
    /* not by mlock(), which the sanitizers leave out */
    known->is_locked = syscall(SYS_mlock, known->locked, 8 * page) == 0;
    char name[] = "/tmp/tide mark\n(deleted)-XXXXXX";
    int fd = mkstemp(name);
    known->file = map_file(fd, 50, MAP_SHARED, 7);
    unlink(name);
    known->memfd = map_file(memfd_create("some thing", 0), 20, MAP_SHARED, 5);
    known->own = map_file(memfd_create("tidemark", 0), 20, MAP_SHARED, 4);
    int id = shmget(IPC_PRIVATE, 16 * page, IPC_CREAT | 0600);
    known->sysv = shmat(id, NULL, 0);
    shmctl(id, IPC_RMID, NULL);
    memset(known->sysv, 1, 3 * page);
    known->zero = map(16, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
    memset(known->zero, 1, 2 * page);
    known->big = map_alone(1024);
    known->big = (char *)(((uintptr_t)known->big + (2u << 20) - 1) & ~(uintptr_t)((2u << 20) - 1));
    madvise(known->big, 2u << 20, MADV_HUGEPAGE);
    known->big[1] = 1;
    known->break_area = sbrk(10 * (intptr_t)page);
    memset(known->break_area, 1, 10 * page);
    memset(zeroes + page, 1, 20 * page);
    pthread_t thread;
    pthread_create(&thread, NULL, wait_in_thread, known);
    while (!atomic_load(&known->thread_is_ready))
        usleep(100);
}

static const struct smaps_mapping *holds(const struct smaps *smaps, const void *address,
                                         enum smaps_kind kind)
{
    const struct smaps_mapping *mapping = smaps_find(smaps, (uintptr_t)address);
    assert_non_null(mapping);
    assert_string_equal(smaps_kind_name(mapping->kind), smaps_kind_name(kind));
    return mapping;
}

static void check_known(const struct smaps *smaps, const struct known *known)
{
    size_t page = process_page_bytes();
    const struct smaps_mapping *mapping = holds(smaps, known->anonymous, SMAPS_ANONYMOUS);
    assert_int_equal(number_of(mapping->bytes.rss), 20 * page);
    assert_int_equal(number_of(mapping->bytes.uss), 20 * page);
    assert_int_equal(number_of(mapping->bytes.anonymous), 20 * page);
    mapping = holds(smaps, known->reserved, SMAPS_RESERVED);
    assert_int_equal(number_of(mapping->bytes.rss), 0);
    mapping = holds(smaps, known->file, SMAPS_FILE);
    assert_true(mapping->deleted);
    assert_non_null(strstr(mapping->path, "/tide mark\n(deleted)-"));
    assert_true(number_of(mapping->bytes.rss) >= 7 * page && !number_of(mapping->bytes.anonymous));
    if (known->is_locked) {
        mapping = holds(smaps, known->locked, SMAPS_ANONYMOUS);
        assert_int_equal(number_of(mapping->bytes.locked), 8 * page);
        assert_true(mapping->flags & SMAPS_IS_LOCKED);
    }
    assert_int_equal(number_of(holds(smaps, known->memfd, SMAPS_SHARED_MEMORY)->bytes.rss),
                     5 * page);
    assert_int_equal(number_of(holds(smaps, known->own, SMAPS_TOOL)->bytes.rss), 4 * page);
    assert_int_equal(number_of(holds(smaps, known->sysv, SMAPS_SHARED_MEMORY)->bytes.rss),
                     3 * page);
    assert_int_equal(number_of(holds(smaps, known->zero, SMAPS_SHARED_MEMORY)->bytes.rss),
                     2 * page);
    mapping = holds(smaps, known->big, SMAPS_ANONYMOUS);
    assert_int_equal(number_of(mapping->bytes.huge),
                     number_of(mapping->bytes.rss) >= 2u << 20 ? 2u << 20 : 0);
    assert_true(number_of(holds(smaps, known->break_area, SMAPS_HEAP)->bytes.rss) >= 10 * page);
}

static void check_module(const struct smaps *smaps)
{
    size_t page = process_page_bytes();
    holds(smaps, (const void *)(uintptr_t)check_module, SMAPS_TEXT);
    holds(smaps, constant, SMAPS_RODATA);
    holds(smaps, variables, SMAPS_DATA);
    const struct smaps_mapping *bss = holds(smaps, zeroes + 30 * page, SMAPS_BSS);
    assert_true(bss->guessed);
    assert_true(number_of(bss->bytes.rss) >= 20 * page);
    holds(smaps, &(int){0}, SMAPS_MAIN_STACK);
}

static void a_process_is_as_it_made_itself(void **state)
{
    (void)state;
    struct known *known = victim_shared(sizeof *known);
    struct victim victim = victim_start(map_known, known);
    struct smaps smaps = SMAPS_INIT;
    assert_int_equal(smaps_read(&smaps, victim.pid), 0);
    assert_int_equal(smaps.damaged, 0);
    check_known(&smaps, known);
    check_module(&smaps);
    uint64_t pointer = (uintptr_t)known->thread_stack;
    const struct smaps_hints hints = {.stack_pointers = &pointer, .stack_pointer_count = 1};
    assert_int_equal(smaps_classify(&smaps, &hints), 0);
    holds(&smaps, known->thread_stack, SMAPS_THREAD_STACK);
    check_known(&smaps, known);
    smaps_release(&smaps);
    victim_end(victim);
    munmap(known, sizeof *known);
}

/* ---- Sums ---------------------------------------------------------------------------------- */

/* A copy of a file of /proc: PSS changes with every other process that maps the same libraries, awk
 * among them. */
struct copy {
    char path[40];
    int fd;
};

static struct copy copy_of(pid_t pid, const char *file)
{
    struct copy copy = {.path = "/tmp/tidemark-smaps-XXXXXX"};
    char command[120];
    copy.fd = mkstemp(copy.path);
    snprintf(command, sizeof command, "cat /proc/%d/%s > %s", (int)pid, file, copy.path);
    assert_int_equal(system(command), 0);
    return copy;
}

static void copy_remove(struct copy *copy)
{
    close(copy->fd);
    unlink(copy->path);
}

/* What awk says about a field, summed. */
static uint64_t awk_sum(const struct copy *copy, const char *pattern)
{
    char command[200];
    unsigned long long kib = 0;
    snprintf(command, sizeof command, "awk '/^(%s):/ {n += $2} END {printf \"%%.0f\", n}' %s",
             pattern, copy->path);
    FILE *pipe = popen(command, "r");
    assert_int_equal(fscanf(pipe, "%llu", &kib), 1);
    pclose(pipe);
    return kib * KIB;
}

static const struct {
    const char *pattern;
    size_t offset;
} summed[] = {
    {"Size", offsetof(struct smaps_bytes, size)},
    {"Rss", offsetof(struct smaps_bytes, rss)},
    {"Pss", offsetof(struct smaps_bytes, pss)},
    {"Private_Clean|Private_Dirty", offsetof(struct smaps_bytes, uss)},
    {"Shared_Clean|Shared_Dirty", offsetof(struct smaps_bytes, shared)},
    {"Anonymous", offsetof(struct smaps_bytes, anonymous)},
    {"Swap", offsetof(struct smaps_bytes, swap)},
    {"SwapPss", offsetof(struct smaps_bytes, swap_pss)},
    {"AnonHugePages|ShmemPmdMapped|FilePmdMapped", offsetof(struct smaps_bytes, huge)},
    {"Locked", offsetof(struct smaps_bytes, locked)},
};
enum { SUMMED = sizeof summed / sizeof *summed };

static uint64_t field_of(const struct smaps_bytes *bytes, size_t i)
{
    return number_of(*(const struct figure *)((const char *)bytes + summed[i].offset));
}

static void check_sums(const struct copy *copy, const struct smaps_totals *totals)
{
    for (size_t i = 0; i < SUMMED; i++) {
        uint64_t by_kind = 0;
        for (size_t kind = 0; kind < SMAPS_KINDS; kind++)
            by_kind += field_of(&totals->kinds[kind], i);
        assert_int_equal(by_kind, field_of(&totals->all, i));
        assert_int_equal(field_of(&totals->all, i), awk_sum(copy, summed[i].pattern));
    }
    assert_int_equal(number_of(totals->all.rss),
                     number_of(totals->all.uss) + number_of(totals->all.shared));
}

static void sums_are_those_of_awk_and_of_the_kernel(void **state)
{
    (void)state;
    struct known *known = victim_shared(sizeof *known);
    struct victim victim = victim_start(map_known, known);
    kill(victim.pid, SIGSTOP);
    waitpid(victim.pid, NULL, WUNTRACED);
    struct smaps smaps = SMAPS_INIT;
    struct smaps_totals totals;
    struct smaps_bytes rollup, before;
    struct copy copy;
    /* Pages that the kernel moves at that moment are not counted: it said 16 KiB less once. */
    for (unsigned tries = 0; tries < 100; tries++) {
        assert_int_equal(smaps_rollup(victim.pid, &before), 0);
        copy = copy_of(victim.pid, "smaps");
        assert_int_equal(smaps_rollup(victim.pid, &rollup), 0);
        if (figure_equal(before.rss, rollup.rss) && figure_equal(before.uss, rollup.uss))
            break;
        copy_remove(&copy);
    }
    assert_int_equal(smaps_read_fd(&smaps, copy.fd), 0);
    smaps_sum(&smaps, &totals);
    check_sums(&copy, &totals);
    copy_remove(&copy);

    copy = copy_of(victim.pid, "smaps_rollup");
    assert_int_equal(smaps_rollup_fd(copy.fd, &rollup), 0);
    for (size_t i = 1; i < SUMMED; i++)
        assert_int_equal(field_of(&rollup, i), awk_sum(&copy, summed[i].pattern));
    copy_remove(&copy);

    rollup = before;
    assert_int_equal(number_of(rollup.rss), number_of(totals.all.rss));
    assert_int_equal(number_of(rollup.uss) + number_of(rollup.shared), number_of(totals.all.rss));
    assert_int_equal(number_of(rollup.anonymous), number_of(totals.all.anonymous));
    assert_int_equal(number_of(rollup.huge), number_of(totals.all.huge));
    smaps_release(&smaps);
    victim_end(victim);
    munmap(known, sizeof *known);
}

/* ---- Gone, forbidden ----------------------------------------------------------------------- */

static void hold_still(void *shared)
{
    (void)shared;
}

extern char _end[]; /* the linker's: behind the last variable of this program */
static char many_variables[1 << 20];

static void a_modules_variables_end_where_its_headers_say(void **state)
{
    (void)state;
    struct smaps smaps = SMAPS_INIT;
    many_variables[1 << 19] = 1;
    assert_int_equal(smaps_read(&smaps, getpid()), 0);
    module_ends_find(&smaps, getpid(), 0, NULL);
    const struct smaps_mapping *mapping = smaps_find(&smaps, (uintptr_t)&many_variables[1 << 19]);
    assert_non_null(mapping);
    assert_int_equal(mapping->kind, SMAPS_BSS);
    uint64_t page = process_page_bytes();
    assert_true(mapping->bss_end == (((uintptr_t)_end + page - 1) & ~(page - 1)));
    struct smaps_mapping data = mapping[-1];
    int text = file_of("no module", 9);
    assert_true(module_end_fd(text, &data) == 0);
    close(text);
    data.inode++; /* another file has its name by now */
    struct smaps_mapping pair[] = {data, *mapping};
    struct smaps replaced = {.mappings = pair, .count = 2};
    module_ends_find(&replaced, getpid(), 0, NULL);
    assert_true(pair[1].bss_end == 0);
    smaps_release(&smaps);
}

static bool is_anything(const char *path)
{
    (void)path;
    return true;
}

/* Of a file that stays what it is nobody reads it again: there is no such process. */
static void a_steady_modules_end_is_read_once(void **state)
{
    (void)state;
    enum { NOBODY = 1 << 30 };
    struct smaps smaps = SMAPS_INIT;
    many_variables[1 << 19] = 1;
    assert_int_equal(smaps_read(&smaps, getpid()), 0);
    module_ends_find(&smaps, getpid(), 0, is_anything);
    const struct smaps_mapping *mapping = smaps_find(&smaps, (uintptr_t)&many_variables[1 << 19]);
    uint64_t end = mapping->bss_end;
    assert_true(end > (uintptr_t)&many_variables[1 << 19]);
    struct smaps_mapping own[] = {mapping[-1], mapping[0]};
    struct smaps alone = {.mappings = own, .count = 2};
    module_ends_find(&alone, getpid(), 0, is_anything);
    own[1].bss_end = 0;
    module_ends_find(&alone, NOBODY, 0, is_anything);
    assert_true(own[1].bss_end == end);
    module_ends_find(&alone, NOBODY, 0, NULL);
    assert_true(own[1].bss_end == 0);
    smaps_release(&smaps);
}

static void what_is_gone_is_said_so(void **state)
{
    (void)state;
    struct smaps smaps = SMAPS_INIT;
    struct smaps_bytes bytes;
    struct victim victim = victim_start(hold_still, NULL);
    assert_int_equal(smaps_read(&smaps, victim.pid), 0);
    assert_true(smaps.count > 5);
    kill(victim.pid, SIGKILL);
    siginfo_t info;
    waitid(P_PID, (id_t)victim.pid, &info, WEXITED | WNOWAIT);
    assert_int_equal(smaps_read(&smaps, victim.pid), -ESRCH); /* a zombie */
    assert_int_equal(smaps.count, 0);
    assert_int_equal(smaps_rollup(victim.pid, &bytes), -ESRCH);
    waitpid(victim.pid, NULL, 0);
    assert_int_equal(smaps_read(&smaps, victim.pid), -ESRCH);
    assert_int_equal(smaps_rollup(victim.pid, &bytes), -ESRCH);
    smaps_release(&smaps);
}

static int look_unprivileged(void)
{
    struct smaps smaps = SMAPS_INIT;
    struct smaps_bytes bytes;
    pid_t other = getuid() == 0 ? getppid() : 1;
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
        return 77;
    if (smaps_read(&smaps, other) != -EACCES)
        return 1;
    return smaps_rollup(other, &bytes) == -EACCES ? 0 : 2;
}

static void what_is_forbidden_is_said_so(void **state)
{
    (void)state;
    look_from_child(look_unprivileged);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_is_taken_apart),
        cmocka_unit_test(a_text_may_be_cut_anywhere),
        cmocka_unit_test(a_text_may_be_scrambled),
        cmocka_unit_test(numbers_that_do_not_fit_are_left_out),
        cmocka_unit_test(a_mapping_may_have_other_lines_than_the_one_before),
        cmocka_unit_test(a_line_may_be_of_any_length),
        cmocka_unit_test(kinds_follow_from_names_flags_and_neighbours),
        cmocka_unit_test(hints_are_believed_where_they_cover),
        cmocka_unit_test(a_process_is_as_it_made_itself),
        cmocka_unit_test(sums_are_those_of_awk_and_of_the_kernel),
        cmocka_unit_test(a_steady_modules_end_is_read_once),
        cmocka_unit_test(a_modules_variables_end_where_its_headers_say),
        cmocka_unit_test(what_is_gone_is_said_so),
        cmocka_unit_test(what_is_forbidden_is_said_so),
    };
    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
