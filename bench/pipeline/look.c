/* One look at a running process without its live blocks, as at one that was attached to this
 * moment:
 *
 *     bench_look PID [content] [rows] [apart=BYTES] [blocks=BYTES]
 *
 * Prints what is resident by kind of owner, how the sum compares with smaps', and the processor
 * time. With "rows", each owner. With "blocks", as if its largest mapping without a file were full
 * of live blocks of so many bytes, of a thousand call paths, in no order; the next one begins
 * "apart" behind it (the same by default). What it takes to copy them is printed beside the
 * look. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/now.h"
#include "collector/proc_look.h"

static const char *const kinds[PROFILE_OWNER_KINDS] = {
    "blocks", "mapping", "allocator", "file", "stack", "globals", "kernel", "tool", "other"};

static void print_rows(const struct look *look)
{
    for (size_t i = 0; i < look->owners.count; i++) {
        const struct profile_owner *row = &look->owners.rows[i];
        printf("row\t%s\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n",
               kinds[row->kind], row->name ? row->name : "", figure_or(row->resident_bytes, 0),
               figure_or(row->proportional_bytes, 0), figure_or(row->shared_bytes, 0),
               figure_or(row->zero_bytes, 0));
    }
    for (size_t i = 0; i < look->owners.touched_count; i++)
        printf("piece\t%s\t%" PRIx64 "-%" PRIx64 "\t%" PRIu64 "\n", look->owners.touched[i].module,
               look->owners.touched[i].start, look->owners.touched[i].end,
               figure_or(look->owners.touched[i].resident_bytes, 0));
    for (size_t i = 0; i < look->parts.count; i++)
        printf("container\t%d\t%s\t%" PRIu64 "\n", look->parts.list[i].kind,
               look->parts.list[i].name ? look->parts.list[i].name : "", look->parts.list[i].bytes);
}

static void print_sums(const struct look *look)
{
    uint64_t sums[PROFILE_OWNER_KINDS] = {0}, proportional = 0, all = 0;
    for (size_t i = 0; i < look->owners.count; i++) {
        sums[look->owners.rows[i].kind] += figure_or(look->owners.rows[i].resident_bytes, 0);
        proportional += figure_or(look->owners.rows[i].proportional_bytes, 0);
    }
    for (size_t i = 0; i < look->owners.touched_count; i++) {
        sums[PROFILE_OWNER_GLOBALS] += figure_or(look->owners.touched[i].resident_bytes, 0);
        proportional += figure_or(look->owners.touched[i].proportional_bytes, 0);
    }
    for (int kind = 0; kind < PROFILE_OWNER_KINDS; kind++) {
        printf("%s\t%" PRIu64 "\n", kinds[kind], sums[kind]);
        all += sums[kind];
    }
    printf("sum\t%" PRIu64 "\nresident\t%" PRIu64 "\n", all,
           figure_or(look->sample.resident_bytes, 0));
    printf("proportional sum\t%" PRIu64 "\nproportional\t%" PRIu64 "\ncpu ms\t%.2f\n", proportional,
           figure_or(look->sample.proportional_bytes, 0), look->sample.pass_ms);
}

static struct smaps_mapping look_largest(pid_t pid)
{
    struct smaps smaps = SMAPS_INIT;
    struct smaps_mapping largest = {.start = 0};
    if (smaps_read(&smaps, pid) == 0)
        for (size_t i = 0; i < smaps.count; i++)
            if (!*smaps.mappings[i].path &&
                smaps.mappings[i].end - smaps.mappings[i].start > largest.end - largest.start)
                largest = smaps.mappings[i];
    largest.path = NULL;
    smaps_release(&smaps);
    return largest;
}

/* In two rounds and in the order of hashes, as the replay gives them: addresses many at a time. */
static bool fill_round(struct live_list *list, const struct smaps_mapping *into, size_t count,
                       uint64_t bytes, uint64_t apart, bool puts)
{
    enum { PATHS = 1000, TOGETHER = 256 };
    uint64_t addresses[TOGETHER];
    size_t together = 0;
    const size_t step = 2654435761u % count; /* a prime */
    for (size_t i = 0, at = 0; i < count; i++, at += at + step < count ? step : step - count) {
        struct live_entry block = {
            .address = into->start + at * apart, .size_bytes = bytes, .node = 1 + at % PATHS};
        if (puts)
            live_list_put(list, &block);
        else
            addresses[together++] = block.address;
        if (together == TOGETHER || (together && i + 1 == count)) {
            if (!live_list_expect(list, addresses, together))
                return false;
            together = 0;
        }
    }
    return true;
}

static void fill(struct look *look, uint64_t bytes, uint64_t apart)
{
    struct smaps_mapping into = look_largest(look->pid);
    size_t count = bytes ? (into.end - into.start) / (apart ? apart : bytes) : 0;
    uint64_t begin_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
    if (!count || !fill_round(&look->blocks, &into, count, bytes, apart ? apart : bytes, false) ||
        live_list_lay_out(&look->blocks) < 0)
        return;
    fill_round(&look->blocks, &into, count, bytes, apart ? apart : bytes, true);
    look->unknown = NULL;
    printf("live blocks\t%zu\ncopy ms\t%.2f\n", count,
           (double)(now_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) / 1e6);
}

int main(int count, char **arguments)
{
    struct look look;
    uint64_t apart = 0;
    if (count < 2)
        return 2;
    look_init(&look, (pid_t)atoi(arguments[1]));
    look.over_pages = look.of_container = true;
    look.unknown = "before the recording";
    for (int i = 2; i < count; i++)
        if (strncmp(arguments[i], "blocks=", 7) == 0)
            fill(&look, strtoull(arguments[i] + 7, NULL, 10), apart);
        else if (strncmp(arguments[i], "apart=", 6) == 0)
            apart = strtoull(arguments[i] + 6, NULL, 10);
        else
            look.wants_content |= strcmp(arguments[i], "content") == 0;
    look_take(&look);
    if (look.error) {
        fprintf(stderr, "%s\n", strerror(-look.error));
        return 1;
    }
    for (int i = 2; i < count; i++)
        if (strcmp(arguments[i], "rows") == 0)
            print_rows(&look);
    print_sums(&look);
    look_release(&look);
    return 0;
}
