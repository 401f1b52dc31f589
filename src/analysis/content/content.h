/* What the resident pages hold, by owner, as a look that has read them says
 * (collector/page_content.h).
 *
 *   resident   ┊ zeros ┊ copies ┊ other pages of private memory ┊ of files, shared ┊ not read ┊
 *                                 of them compressing would win some
 *
 * content.c gathers, content_text.c and content_json.c show. Reads struct profile and nothing
 * else. */
#ifndef TIDEMARK_CONTENT_CONTENT_H
#define TIDEMARK_CONTENT_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "aggregate/frames.h"
#include "format/style.h"
#include "profile/profile.h"

struct content_sum {
    uint64_t resident, zero, copy, compressible;
};

/* Of a function and line, or of an owner with a name. */
struct content_row {
    int kind;                          /* enum profile_owner_kind */
    struct frame frame;                /* code 0: it has none */
    const struct profile_owner *named; /* without a frame: the owner */
    struct content_sum sum;
    uint32_t node; /* the call path with most of it */
    uint64_t node_bytes;
};

struct content {
    const struct profile *profile;
    const struct profile_sample *sample; /* the look */
    bool *hidden;                        /* by index of profile->lines */
    struct content_row *rows;            /* by what can be won, most first */
    size_t row_count;
    struct content_sum all; /* of what was read */
};

struct content_options {
    struct style style;
    size_t top; /* rows */
};

/* What could be won in all. */
uint64_t content_sum_won(const struct content_sum *sum);
/* A sentence why it is not known what the pages hold; NULL: it is. */
const char *content_missing(const struct profile *profile);
/* Only where nothing is missing. 0 or -ENOMEM. */
int content_find(struct content *content, const struct profile *profile);
void content_release(struct content *content);

/* 0 or -errno of the stream. */
int content_text(FILE *out, const struct content *content, const struct content_options *options);
int content_json(FILE *out, const struct content *content);

#endif
