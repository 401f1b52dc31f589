/* A profile being gathered from another tool's file: what is the same is kept once, paths are a
 * tree, and what the format says of a path is added to its metrics. Inside the room. Out of memory
 * ends the process, as in strbuf. */
#ifndef TIDEMARK_IMPORT_GATHER_H
#define TIDEMARK_IMPORT_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/strbuf.h"
#include "profile/intern.h"
#include "profile/profile.h"
#include "model/metrics.h"

/* One moment, and what happened since the one before. */
struct gather_moment {
    uint64_t time_ns;
    struct figure requested_bytes, resident_bytes;
    uint64_t alloc_count, alloc_bytes, free_count, free_bytes;
};

struct gather_path {
    uint32_t parent, location; /* of the path: 0 is the root; of codes: from 1 */
    uint32_t site;             /* + 1; 0: none */
};
struct gather_site {
    uint32_t path;
    struct call_metrics metrics;
    uint64_t peak_number; /* of the importer's own: which peak at_peak_* stand for */
};

struct gather {
    /* Of a site that nothing is known of yet: 0 where the format says it. */
    struct call_metrics blank;
    struct intern strings, modules, locations, paths;
    struct strbuf *texts; /* of strings, by number - 1 */
    size_t text_capacity;
    struct profile_module *module_list;
    size_t module_capacity;
    struct gather_location {
        int64_t module;
        uint64_t address;
        uint32_t first_frame, frame_count; /* into frames */
    } * location_list;
    size_t location_capacity;
    struct gather_frame {
        uint32_t function, file, line; /* numbers of strings; 0: none */
    } * frames;
    size_t frame_count, frame_capacity;
    struct gather_path *path_list; /* [0] is the root */
    size_t path_capacity;
    struct gather_site *sites;
    size_t site_count, site_capacity;
    struct gather_moment *moments;
    size_t moment_count, moment_capacity;
    struct gather_fact {
        char *key, *value;
        bool is_number;
    } * facts;
    size_t fact_count, fact_capacity;
    /* Total is made of the sites, but for peak_* where it is known. */
    struct program_metrics program;
    struct figure duration_ns;
    const char *tool;      /* that wrote it, where the format has another's name; else NULL */
    bool names_from_files; /* names that are not in it may come from files it names */
};

struct gather *gather_new(void);
void gather_free(struct gather *gather); /* NULL is allowed */

/* Says that the format has these metrics of each path: they begin at 0. `offset`: in call_metrics.
 */
void gather_knows(struct gather *gather, size_t offset);
#define GATHER_KNOWS(gather, field) gather_knows(gather, offsetof(struct call_metrics, field))

void gather_fact(struct gather *gather, const char *key, const char *value, size_t length);
void gather_number_fact(struct gather *gather, const char *key, uint64_t value);

/* Numbers from 0. `start`, `end`, `bias`: 0 where they are not known. */
int64_t gather_module(struct gather *gather, const char *path, size_t length, uint64_t start,
                      uint64_t end, uint64_t bias);

/* Frames, innermost first; NULL or an empty name is unknown. module -1: none. Numbers from 1. */
struct gather_named {
    const char *function, *file;
    size_t function_length, file_length;
    uint32_t line;
};
uint32_t gather_location(struct gather *gather, int64_t module, uint64_t address,
                         const struct gather_named *frames, size_t count);
/* The path that goes on from `parent` (0: the root) into `location`. */
uint32_t gather_path(struct gather *gather, uint32_t parent, uint32_t location);
/* The site of a path: valid until the next one is asked for. */
struct gather_site *gather_site(struct gather *gather, uint32_t path);
void gather_moment(struct gather *gather, const struct gather_moment *moment);

/* The largest number that a file may say of anything: a database holds no larger one. */
#define GATHER_MOST ((uint64_t)INT64_MAX - 1)

/* a + b, which stops at GATHER_MOST. */
static inline uint64_t gather_sum(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) || sum > GATHER_MOST ? GATHER_MOST : sum;
}
/* *sum += number, likewise; what is unknown stays unknown. */
static inline void gather_add(struct figure *sum, uint64_t number)
{
    uint64_t before;
    if (figure_get(*sum, &before))
        *sum = figure_of(gather_sum(before, number));
}

/* Makes program.total of the sites. */
void gather_settle(struct gather *gather);
/* 0, or -errno with the sentence in error_text(). `path` must not be there. */
int gather_write(struct gather *gather, const char *path, const char *tool);

#endif
