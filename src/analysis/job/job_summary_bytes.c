/* Writes a summary of a job as bytes, and reads it back. A reader checks each number against what a
 * writer could have written, and refuses the whole summary if one is impossible. */
#include "job/job_summary_bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/memory.h"

static const char magic[8] = "TMKJOB2\n";

/* The numbers of a rank, in their order in the bytes. */
struct number {
    size_t offset, bytes;
    uint64_t limit; /* a figure may be unknown besides */
    bool is_figure;
};
#define NUMBER(field, limit)                                                                       \
    {                                                                                              \
        offsetof(struct job_rank, field), sizeof((struct job_rank){0}.field), limit, false         \
    }
#define FIGURE(field, limit)                                                                       \
    {                                                                                              \
        offsetof(struct job_rank, field), sizeof((struct job_rank){0}.field.raw), limit, true      \
    }
static const struct number numbers[] = {
    NUMBER(rank, UINT32_MAX),
    NUMBER(place, UINT32_MAX),
    NUMBER(rank_known, 1),
    NUMBER(is_helper, 1),
    NUMBER(state, JOB_STATES - 1),
    NUMBER(signal, UINT32_MAX),
    NUMBER(status, UINT32_MAX),
    NUMBER(size, UINT32_MAX),
    NUMBER(pid, UINT32_MAX),
    NUMBER(sample_bytes, UINT64_MAX),
    NUMBER(start_unix_ns, INT64_MAX),
    NUMBER(duration_ns, INT64_MAX),
    FIGURE(peak_bytes, JOB_FIGURE_MAX),
    FIGURE(peak_ns, INT64_MAX),
    FIGURE(live_bytes, JOB_FIGURE_MAX),
    FIGURE(live_count, UINT64_MAX),
    FIGURE(alloc_bytes, UINT64_MAX),
    FIGURE(alloc_count, UINT64_MAX),
    NUMBER(events, UINT64_MAX),
    NUMBER(lost_events, UINT64_MAX),
    NUMBER(unattributed, UINT64_MAX),
    FIGURE(mpi_peak_bytes, UINT64_MAX),
    FIGURE(resident_peak_bytes, UINT64_MAX),
    FIGURE(owned_bytes, UINT64_MAX),
    FIGURE(machine_bytes, UINT64_MAX),
    FIGURE(limit_bytes, UINT64_MAX),
    FIGURE(cgroup_peak_bytes, UINT64_MAX),
    FIGURE(available_bytes, UINT64_MAX),
    FIGURE(available_unix_ns, UINT64_MAX),
};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

/* ---- Writing ------------------------------------------------------------------------------- */

static uint64_t job_summary_load(const void *at, size_t bytes)
{
    uint64_t large = 0;
    uint32_t small;
    if (bytes == 1)
        return *(const unsigned char *)at;
    if (bytes == 8) {
        memcpy(&large, at, 8);
        return large;
    }
    memcpy(&small, at, 4);
    return small;
}

static void job_summary_store(void *at, size_t bytes, uint64_t value)
{
    uint32_t small = (uint32_t)value;
    if (bytes == 1)
        *(unsigned char *)at = (unsigned char)value;
    else if (bytes == 8)
        memcpy(at, &value, 8);
    else
        memcpy(at, &small, 4);
}

/* An unknown figure is 0, all others are one more than they are. */
static void job_summary_put_number(struct strbuf *out, uint64_t value)
{
    bytes_put(out, value + 1);
}

static void job_summary_put_levels(struct strbuf *out, const uint16_t *levels)
{
    int before = 0;
    for (int i = 0; i < JOB_STEPS; i++) {
        int change = levels[i] - before;
        before = levels[i];
        bytes_put(out, change < 0 ? (uint64_t)-change * 2 - 1 : (uint64_t)change * 2);
    }
}

void job_summary_put_rank(struct strbuf *out, const struct job_rank *rank)
{
    for (int i = 0; i < NUMBERS; i++)
        job_summary_put_number(
            out, job_summary_load((const char *)rank + numbers[i].offset, numbers[i].bytes));
    bytes_put_string(out, rank->node);
    bytes_put_string(out, rank->boot);
    bytes_put_string(out, rank->file);
    bytes_put_string(out, rank->note);
    bytes_put_string(out, rank->unseen);
    if (!job_rank_is_read(rank))
        return;
    job_summary_put_levels(out, rank->requested_max);
    job_summary_put_levels(out, rank->requested_min);
    job_summary_put_levels(out, rank->resident_max);
}

void job_summary_put_entry_name(struct strbuf *out, const struct job_entry *entry)
{
    bool has_through = entry->kind == JOB_FUNCTION && entry->through && *entry->through;
    bytes_put(out, has_through ? JOB_KINDS : entry->kind);
    bytes_put_string(out, entry->name);
    bytes_put_string(out, entry->module);
    if (has_through)
        bytes_put_string(out, entry->through);
}

static void job_summary_put_entry(struct strbuf *out, const struct job_entry *entry)
{
    job_summary_put_entry_name(out, entry);
    for (int i = 0; i < JOB_FIGURES; i++) {
        const struct job_sum *sum = &entry->of[i];
        bytes_put(out, sum->ranks);
        if (!sum->ranks)
            continue;
        bytes_put_wide(out, sum->sum);
        bytes_put_wide(out, sum->squares);
        bytes_put(out, sum->min);
        bytes_put(out, sum->max);
        bytes_put(out, sum->min_rank);
        bytes_put(out, sum->max_rank);
    }
}

static void job_summary_put_end(struct strbuf *out, const struct job_end *end)
{
    bytes_put(out, end->is_there);
    if (!end->is_there)
        return;
    bytes_put(out, end->rank);
    bytes_put(out, end->place);
    bytes_put(out, end->peak_bytes);
    bytes_put(out, end->share_count);
    for (size_t i = 0; i < end->share_count; i++) {
        bytes_put(out, end->shares[i].entry);
        for (int j = 0; j < JOB_FIGURES; j++)
            bytes_put(out, end->shares[i].bytes[j]);
    }
}

void job_summary_write(struct strbuf *out, struct job_summary *summary)
{
    job_summary_sort(summary);
    strbuf_add(out, magic, sizeof magic);
    bytes_put_string(out, summary->program);
    bytes_put_string(out, summary->command);
    bytes_put_string(out, summary->launcher);
    bytes_put_string(out, summary->tool);
    bytes_put(out, summary->rank_count);
    for (size_t i = 0; i < summary->rank_count; i++)
        job_summary_put_rank(out, &summary->ranks[i]);
    bytes_put(out, summary->entry_count);
    for (size_t i = 0; i < summary->entry_count; i++)
        job_summary_put_entry(out, &summary->entries[i]);
    for (int i = 0; i < JOB_ENDS; i++)
        job_summary_put_end(out, &summary->ends[i]);
}

/* ---- Reading ------------------------------------------------------------------------------- */

static uint64_t job_summary_get_number(struct bytes_reader *reader, const struct number *number)
{
    uint64_t value = bytes_get(reader) - 1;
    reader->failed |= value > number->limit && !(number->is_figure && value == FIGURE_UNKNOWN.raw);
    return value;
}

static void job_summary_get_levels(struct bytes_reader *reader, uint16_t *levels)
{
    int64_t level = 0;
    for (int i = 0; i < JOB_STEPS; i++) {
        int64_t change = (int64_t)bytes_get_below(reader, 2 * JOB_NO_SHARE);
        level += change & 1 ? -(change + 1) / 2 : change / 2;
        if (level < 0 || level > JOB_NO_SHARE)
            reader->failed = true;
        levels[i] = (uint16_t)level;
    }
}

/* Strings that are there in any case. */
char *job_summary_get_name(struct bytes_reader *reader)
{
    char *name = bytes_get_string(reader);
    reader->failed |= !name;
    return name ? name : memory_copy_string("");
}

bool job_summary_get_rank(struct bytes_reader *reader, struct job_rank *rank)
{
    *rank = (struct job_rank){0};
    for (int i = 0; i < NUMBERS; i++)
        job_summary_store((char *)rank + numbers[i].offset, numbers[i].bytes,
                          job_summary_get_number(reader, &numbers[i]));
    if (reader->failed)
        return false;
    rank->node = bytes_get_string(reader);
    rank->boot = bytes_get_string(reader);
    rank->file = job_summary_get_name(reader);
    rank->note = bytes_get_string(reader);
    rank->unseen = bytes_get_string(reader);
    if (job_rank_is_read(rank)) {
        job_summary_get_levels(reader, rank->requested_max);
        job_summary_get_levels(reader, rank->requested_min);
        job_summary_get_levels(reader, rank->resident_max);
    }
    return true;
}

static void job_summary_get_sum(struct bytes_reader *reader, struct job_sum *sum)
{
    sum->ranks = bytes_get_below(reader, UINT32_MAX);
    if (!sum->ranks)
        return;
    sum->sum = bytes_get_wide(reader);
    sum->squares = bytes_get_wide(reader);
    sum->min = bytes_get_below(reader, JOB_FIGURE_MAX);
    sum->max = bytes_get_below(reader, JOB_FIGURE_MAX);
    sum->min_rank = (uint32_t)bytes_get_below(reader, UINT32_MAX);
    sum->max_rank = (uint32_t)bytes_get_below(reader, UINT32_MAX);
    if (!sum->min || sum->min > sum->max || sum->sum < sum->max ||
        sum->sum > (job_u128)sum->max * sum->ranks)
        reader->failed = true;
}

static void job_summary_get_entry(struct bytes_reader *reader, struct job_summary *summary)
{
    uint64_t kind = bytes_get_below(reader, JOB_KINDS);
    bool has_through = kind == JOB_KINDS;
    char *name = job_summary_get_name(reader), *module = job_summary_get_name(reader);
    char *through = has_through ? job_summary_get_name(reader) : memory_copy_string("");
    size_t before = summary->entry_count;
    uint32_t number =
        job_summary_entry(summary, has_through ? JOB_FUNCTION : (enum job_kind)kind, name, module);
    reader->failed |= number != before || (has_through && !*through); /* there already */
    job_summary_through(&summary->entries[number], through);
    for (int i = 0; i < JOB_FIGURES; i++)
        job_summary_get_sum(reader, &summary->entries[number].of[i]);
    free(name);
    free(module);
    free(through);
}

static void job_summary_get_end(struct bytes_reader *reader, struct job_summary *summary,
                                struct job_end *end)
{
    end->is_there = bytes_get_below(reader, 1);
    if (!end->is_there)
        return;
    end->rank = (uint32_t)bytes_get_below(reader, UINT32_MAX);
    end->place = (uint32_t)bytes_get_below(reader, UINT32_MAX);
    end->peak_bytes = bytes_get_below(reader, JOB_FIGURE_MAX);
    size_t count = bytes_get_count(reader, 1 + JOB_FIGURES);
    end->shares = memory_resize(NULL, count, sizeof *end->shares);
    for (; end->share_count < count && !reader->failed; end->share_count++) {
        struct job_share *share = &end->shares[end->share_count];
        share->entry = (uint32_t)bytes_get_below(reader, UINT32_MAX);
        reader->failed |= share->entry >= summary->entry_count ||
                          (end->share_count && share->entry <= share[-1].entry);
        for (int i = 0; i < JOB_FIGURES; i++)
            share->bytes[i] = bytes_get_below(reader, JOB_FIGURE_MAX);
    }
}

int job_summary_read(struct job_summary *summary, const void *bytes, size_t count)
{
    struct bytes_reader reader = {bytes, (const unsigned char *)bytes + count, false};
    struct job_rank rank;
    *summary = (struct job_summary){0};
    if (count < sizeof magic || memcmp(bytes, magic, sizeof magic))
        return -EINVAL;
    reader.at += sizeof magic;
    summary->program = bytes_get_string(&reader);
    summary->command = bytes_get_string(&reader);
    summary->launcher = bytes_get_string(&reader);
    summary->tool = bytes_get_string(&reader);
    for (size_t left = bytes_get_count(&reader, NUMBERS + 4); left && !reader.failed; left--)
        if (job_summary_get_rank(&reader, &rank))
            job_summary_add_rank(summary, &rank);
    for (size_t left = bytes_get_count(&reader, 3 + JOB_FIGURES); left && !reader.failed; left--)
        job_summary_get_entry(&reader, summary);
    for (int i = 0; i < JOB_ENDS && !reader.failed; i++)
        job_summary_get_end(&reader, summary, &summary->ends[i]);
    if (!reader.failed && reader.at == reader.end)
        return 0;
    job_summary_release(summary);
    return -EINVAL;
}
