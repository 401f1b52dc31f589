/* A budget: what a program may use of memory, and whether a recording keeps it.
 *
 *   budget.toml ──▶ limits ──▶ figures of the profile ──▶ verdicts ──▶ text, JSON, JUnit, SARIF,
 *                 limits.c     and of the baseline       judge.c       GitHub annotations
 *                              limit_measure.c
 *
 * doc/BUDGET.md describes the file. A limit whose figure is not known counts as not kept.
 *
 * limits.c reads the file, scope.c finds the call paths that a limit is about (a kind of scope is a
 * row of a table), judge.c gives verdicts, offenders.c finds the call paths with most,
 * suppressions.c reads lists of known leaks. update.c replaces values in the file and leaves
 * comments alone. Each output format is a file. */
#ifndef TIDEMARK_BUDGET_BUDGET_H
#define TIDEMARK_BUDGET_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "base/strbuf.h"
#include "budget/suppressions.h"
#include "format/style.h"
#include "profile/profile.h"

/* ---- Limits -------------------------------------------------------------------------------- */

enum budget_metric {
    BUDGET_PEAK = 0,
    BUDGET_LIVE,
    BUDGET_LIVE_BLOCKS,
    BUDGET_ALLOCATIONS,
    BUDGET_BYTES,
    BUDGET_RATE,
    BUDGET_TEMPORARY,
    BUDGET_REALLOCATIONS,
    BUDGET_LARGEST,
    BUDGET_RESIDENT,
    BUDGET_MAPPED,      /* the high-water mark of what the program mapped itself */
    BUDGET_MAPPED_LIVE, /* never unmapped */
    BUDGET_ALL,         /* the high-water mark of heap and mappings together */
    BUDGET_LOST,
    BUDGET_LOST_BLOCKS,
    BUDGET_METRICS
};
enum budget_unit { BUDGET_UNIT_BYTES, BUDGET_UNIT_COUNT, BUDGET_UNIT_RATE, BUDGET_UNIT_SHARE };
const char *budget_metric_name(enum budget_metric metric); /* as in the file */
enum budget_unit budget_metric_unit(enum budget_metric metric);

/* What of the program it is about. A kind of scope is an entry of the table in scope.c. */
enum budget_scope {
    BUDGET_PROGRAM = 0,
    BUDGET_FUNCTION,
    BUDGET_FILE,
    BUDGET_LIBRARY,
    BUDGET_REGION, /* of the program's own (tidemark-api(3)), by its whole name */
    BUDGET_SCOPES
};
const char *budget_scope_name(enum budget_scope scope);

struct budget_limit {
    enum budget_scope scope;
    const char *pattern; /* NULL: the program; of regions a name */
    bool exclusive;      /* only what the function, file or library asks for itself */
    enum budget_metric metric;
    bool is_growth; /* against the baseline */
    double most;    /* bytes, calls, calls a second; of BUDGET_TEMPORARY also a share */
    bool is_share;  /* most is a share: of the allocations; of growth: of the baseline's figure */
    unsigned line;  /* of the file; 0: it came from the command line */
    size_t offset, length; /* of the value, in the text */
};

struct budget {
    char *path; /* NULL: limits of the command line only */
    char *text; /* of the file */
    size_t text_bytes;
    struct budget_limit *limits;
    size_t count, capacity;
    char **suppressions; /* files that it names, from where it lies */
    size_t suppression_count, suppression_room;
    double tolerance; /* of growth limits whose value is `true`: a share */
    bool has_tolerance;
    /* Only call paths that pass count, by node of the profile and of the baseline. The words for
     * people; NULL: all count. */
    const char *filter;
    const bool *passes, *passes_baseline;
    /* private */
    char **strings;
    size_t string_count, string_room;
};

/* Adds the limits of a file. 0, or -errno and a sentence in `why`. To be released in any case. */
int budget_read(struct budget *budget, const char *path, struct strbuf *why);
void budget_release(struct budget *budget);
/* Adds the growth limits of a plain --baseline: peak, live and allocations of the program. 0 or
 * -ENOMEM. */
int budget_add_usual(struct budget *budget);
bool budget_has_growth(const struct budget *budget);

/* "5%" → share 0.05; "64 MiB", "1000", "1.5k" (counts), "2k/s" (rates) → amount. 0 or -EINVAL. */
int budget_parse_amount(const char *text, enum budget_unit unit, double *amount, bool *is_share);
/* "64.0 MiB", "1,000", "2.00 k/s", "5.0 %" */
void budget_add_amount(struct strbuf *out, enum budget_unit unit, double amount);
/* "peak of function parse* ≤ 64 MiB", "live grown by ≤ 5.0 %" */
void budget_add_limit(struct strbuf *out, const struct budget_limit *limit, bool utf8);

/* ---- Measuring ----------------------------------------------------------------------------- */

/* Paths (by node) in the scope; NULL: out of memory. To be freed. Of the program, and of a region's
 * view (profile_view_region()): NULL with *all. */
bool *budget_scope_paths(const struct profile *profile, const struct budget_limit *limit,
                         const bool *hidden, bool *all);

struct budget_measured {
    double value;    /* NAN: not known */
    const char *why; /* a sentence, where it is not known */
};
/* Of a region: `profile` is its view. `wanted`: by node; NULL: all. `leaks`: by node, false where
 * suppressed; NULL: none is. */
struct budget_measured budget_measure(const struct profile *profile,
                                      const struct budget_limit *limit, const bool *wanted,
                                      const bool *leaks);

/* ---- Verdicts ------------------------------------------------------------------------------ */

enum { BUDGET_OFFENDERS = 5, BUDGET_FRAMES = 16 };

/* A call path that has a part in what is too much, the largest first. */
struct budget_offender {
    double value;  /* of growth: by how much it grew */
    double before; /* of growth, else NAN */
    size_t frame_count;
    struct budget_frame {
        char *function, *file; /* file: NULL, not known */
        uint32_t line;         /* 0: not known */
        char *through;         /* the wrapper that it asked through (aggregate/wrappers.h); NULL */
    } frames[BUDGET_FRAMES];   /* innermost first; library frames are passed over */
};

struct budget_verdict {
    const struct budget_limit *limit; /* NULL: about the recording as a whole */
    enum { BUDGET_KEPT = 0, BUDGET_EXCEEDED, BUDGET_UNKNOWN } state;
    double value, baseline; /* NAN: not known; baseline: of growth limits */
    double most;            /* what the value may be; of growth worked out from the baseline */
    char *why;              /* BUDGET_UNKNOWN: a sentence */
    bool nothing_matches;   /* no call path is in the scope */
    struct budget_offender offenders[BUDGET_OFFENDERS];
    size_t offender_count;
};

struct budget_check {
    const struct budget *budget;
    const char *file;          /* of the profile, for people */
    const char *baseline_file; /* NULL: none */
    const struct profile *profile, *baseline;
    struct suppressions *suppressions;
    struct budget_verdict *verdicts; /* in the order of the limits; the recording's first */
    size_t count, exceeded, unknown;
};

/* Judges. `allow_loss`: a recording that is not whole is no failure. All that is given must outlive
 * `check`. 0 or -ENOMEM. */
int budget_judge(struct budget_check *check, const struct budget *budget,
                 const struct profile *profile, const char *file, const struct profile *baseline,
                 const char *baseline_file, struct suppressions *suppressions, bool allow_loss);
void budget_check_release(struct budget_check *check);

/* "peak: 70 MiB is more than 64 MiB" */
void budget_add_verdict(struct strbuf *out, const struct budget_verdict *verdict, bool utf8);

/* ---- Showing; 0 or -errno of the stream ---------------------------------------------------- */

int budget_text(FILE *out, const struct budget_check *check, const struct style *style);
int budget_json(FILE *out, const struct budget_check *check);
int budget_junit(FILE *out, const struct budget_check *check);
int budget_sarif(FILE *out, const struct budget_check *check);
int budget_github(FILE *out, const struct budget_check *check);

/* ---- Updating ------------------------------------------------------------------------------ */

/* Adds the budget's text, in which each exceeded limit (not of growth) is what was measured and
 * `headroom` (a share) more. *changed: how many these are. */
void budget_updated(struct strbuf *out, const struct budget_check *check, double headroom,
                    size_t *changed);
/* Adds a budget for a program that has none. */
void budget_first(struct strbuf *out, const struct profile *profile, double headroom);

#endif
