/* What the files of the reader share: profile_reader.c reads the call tree and the metrics,
 * detail_reader.c the rest (detail_tables.h). What cannot be read leaves a note. Inside the
 * room. */
#ifndef TIDEMARK_PROFILE_PROFILE_READING_H
#define TIDEMARK_PROFILE_PROFILE_READING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "profile/detail_tables.h"
#include "profile/profile.h"
#include "profile/profile_reader.h"

struct blocks;
struct sqlite3_stmt;

/* Ids as they stand in the file, by index; they rise. As long as each is its own index, as those of
 * call paths mostly are, they are only counted. */
struct ids {
    int64_t *at; /* NULL: each is its own index */
    size_t count, capacity;
};

struct string_block {
    struct string_block *next;
    size_t used, size;
    char bytes[];
};

enum array { META, LINES, THREADS, BUCKETS, REGION_SITES, MAPPED_SITES, ARRAYS };

struct profile_private {
    struct string_block *strings;
    struct ids nodes, codes, functions, files, modules, samples, peaks;
    struct ids newer_samples; /* left out, for a reason that we do not know */
    const char **file_paths;  /* by index of files */
    size_t capacity[ARRAYS];  /* of the public arrays that have no ids */
    size_t detail_capacity[DETAIL_TABLES];
    uint64_t curve_ends[MEMORY_MAPPED + 1]; /* by level: the path of the last curve + 1 */
    size_t point_count, point_capacity;
    struct curve_point *points; /* of all curves, one after the other */
    char damage[256];
};

struct reader {
    struct profile *profile;
    struct profile_private *own;
    struct source source;
    const char *path;
    uint64_t rows_left;
    uint32_t *listed_as; /* by function: the one that it is listed as; NULL: each as itself */
    enum detail detail;  /* whose rows or blocks are being read */
    const struct detail_choice *choice; /* of rows: which columns */
    bool only_sums;                     /* profile_read_sums() */
    bool no_heap_sites;                 /* profile_read_owners() */
    bool for_summary;                   /* profile_read_for_summary() */
    bool no_memory;
};

/* Only the first note is kept. */
void profile_reading_note(struct reader *reader, const char *what);

/* Doubles the array that the pointer at `array` points to. */
bool profile_reading_grow(struct reader *reader, void *array, size_t *capacity, size_t item_bytes);

/* Room for one more of `item_bytes` in the array that the pointer at `array` points to; the new
 * item is zeroed. NULL: no memory. */
static inline void *profile_append(struct reader *reader, void *array, size_t *count,
                                   size_t *capacity, size_t item_bytes)
{
    char *items;
    if (*count == *capacity && !profile_reading_grow(reader, array, capacity, item_bytes))
        return NULL;
    memcpy(&items, array, sizeof items);
    return memset(items + (*count)++ * item_bytes, 0, item_bytes);
}

#define APPEND(reader, array, count, capacity)                                                     \
    profile_append(reader, &(array), &(count), &(capacity), sizeof *(array))

/* A column's value: 0 for what is none (noted) and for NULL; a string of the profile's own, NULL
 * for NULL. */
uint64_t profile_reading_number(struct reader *reader, struct sqlite3_stmt *row, int column);
const char *profile_reading_text(struct reader *reader, struct sqlite3_stmt *row, int column);

/* A copy that is the profile's own; NULL: no memory. */
const char *profile_reading_keep(struct reader *reader, const char *bytes, size_t count);
const void *profile_reading_keep_bytes(struct reader *reader, const void *bytes, size_t count);

/* Each array is as large as what is in it, as far as is known after reading. */
void profile_reading_capacities(struct reader *reader);

/* False: it is not above the last one (noted), or no memory. */
bool profile_reading_add_id(struct reader *reader, struct ids *ids, int64_t id);
/* Index of `id`, SIZE_MAX if there is none. */
size_t profile_reading_find(const struct ids *ids, int64_t id);

/* For schema_select(): the context is the reader. */
bool profile_reading_has_column(void *context, const char *table, const char *column);

typedef void read_row(struct reader *reader, struct sqlite3_stmt *row);
void profile_reading_rows(struct reader *reader, const char *sql, read_row *read);
/* key: see path_blocks_begin_keyed(), or NULL. */
typedef void read_block(struct reader *reader, const struct blocks *blocks);
void profile_reading_blocks(struct reader *reader, const char *table, const char *key,
                            read_block *read);

/* The metrics of a row, from `column` on. */
void profile_reading_metrics(struct reader *reader, struct sqlite3_stmt *row, int column,
                             struct call_metrics *metrics);

/* Those of regions; nodes and regions have been read. */
void profile_reading_region_sites(struct reader *reader);

/* The metrics that looks tell, and no file has as such; all else has been read. Of sampled blocks
 * they are unknown. False: no memory. */
bool profile_reading_looks(struct profile *profile);

/* Reads the tables of detail_tables.h, all or those that profile_read_sums() has. Nodes, modules
 * and threads have been read. */
void detail_read(struct reader *reader);
void detail_read_for_sums(struct reader *reader);
void detail_read_for_summary(struct reader *reader);
void detail_read_figures(struct reader *reader);
void detail_free(struct profile *profile);

#endif
