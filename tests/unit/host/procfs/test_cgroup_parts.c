/* What the memory of a control group is made of: of stored files of both versions, and of a real
 * group with a child that has known memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "../../model/numbers.h"
#include "procfs/cgroup_parts.h"
#include "procfs/process.h"
#include "victim.h"

enum { MIB = 1 << 20 };

/* ---- Stored files -------------------------------------------------------------------------- */

struct tree {
    char top[64];
};

static void tree_write(const struct tree *tree, const char *file, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", tree->top, file);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static struct tree tree_new(void)
{
    struct tree tree = {"/tmp/tidemark-parts-XXXXXX"};
    char path[128];
    assert_non_null(mkdtemp(tree.top));
    snprintf(path, sizeof path, "%s/below", tree.top);
    assert_int_equal(mkdir(path, 0700), 0);
    return tree;
}

static void tree_remove(const struct tree *tree)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", tree->top);
    assert_int_equal(system(command), 0);
}

static struct cgroup_parts tree_read(const struct tree *tree, int version)
{
    struct cgroup_parts parts = CGROUP_PARTS_INIT;
    struct cgroup_place place = {.version = version};
    snprintf(place.mount, sizeof place.mount, "%s", tree->top);
    assert_int_equal(cgroup_parts_read_place(&parts, &place), 0);
    return parts;
}

static uint64_t sum_of(const struct cgroup_parts *parts, int kind)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < parts->count; i++)
        if (kind < 0 || (int)parts->list[i].kind == kind)
            sum += parts->list[i].bytes;
    return sum;
}

static const struct cgroup_part *part_of(const struct cgroup_parts *parts, int kind,
                                         const char *name)
{
    for (size_t i = 0; i < parts->count; i++) {
        const struct cgroup_part *part = &parts->list[i];
        if ((int)part->kind == kind &&
            (name ? part->name && strstr(part->name, name) : !part->name))
            return part;
    }
    return NULL;
}

static void version_2_says_all_kinds(void **state)
{
    (void)state;
    struct tree tree = tree_new();
    tree_write(&tree, "memory.current", "1073741824\n");
    tree_write(&tree, "memory.stat",
               "anon 209715200\nfile 734003200\nkernel 104857600\nkernel_stack 1048576\n"
               "pagetables 20971520\nsec_pagetables 0\npercpu 2097152\nsock 4194304\n"
               "vmalloc 65536\nshmem 104857600\nslab_reclaimable 1\nslab_unreclaimable 1\n"
               "slab 52428800\n");
    struct cgroup_parts parts = tree_read(&tree, 2);
    assert_int_equal(sum_of(&parts, CGROUP_PROCESS), 200 * MIB);
    assert_int_equal(sum_of(&parts, CGROUP_PAGE_CACHE), 600 * MIB);
    assert_int_equal(sum_of(&parts, CGROUP_TMPFS), 100 * MIB);
    assert_int_equal(sum_of(&parts, CGROUP_SLAB), 50 * MIB);
    assert_int_equal(sum_of(&parts, CGROUP_PAGE_TABLES), 20 * MIB);
    assert_int_equal(sum_of(&parts, CGROUP_SOCKETS), 4 * MIB);
    assert_int_equal(sum_of(&parts, CGROUP_KERNEL_OTHER), 30 * MIB);
    assert_int_equal(sum_of(&parts, CGROUP_OTHER), 20 * MIB);
    assert_int_equal(sum_of(&parts, -1), number_of(parts.current_bytes));
    cgroup_parts_release(&parts);
    tree_remove(&tree);
}

/* Before Linux 5.18 there is no sum of the kernel's memory. */
static void version_2_of_old_kernels_adds_up_too(void **state)
{
    (void)state;
    struct tree tree = tree_new();
    tree_write(&tree, "memory.current", "104857600\n");
    tree_write(
        &tree, "memory.stat",
        "anon 52428800\nfile 10485760\nkernel_stack 1048576\npercpu 1048576\nslab 2097152\n");
    struct cgroup_parts parts = tree_read(&tree, 2);
    assert_int_equal(sum_of(&parts, CGROUP_KERNEL_OTHER), 2 * MIB);
    assert_int_equal(sum_of(&parts, CGROUP_SLAB), 2 * MIB);
    assert_int_equal(sum_of(&parts, -1), 100 * MIB);
    cgroup_parts_release(&parts);
    tree_remove(&tree);
}

static void version_1_has_the_kernels_in_one_sum(void **state)
{
    (void)state;
    struct tree tree = tree_new();
    tree_write(&tree, "memory.usage_in_bytes", "849825792\n");
    tree_write(&tree, "memory.kmem.usage_in_bytes", "31121408\n");
    tree_write(&tree, "memory.stat",
               "cache 1\nrss 1\nshmem 1\nhierarchical_memory_limit 9223372036854771712\n"
               "total_cache 632373248\ntotal_rss 181993472\ntotal_shmem 614400\n");
    struct cgroup_parts parts = tree_read(&tree, 1);
    assert_int_equal(sum_of(&parts, CGROUP_PROCESS), 181993472);
    assert_int_equal(sum_of(&parts, CGROUP_PAGE_CACHE), 632373248 - 614400);
    assert_int_equal(sum_of(&parts, CGROUP_TMPFS), 614400);
    assert_int_equal(sum_of(&parts, CGROUP_KERNEL_OTHER), 31121408);
    assert_int_equal(sum_of(&parts, -1), 849825792);
    cgroup_parts_release(&parts);
    tree_remove(&tree);
}

/* The kernel counts the group in batches, and a process at once: names are never more than the
 * sum. */
static void names_are_parts_of_the_kernels_sums(void **state)
{
    (void)state;
    struct tree tree = tree_new();
    char pid[32];
    snprintf(pid, sizeof pid, "%d\n", (int)getpid());
    tree_write(&tree, "memory.current", "2000000\n");
    tree_write(&tree, "memory.stat", "anon 409600\nfile 819200\nshmem 0\nkernel 0\n");
    tree_write(&tree, "below/cgroup.procs", pid);
    struct cgroup_parts parts = tree_read(&tree, 2);
    assert_int_equal(sum_of(&parts, CGROUP_PROCESS), 409600);
    assert_non_null(part_of(&parts, CGROUP_PROCESS, "test_procfs"));
    assert_int_equal(sum_of(&parts, CGROUP_PAGE_CACHE), 819200);
    assert_int_equal(sum_of(&parts, -1), 2000000);
    cgroup_parts_release(&parts);
    tree_remove(&tree);
}

static void a_group_without_figures_is_said_so(void **state)
{
    (void)state;
    struct tree tree = tree_new();
    struct cgroup_parts parts = CGROUP_PARTS_INIT;
    struct cgroup_place place = {.version = 2};
    snprintf(place.mount, sizeof place.mount, "%s", tree.top);
    assert_int_equal(cgroup_parts_read_place(&parts, &place), -ENOENT);
    assert_int_equal(parts.count, 0);
    tree_write(&tree, "memory.current", "x\n");
    tree_write(&tree, "memory.stat", "anon\nfile 99999999999999999999999\n\n\n");
    assert_int_equal(cgroup_parts_read_place(&parts, &place), -ENOENT);
    tree_remove(&tree);
}

/* ---- A real group -------------------------------------------------------------------------- */

struct known {
    char procs[PATH_MAX], file[64], memory_file[64];
};

enum { ANONYMOUS = 48 * MIB, FILED = 24 * MIB, SHARED = 16 * MIB };

static void write_file(const char *path, size_t bytes)
{
    static char text[MIB];
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    memset(text, 'x', sizeof text);
    for (size_t done = 0; done < bytes; done += sizeof text)
        if (write(fd, text, sizeof text) != sizeof text)
            abort();
}

static void have_known_memory(void *shared)
{
    struct known *known = shared;
    char pid[16];
    int fd = open(known->procs, O_WRONLY);
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    if (fd < 0 || write(fd, pid, strlen(pid)) < 0)
        _exit(1);
    char *memory =
        mmap(NULL, ANONYMOUS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(memory, 1, ANONYMOUS);
    write_file(known->file, FILED); /* and stays open */
    write_file(known->memory_file, SHARED);
}

/* Two processes have it, by a fork. Beside it each has what it shares with us, which is of our
 * group: some MiB with sanitizers, by which the last of both has less. */
static void share_memory(void *shared)
{
    pid_t parent = getpid();
    have_known_memory(shared);
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (getppid() == parent) /* it may have ended before */
            pause();
        _exit(0);
    }
}

/* A group of our own below ours; false: this machine lets us make none. */
static bool make_group(struct cgroup_place *place)
{
    char path[2 * PATH_MAX];
    if (cgroup_locate(getpid(), place) != 0)
        return false;
    size_t length = strlen(place->path);
    snprintf(place->path + length, sizeof place->path - length, "/tidemark-parts-%d",
             (int)getpid());
    snprintf(path, sizeof path, "%s%s", place->mount, place->path);
    return mkdir(path, 0700) == 0;
}

static void assert_named(const struct cgroup_parts *parts, int kind, const char *name,
                         uint64_t least, uint64_t most)
{
    const struct cgroup_part *part = part_of(parts, kind, name);
    assert_non_null(part);
    assert_in_range(part->bytes, least, most);
}

/* Starts `play` in a group of its own. */
static struct victim victim_in_group(void (*play)(void *), struct cgroup_place *place,
                                     struct known *known)
{
    char path[2 * PATH_MAX];
    if (geteuid() != 0 || !make_group(place))
        skip();
    snprintf(path, sizeof path, "%s%s", place->mount, place->path);
    snprintf(known->procs, sizeof known->procs, "%.3000s/cgroup.procs", path);
    snprintf(known->file, sizeof known->file, "/tmp/tidemark-parts-%d", (int)getpid());
    snprintf(known->memory_file, sizeof known->memory_file, "/dev/shm/tidemark-parts-%d",
             (int)getpid());
    return victim_start(play, known);
}

static void end_group(struct victim victim, const struct cgroup_place *place,
                      const struct known *known)
{
    char path[2 * PATH_MAX];
    victim_end(victim);
    unlink(known->file);
    unlink(known->memory_file);
    snprintf(path, sizeof path, "%s%s", place->mount, place->path);
    for (int tries = 0; tries < 100 && rmdir(path) != 0; tries++)
        usleep(20000);
}

static void a_real_group_is_taken_apart(void **state)
{
    (void)state;
    struct cgroup_place place;
    struct cgroup_parts parts = CGROUP_PARTS_INIT;
    struct known *known = victim_shared(sizeof *known);
    struct victim victim = victim_in_group(have_known_memory, &place, known);
    assert_int_equal(cgroup_parts_read_place(&parts, &place), 0);
    uint64_t current = number_of(parts.current_bytes);
    assert_in_range(current, ANONYMOUS + FILED + SHARED, ANONYMOUS + FILED + SHARED + 16 * MIB);
    assert_in_range(sum_of(&parts, -1), current, current + MIB);
    assert_named(&parts, CGROUP_PROCESS, "test_procfs", ANONYMOUS, ANONYMOUS + 2 * MIB);
    assert_named(&parts, CGROUP_PAGE_CACHE, known->file, FILED - MIB, FILED);
    assert_named(&parts, CGROUP_TMPFS, known->memory_file, SHARED - MIB, SHARED);
    assert_in_range(sum_of(&parts, CGROUP_OTHER), 0, 4 * MIB);
    cgroup_parts_release(&parts);
    end_group(victim, &place, known);
}

static void what_a_fork_shares_is_divided(void **state)
{
    (void)state;
    struct cgroup_place place;
    struct cgroup_parts parts = CGROUP_PARTS_INIT;
    struct known *known = victim_shared(sizeof *known);
    struct victim victim = victim_in_group(share_memory, &place, known);
    assert_int_equal(cgroup_parts_read_place(&parts, &place), 0);
    size_t processes = 0;
    for (size_t i = 0; i < parts.count; i++)
        if (parts.list[i].kind == CGROUP_PROCESS && parts.list[i].name) {
            assert_in_range(parts.list[i].bytes, ANONYMOUS / 2 - 8 * MIB, ANONYMOUS / 2 + 8 * MIB);
            processes++;
        }
    assert_int_equal(processes, 2);
    assert_in_range(sum_of(&parts, CGROUP_PROCESS), ANONYMOUS, ANONYMOUS + 16 * MIB);
    cgroup_parts_release(&parts);
    end_group(victim, &place, known);
}

static void what_a_file_has_cached_is_what_was_written(void **state)
{
    (void)state;
    char path[] = "/tmp/tidemark-cached-XXXXXX";
    int fd = mkstemp(path);
    uint64_t bytes;
    write_file(path, 3 * MIB);
    assert_true(cgroup_parts_cached(fd, 3 * MIB, &bytes));
    assert_int_equal(bytes, 3 * MIB);
    close(fd);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_2_says_all_kinds),
        cmocka_unit_test(version_2_of_old_kernels_adds_up_too),
        cmocka_unit_test(version_1_has_the_kernels_in_one_sum),
        cmocka_unit_test(names_are_parts_of_the_kernels_sums),
        cmocka_unit_test(a_group_without_figures_is_said_so),
        cmocka_unit_test(a_real_group_is_taken_apart),
        cmocka_unit_test(what_a_fork_shares_is_divided),
        cmocka_unit_test(what_a_file_has_cached_is_what_was_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
