/* Processes with known memory, counted; and against sums made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "../../host/procfs/victim.h"
#include "system_memory/processes.h"
#include "system_memory/process_maps.h"
#include "../../model/numbers.h"

#define UNKNOWN UINT64_MAX

enum { MIB = 1 << 20, CHILDREN = 3 };

/* What the children map: 8 MiB of their own, and 6 MiB that all of them share. */
struct plan {
    char *shared;
    char *own;
};

static void touch(char *memory, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += 4096)
        memory[at] = 1;
}

static void set_up(void *context)
{
    struct plan *plan = context;
    prctl(PR_SET_NAME, "tide\n \033[31m\xff");
    madvise(plan->own, 8 * MIB, MADV_NOHUGEPAGE);
    touch(plan->own, 8 * MIB);
    touch(plan->shared, 6 * MIB);
}

static struct plan plan;
static struct victim victims[CHILDREN];

static void *reserve(int kind)
{
    void *memory = mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    return memory;
}

static int children_start(void **state)
{
    (void)state;
    plan = (struct plan){reserve(MAP_SHARED), reserve(MAP_PRIVATE)};
    for (size_t i = 0; i < CHILDREN; i++)
        victims[i] = victim_start(set_up, &plan);
    return 0;
}

static int children_end(void **state)
{
    (void)state;
    for (size_t i = 0; i < CHILDREN; i++)
        victim_end(victims[i]);
    return 0;
}

/* Of 6 MiB. The kernel rounds to KiB downwards. */
static bool is_third_of_shared(uint64_t pss)
{
    return pss <= 2 * MIB && pss >= 2 * MIB - 4096;
}

static const struct system_memory_process *find(const struct system_memory *system, pid_t pid)
{
    for (size_t i = 0; i < system->count; i++)
        if (system->processes[i].status.pid == pid)
            return &system->processes[i];
    return NULL;
}

static struct system_memory_request of_children(pid_t pids[CHILDREN])
{
    for (size_t i = 0; i < CHILDREN; i++)
        pids[i] = victims[i].pid;
    return (struct system_memory_request){.pids = pids, .pid_count = CHILDREN};
}

/* ---- What they have ------------------------------------------------------------------------ */

static void own_and_shared_memory_are_told_apart(void **state)
{
    (void)state;
    pid_t pids[CHILDREN];
    struct system_memory system;
    struct system_memory_request request = of_children(pids);
    assert_int_equal(system_memory_take(&system, &request), 0);
    assert_int_equal(system.count, CHILDREN);
    assert_int_equal(system.state_counts[SYSTEM_MEMORY_READ], CHILDREN);
    assert_false(system.is_whole);
    for (size_t i = 0; i < CHILDREN; i++) {
        const struct system_memory_process *process = &system.processes[i];
        const struct smaps_bytes *bytes = &process->bytes;
        assert_true(number_of(bytes->uss) >= 8 * MIB && number_of(bytes->uss) < 10 * MIB);
        assert_true(number_of(bytes->rss) >= 14 * MIB);
        assert_true(is_third_of_shared(number_of(bytes->pss_shared_memory)));
        assert_true(number_of(bytes->pss) >= 10 * MIB &&
                    number_of(bytes->pss) < number_of(bytes->rss));
        assert_int_equal(process->status.parent, getpid());
        assert_int_equal(process->status.uid, geteuid());
        assert_string_equal(process->status.name, "tide\n \033[31m\xff");
        assert_int_equal(number_of(bytes->size), number_of(process->status.size_bytes));
    }
    system_memory_release(&system);
}

static const struct system_memory_row *row_named(const struct system_memory_table *table,
                                                 const char *name)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->rows[i].name, name) == 0)
            return &table->rows[i];
    return NULL;
}

/* Σ over the lines of all children's smaps, by awk, whose table of names is its own. */
static uint64_t awk_sum(const char *field, const char *name)
{
    char command[400];
    unsigned long long kib = 0;
    snprintf(command, sizeof command,
             "awk -v name='%s' '/^[0-9a-f]+-/ {on = $6 == name} on && /^%s:/ {n += $2} "
             "END {printf \"%%.0f\", n}' /proc/%d/smaps /proc/%d/smaps /proc/%d/smaps",
             name, field, (int)victims[0].pid, (int)victims[1].pid, (int)victims[2].pid);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_int_equal(fscanf(pipe, "%llu", &kib), 1);
    pclose(pipe);
    return kib * 1024;
}

static void mappings_are_summed_by_name(void **state)
{
    (void)state;
    pid_t pids[CHILDREN];
    struct system_memory system;
    struct system_memory_table table;
    struct system_memory_request request = of_children(pids);
    char *executable = NULL;
    request.pieces = true;
    assert_int_equal(system_memory_take(&system, &request), 0);
    assert_int_equal(
        system_memory_tabulate(&table, &system, SYSTEM_MEMORY_BY_MAPPING, SYSTEM_MEMORY_PSS, false),
        0);
    assert_int_equal(process_executable(getpid(), &executable), 0);
    const char *names[] = {"[heap]", "[stack]", executable};
    for (size_t i = 0; i < 3; i++) {
        const struct system_memory_row *row = row_named(&table, names[i]);
        if (!row) { /* an allocator that does without brk */
            assert_int_equal(awk_sum("Size", names[i]), 0);
            continue;
        }
        assert_int_equal(row->processes, CHILDREN);
        assert_int_equal(number_of(row->bytes.rss), awk_sum("Rss", names[i]));
        assert_int_equal(number_of(row->bytes.uss),
                         awk_sum("Private_Dirty", names[i]) + awk_sum("Private_Clean", names[i]));
    }
    struct smaps_bytes all = {0};
    uint64_t mappings = 0;
    for (size_t i = 0; i < table.count; i++) {
        smaps_add(&all, &table.rows[i].bytes);
        mappings += table.rows[i].mappings;
        assert_true(!i ||
                    number_of(table.rows[i].bytes.pss) <= number_of(table.rows[i - 1].bytes.pss));
    }
    assert_memory_equal(&all, &table.total.bytes, sizeof all);
    assert_int_equal(mappings, table.total.mappings);
    free(executable);
    system_memory_table_release(&table);
    system_memory_release(&system);
}

/* A library has its data and bss too; nothing is lost or counted twice between the two views. */
static void libraries_add_up_to_the_same(void **state)
{
    (void)state;
    pid_t pids[CHILDREN];
    struct system_memory system;
    struct system_memory_table table;
    struct system_memory_request request = of_children(pids);
    struct smaps_bytes sums[2];
    for (int libraries = 0; libraries < 2; libraries++) {
        request.pieces = true;
        request.libraries = libraries;
        assert_int_equal(system_memory_take(&system, &request), 0);
        enum system_memory_by by = libraries ? SYSTEM_MEMORY_BY_LIBRARY : SYSTEM_MEMORY_BY_MAPPING;
        assert_int_equal(system_memory_tabulate(&table, &system, by, SYSTEM_MEMORY_USS, true), 0);
        sums[libraries] = table.total.bytes;
        assert_int_equal(row_named(&table, "[bss]") == NULL, libraries);
        system_memory_table_release(&table);
        system_memory_release(&system);
    }
    assert_int_equal(number_of(sums[0].rss), number_of(sums[1].rss));
    assert_int_equal(number_of(sums[0].size), number_of(sums[1].size));
    assert_int_equal(number_of(sums[0].uss), number_of(sums[1].uss));
}

static void groups_add_up(void **state)
{
    (void)state;
    pid_t pids[CHILDREN];
    struct system_memory system;
    struct system_memory_request request = of_children(pids);
    assert_int_equal(system_memory_take(&system, &request), 0);
    for (enum system_memory_by by = SYSTEM_MEMORY_BY_NAME; by <= SYSTEM_MEMORY_BY_CGROUP; by++) {
        struct system_memory_table table;
        assert_int_equal(system_memory_tabulate(&table, &system, by, SYSTEM_MEMORY_RSS, false), 0);
        assert_int_equal(table.count, 1);
        assert_int_equal(table.rows[0].processes, CHILDREN);
        assert_memory_equal(&table.rows[0].bytes, &table.total.bytes, sizeof table.total.bytes);
        system_memory_table_release(&table);
    }
    system_memory_release(&system);
}

/* ---- Filters ------------------------------------------------------------------------------- */

static size_t count_with(const struct system_memory_request *request)
{
    struct system_memory system;
    assert_int_equal(system_memory_take(&system, request), 0);
    size_t count = system.state_counts[SYSTEM_MEMORY_READ];
    system_memory_release(&system);
    return count;
}

static void filters_leave_out(void **state)
{
    (void)state;
    pid_t pids[CHILDREN];
    uid_t user = geteuid(), nobody = 4000000000u;
    regex_t tide, never;
    struct system_memory_request request = of_children(pids);
    regcomp(&tide, "^tide\n", REG_EXTENDED | REG_NOSUB);
    regcomp(&never, "^never there$", REG_EXTENDED | REG_NOSUB);
    request.name = &tide;
    assert_int_equal(count_with(&request), CHILDREN);
    request.pid_count = 0; /* found among all */
    assert_int_equal(count_with(&request), CHILDREN);
    request = of_children(pids);
    request.name = &never;
    assert_int_equal(count_with(&request), 0);
    request.name = NULL;
    request.mapping = &never;
    assert_int_equal(count_with(&request), 0);
    request.mapping = NULL;
    request.cgroup = &never;
    assert_int_equal(count_with(&request), 0);
    request.cgroup = NULL;
    request.users = &nobody;
    request.user_count = 1;
    assert_int_equal(count_with(&request), 0);
    request.users = &user;
    assert_int_equal(count_with(&request), CHILDREN);
    regfree(&tide);
    regfree(&never);
}

static void only_some_mappings_count(void **state)
{
    (void)state;
    pid_t pids[CHILDREN];
    regex_t zero;
    struct system_memory system;
    struct system_memory_request request = of_children(pids);
    regcomp(&zero, "^/dev/zero$", REG_EXTENDED | REG_NOSUB); /* the shared one */
    request.mapping = &zero;
    assert_int_equal(system_memory_take(&system, &request), 0);
    for (size_t i = 0; i < CHILDREN; i++) {
        assert_int_equal(number_of(system.processes[i].bytes.rss), 6 * MIB);
        assert_true(is_third_of_shared(number_of(system.processes[i].bytes.pss)));
        assert_int_equal(number_of(system.processes[i].bytes.uss), 0);
    }
    system_memory_release(&system);
    regfree(&zero);
}

/* ---- Who has no memory --------------------------------------------------------------------- */

static void *stay(void *context)
{
    (void)context;
    for (;;)
        pause();
    return NULL;
}

static void leave_first_thread(void *context)
{
    pthread_t thread;
    (void)context;
    touch(plan.own, 8 * MIB);
    pthread_create(&thread, NULL, stay, NULL);
}

/* Its first thread ends, the process goes on and keeps its memory: it reads as a zombie. */
static pid_t headless_start(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        leave_first_thread(NULL);
        pthread_exit(NULL);
    }
    return pid;
}

static struct system_memory_process look_at(pid_t pid)
{
    struct system_memory system;
    struct system_memory_request request = {.pids = &pid, .pid_count = 1};
    assert_int_equal(system_memory_take(&system, &request), 0);
    struct system_memory_process process = system.processes[0];
    system_memory_release(&system); /* the strings are gone, figures and state are not */
    return process;
}

static void the_ended_are_told_from_the_headless(void **state)
{
    (void)state;
    pid_t ended = fork();
    if (ended == 0)
        _exit(0);
    siginfo_t info;
    waitid(P_PID, (id_t)ended, &info, WEXITED | WNOWAIT);
    assert_int_equal(look_at(ended).state, SYSTEM_MEMORY_ZOMBIE);
    waitpid(ended, NULL, 0);
    assert_int_equal(look_at(ended).state, SYSTEM_MEMORY_GONE);

    pid_t headless = headless_start();
    struct system_memory_process process = look_at(headless);
    for (int tries = 0; process.status.state != 'Z' && tries < 5000; tries++) {
        usleep(1000);
        process = look_at(headless);
    }
    assert_int_equal(process.status.state, 'Z');
    assert_int_equal(process.state, SYSTEM_MEMORY_READ);
    assert_true(number_of(process.bytes.uss) >= 8 * MIB);
    victim_end((struct victim){headless});
}

static int look_unprivileged(void)
{
    struct system_memory system;
    pid_t pid = victims[0].pid;
    struct system_memory_request request = {.pids = &pid, .pid_count = 1};
    if (getuid() != 0 || setgid(65534) != 0 || setuid(65534) != 0)
        return 77;
    if (system_memory_take(&system, &request) != 0 || system.count != 1)
        return 1;
    struct system_memory_process process = system.processes[0];
    system_memory_release(&system);
    if (process.state != SYSTEM_MEMORY_FORBIDDEN || process.status.uid != 0)
        return 2;
    bool unknown =
        number_of(process.bytes.pss) == UNKNOWN && number_of(process.bytes.uss) == UNKNOWN;
    return unknown && number_of(process.bytes.rss) >= 14 * MIB &&
                   number_of(process.bytes.rss) != UNKNOWN
               ? 0
               : 3;
}

static void what_is_forbidden_shows_its_rss_alone(void **state)
{
    (void)state;
    look_from_child(look_unprivileged);
}

/* Processes come and go by the hundred while all are counted. */
static void processes_may_come_and_go(void **state)
{
    (void)state;
    pid_t storm = fork();
    if (storm == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) {
            for (int i = 0; i < 20; i++)
                if (fork() == 0)
                    _exit(0);
            while (waitpid(-1, NULL, 0) > 0)
                ;
        }
    }
    for (int round = 0; round < 8; round++) {
        struct system_memory system;
        struct system_memory_request request = {.threads = 1 + (size_t)round % 4,
                                                .pieces = round % 2};
        size_t states = 0;
        assert_int_equal(system_memory_take(&system, &request), 0);
        for (size_t i = 0; i < SYSTEM_MEMORY_STATES; i++)
            states += system.state_counts[i];
        assert_int_equal(states, system.count);
        for (size_t i = 0; i < CHILDREN; i++) {
            assert_non_null(find(&system, victims[i].pid));
            assert_int_equal(find(&system, victims[i].pid)->state, SYSTEM_MEMORY_READ);
        }
        system_memory_release(&system);
    }
    victim_end((struct victim){storm});
}

/* ---- Mappings of one ----------------------------------------------------------------------- */

static void check_groups(const struct maps *maps)
{
    struct smaps_bytes all = {0};
    size_t mappings = 0;
    for (size_t i = 0; i < maps->kind_count; i++) {
        const struct maps_group *kind = &maps->kinds[i];
        struct smaps_bytes files = {0};
        assert_true(!i || number_of(kind->bytes.pss) <= number_of(kind[-1].bytes.pss));
        for (size_t j = kind->first; j < kind->first + kind->count; j++) {
            smaps_add(&files, &maps->files[j].bytes);
            mappings += maps->files[j].count;
            assert_int_equal(maps->files[j].kind, kind->kind);
            assert_true(j == kind->first || number_of(maps->files[j].bytes.pss) <=
                                                number_of(maps->files[j - 1].bytes.pss));
        }
        assert_memory_equal(&files, &kind->bytes, sizeof files);
        smaps_add(&all, &files);
    }
    assert_memory_equal(&all, &maps->total.bytes, sizeof all);
    assert_int_equal(mappings, maps->smaps.count);
    assert_int_equal(mappings, maps->total.mappings);
}

static void kinds_and_files_add_up(void **state)
{
    (void)state;
    struct maps maps;
    struct smaps_totals totals;
    assert_int_equal(maps_take(&maps, victims[0].pid, MAPS_PSS, true), 0);
    check_groups(&maps);
    smaps_sum(&maps.smaps, &totals);
    assert_memory_equal(&totals.all, &maps.total.bytes, sizeof totals.all);
    size_t seen = 0;
    for (size_t i = 0; i < maps.kind_count; i++) {
        const struct maps_group *kind = &maps.kinds[i];
        assert_memory_equal(&kind->bytes, &totals.kinds[kind->kind], sizeof kind->bytes);
        assert_int_equal(kind->mappings, totals.kind_counts[kind->kind]);
        if (kind->kind == SMAPS_SHARED_MEMORY) {
            assert_int_equal(number_of(kind->bytes.rss), 6 * MIB);
            seen++;
        }
    }
    assert_int_equal(seen, 1);
    maps_release(&maps);
    assert_int_equal(maps_take(&maps, INT32_MAX, MAPS_PSS, false), -ESRCH);
    maps_release(&maps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_and_shared_memory_are_told_apart),
        cmocka_unit_test(mappings_are_summed_by_name),
        cmocka_unit_test(libraries_add_up_to_the_same),
        cmocka_unit_test(groups_add_up),
        cmocka_unit_test(filters_leave_out),
        cmocka_unit_test(only_some_mappings_count),
        cmocka_unit_test(the_ended_are_told_from_the_headless),
        cmocka_unit_test(what_is_forbidden_shows_its_rss_alone),
        cmocka_unit_test(processes_may_come_and_go),
        cmocka_unit_test(kinds_and_files_add_up),
    };
    return cmocka_run_group_tests(tests, children_start, children_end);
}
