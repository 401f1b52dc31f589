/* Rules over a profile, finished or not: what is wrong with it, how bad, on what evidence, and what
 * to do. A rule whose data was not recorded says so and nothing else: silence is never "no
 * problem". doc/INSIGHTS.md has the rules, their thresholds and what they miss.
 *
 *     struct insights *insights = insights_find(profile);
 *     insights_text(stdout, insights, &(struct insights_options){.style = style});
 *     insights_free(insights);
 *
 * Reads struct profile and nothing else, which must outlive the insights. Thread-safe.
 *
 * inquiry.c merges the call paths of a site once, asks every rule in the table of rule_table.c, and
 * sorts what they found. */
#ifndef TIDEMARK_INSIGHTS_INSIGHT_H
#define TIDEMARK_INSIGHTS_INSIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "base/json.h"
#include "aggregate/frames.h"
#include "format/style.h"
#include "profile/profile.h"

struct startup;

/* By the cost of what was found as a share of the whole that it is a part of (the peak, all
 * allocations, all bytes, the time): from 50 % severe, from 20 % a warning, from 5 % a notice, else
 * an info; and never above what its plain amount allows (inquiry.c, amount_limits). */
enum insight_severity {
    INSIGHT_INFO = 0,
    INSIGHT_NOTICE,
    INSIGHT_WARNING,
    INSIGHT_SEVERE,
    INSIGHT_SEVERITIES
};
#define INSIGHT_SEVERITY_CHOICE "info|notice|warning|severe"

enum insight_unit {
    INSIGHT_BYTES = 0,
    INSIGHT_COUNT,
    INSIGHT_NS,
    INSIGHT_SHARE, /* 0 to 1 */
    INSIGHT_RATIO,
    INSIGHT_TEXT,
};

struct insight_fact {
    const char *metric; /* "alloc_count": where it is one, as doc/METRICS.md calls it */
    enum insight_unit unit;
    uint64_t number; /* bytes, count, ns */
    double real;     /* share, ratio */
    char *text;      /* names of strangers: not made safe */
};

#define INSIGHT_FRAMES 8
struct insight_path {
    uint32_t node; /* index into profile->nodes */
    uint64_t value;
    enum insight_unit unit;
    struct frame frames[INSIGHT_FRAMES]; /* innermost first; library frames left out */
    size_t frame_count;
    bool more; /* callers were left out */
};

#define INSIGHT_FACTS 16
#define INSIGHT_PATHS 3
struct insight {
    const char *id; /* stable: "realloc-constant-growth" */
    enum insight_severity severity;
    int rank;           /* of its rule */
    double cost;        /* share of its whole; insights come by severity, rank, then by this */
    char *title;        /* one sentence without full stop, safe to print */
    const char *advice; /* one or two sentences */
    struct insight_fact facts[INSIGHT_FACTS];
    size_t fact_count;
    struct insight_path paths[INSIGHT_PATHS]; /* most first */
    size_t path_count;
};

/* A rule that could not be asked. */
struct insight_silence {
    const char *id;
    const char *why; /* "not recorded: …" */
};

struct insights {
    const struct profile *profile;
    struct insight *items; /* most severe first */
    size_t count;
    struct insight_silence *silences;
    size_t silence_count;
    const char *filter; /* insights_filter()'s; NULL: all are there */
    size_t elsewhere;   /* findings that do not pass it */
};

/* NULL: out of memory. Findings of which all paths are of the start-up (aggregate/startup.h) are
 * folded into one, the last. */
struct insights *insights_find(const struct profile *profile);
/* The same, where frames_of_libraries(profile) is known already; it stays the caller's. */
struct insights *insights_find_hiding(const struct profile *profile, const bool *hidden);
/* The warnings and severe findings among these, as they come there, the start-up being known too:
 * rules of which no finding can be so severe are not asked. Milder findings may stand behind. */
struct insights *insights_find_warnings(const struct profile *profile, const bool *hidden,
                                        const struct startup *startup);
/* Nothing is folded. */
struct insights *insights_find_all(const struct profile *profile);
void insights_free(struct insights *insights); /* NULL is fine */
/* Keeps the findings of which a path passes: `passes` by node. `filter` stays the caller's. */
void insights_filter(struct insights *insights, const char *filter, const bool *passes);

const char *insight_severity_name(enum insight_severity severity);

struct insights_options {
    struct style style;
    int least; /* enum insight_severity: milder ones are counted and not shown */
};

/* All of it for people. 0 or -errno of the stream. */
int insights_text(FILE *out, const struct insights *insights,
                  const struct insights_options *options);
/* The same for programs: doc/REPORT-JSON.md. 0 or -errno of the stream. */
int insights_json(FILE *out, const struct insights *insights,
                  const struct insights_options *options);

/* Parts of other documents. insights_add_lines(): one line each for at most `most` findings, where
 * a second notice or info of one rule is shown only if there is room. insights_write(): the arrays
 * "insights" and "not_asked" in an object that is open. */
void insights_add_lines(struct strbuf *out, const struct insights *insights,
                        const struct style *style, size_t most);
void insights_write(struct json *json, const struct insights *insights,
                    enum insight_severity least);

#endif
