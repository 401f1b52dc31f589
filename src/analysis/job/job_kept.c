/* Writes and reads digests behind profiles (job_kept.h). The sums of a digest follow from three
 * figures of each entry, because it is of one rank: these are what is written.
 *
 *   "TMKDIGE1"
 *   for each level: its number, and as a blob
 *     program, command, launcher, tool
 *     the rank (job_summary_put_rank())
 *     number of entries; of each: kind, name, module, the wrapper's name if the kind is JOB_KINDS
 *     (a function that allocates through one), three figures
 */
#include "job/job_kept.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/memory.h"
#include "job/job_summary_bytes.h"
#include "profile/appendix.h"

static const char magic[] = JOB_KEPT_VERSION;
enum { MAGIC_BYTES = sizeof magic - 1, ENTRY_BYTES = 3 + JOB_FIGURES };

/* ---- Writing ------------------------------------------------------------------------------- */

static void job_kept_put_entry(struct strbuf *out, const struct job_entry *entry)
{
    job_summary_put_entry_name(out, entry);
    for (int i = 0; i < JOB_FIGURES; i++)
        bytes_put(out, (uint64_t)entry->of[i].sum);
}

void job_kept_put(struct strbuf *out, const struct job_summary *digest, enum memory_level level)
{
    struct strbuf one = STRBUF_INIT;
    if (!out->length)
        strbuf_add(out, magic, MAGIC_BYTES);
    bytes_put_string(&one, digest->program);
    bytes_put_string(&one, digest->command);
    bytes_put_string(&one, digest->launcher);
    bytes_put_string(&one, digest->tool);
    job_summary_put_rank(&one, &digest->ranks[0]);
    bytes_put(&one, digest->entry_count);
    for (size_t i = 0; i < digest->entry_count; i++)
        job_kept_put_entry(&one, &digest->entries[i]);
    bytes_put(out, (uint64_t)level);
    bytes_put_blob(out, one.data, one.length);
    strbuf_release(&one);
}

/* False: it is not a rank of which a summary has figures, so that its profile is to be read. */
static bool job_kept_add_level(struct strbuf *out, const struct profile *profile,
                               enum memory_level level)
{
    const struct job_source source = {.file = ""};
    struct job_summary digest = {0};
    job_digest(&digest, profile, &source);
    bool counts = job_rank_counts(&digest.ranks[0]);
    if (counts)
        job_kept_put(out, &digest, level);
    job_summary_release(&digest);
    return counts;
}

int job_kept_write(const char *path)
{
    struct profile *profile;
    struct strbuf bytes = STRBUF_INIT;
    int error = profile_read_own_sums(&profile, path);
    if (error)
        return error;
    if (!job_kept_add_level(&bytes, profile, MEMORY_HEAP))
        error = -EINVAL;
    else if (!job_digest_take_level(profile, MEMORY_RESIDENT))
        job_kept_add_level(&bytes, profile, MEMORY_RESIDENT);
    profile_free(profile);
    if (!error)
        error = appendix_add(path, bytes.data, bytes.length);
    strbuf_release(&bytes);
    return error;
}

/* ---- Reading ------------------------------------------------------------------------------- */

/* What the source says is said of the rank before what its profile says, as by job_digest(). */
static void job_kept_apply(struct job_rank *rank, const struct job_source *source)
{
    free(rank->file);
    rank->file = memory_copy_string(source->file);
    rank->place = source->place;
    rank->is_helper = source->is_helper;
    if (source->rank_known || !rank->rank_known)
        rank->rank = source->rank_known ? source->rank : source->place;
    rank->rank_known |= source->rank_known;
    if (source->size)
        rank->size = source->size;
    if (source->node) {
        free(rank->node);
        rank->node = memory_copy_string(source->node);
    }
    if (source->boot) {
        free(rank->boot);
        rank->boot = memory_copy_string(source->boot);
    }
    if (source->is_helper) /* not looked for in helpers */
        rank->mpi_peak_bytes = rank->owned_bytes = FIGURE_UNKNOWN;
}

static void job_kept_get_entry(struct bytes_reader *reader, struct job_summary *digest,
                               uint64_t bytes[JOB_FIGURES])
{
    uint64_t kind = bytes_get_below(reader, JOB_KINDS);
    bool has_through = kind == JOB_KINDS;
    char *name = job_summary_get_name(reader), *module = job_summary_get_name(reader);
    char *through = has_through ? job_summary_get_name(reader) : NULL;
    size_t before = digest->entry_count;
    uint32_t number =
        job_summary_entry(digest, has_through ? JOB_FUNCTION : (enum job_kind)kind, name, module);
    reader->failed |= number != before || (has_through && !*through); /* there already */
    if (has_through || kind == JOB_FUNCTION)
        job_summary_through(&digest->entries[number], has_through ? through : "");
    for (int i = 0; i < JOB_FIGURES; i++)
        bytes[i] = bytes_get_below(reader, JOB_FIGURE_MAX);
    free(name);
    free(module);
    free(through);
}

/* Of a helper entries are read, and left out. */
static void job_kept_get_entries(struct bytes_reader *reader, struct job_summary *digest,
                                 const struct job_rank *rank)
{
    size_t count = bytes_get_count(reader, ENTRY_BYTES);
    uint64_t(*bytes)[JOB_FIGURES] = memory_resize(NULL, count, sizeof *bytes);
    for (size_t i = 0; i < count && !reader->failed; i++)
        job_kept_get_entry(reader, digest, bytes[i]);
    reader->failed |= reader->at != reader->end;
    if (!reader->failed && !rank->is_helper)
        job_digest_settle(digest, rank, bytes);
    else
        job_summary_release(digest);
    free(bytes);
}

static bool job_kept_get(struct bytes_reader *reader, struct job_summary *digest,
                         const struct job_source *source)
{
    struct job_rank rank;
    char *facts[4];
    for (int i = 0; i < 4; i++)
        facts[i] = bytes_get_string(reader);
    if (job_summary_get_rank(reader, &rank)) {
        reader->failed |= !job_rank_counts(&rank);
        job_kept_apply(&rank, source);
        job_kept_get_entries(reader, digest, &rank);
        job_summary_add_rank(digest, &rank);
    }
    digest->program = facts[0];
    digest->command = facts[1];
    digest->launcher = facts[2];
    digest->tool = facts[3];
    if (reader->failed)
        job_summary_release(digest);
    return !reader->failed;
}

bool job_kept_take(struct job_summary *digest, const void *bytes, size_t count,
                   enum memory_level level, const struct job_source *source)
{
    struct bytes_reader reader = {bytes, (const unsigned char *)bytes + count, false};
    if (count < MAGIC_BYTES || memcmp(bytes, magic, MAGIC_BYTES))
        return false;
    reader.at += MAGIC_BYTES;
    while (reader.at != reader.end && !reader.failed) {
        bool is_it = bytes_get(&reader) == (uint64_t)level;
        size_t blob_bytes;
        const unsigned char *blob = bytes_get_blob(&reader, &blob_bytes);
        struct bytes_reader one = {blob, blob + blob_bytes, false};
        if (is_it && !reader.failed)
            return job_kept_get(&one, digest, source);
    }
    return false;
}

/* Of a part `path` is FILE@PID. */
static int job_kept_read_bytes(const struct job_source *source, void **bytes, size_t *count)
{
    const char *mark = source->part_bytes ? strrchr(source->path, '@') : NULL;
    if (!mark)
        return appendix_read(source->path, bytes, count);
    char *file = memory_need(strndup(source->path, (size_t)(mark - source->path)));
    int error = appendix_read_part(file, source->part_at, source->part_bytes, bytes, count);
    free(file);
    return error;
}

bool job_kept_read(struct job_summary *digest, enum memory_level level,
                   const struct job_source *source)
{
    void *bytes;
    size_t count;
    if (job_kept_read_bytes(source, &bytes, &count))
        return false;
    bool is_there = job_kept_take(digest, bytes, count, level, source);
    free(bytes);
    return is_there;
}
