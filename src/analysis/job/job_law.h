/* Laws of scaling: how a rank's memory follows from the number of ranks, and what it would be with
 * more of them.
 *
 *   points (ranks, bytes) ──▶ each law that has two points more than parameters is fitted
 *                             ──▶ AICc puts them in order ──▶ the first, and those near it, predict
 *
 * Errors are relative, since memory is: a fit makes the sum of ((bytes - law) / bytes)² least. A
 * law that gives negative memory with more ranks is no law. A power of P with a free exponent is
 * none either: a rank's memory is a sum of parts, and what a power says beyond the points is not
 * borne out (doc/decisions, 364). */
#ifndef TIDEMARK_JOB_JOB_LAW_H
#define TIDEMARK_JOB_JOB_LAW_H

#include <stdbool.h>
#include <stddef.h>
#include "base/strbuf.h"

/* P: the number of ranks. */
enum job_law_kind {
    JOB_LAW_CONSTANT = 0, /* a */
    JOB_LAW_PART,         /* c / P: all is shared out */
    JOB_LAW_EACH,         /* b P: something for each other rank, and nothing else */
    JOB_LAW_SHARE,        /* a + c / P */
    JOB_LAW_SURFACE,      /* a + c / P^(2/3): the surface of a part of a volume */
    JOB_LAW_PANEL,        /* a + c / P^(1/2): the rows and columns of a part of a matrix */
    JOB_LAW_LOGARITHM,    /* a + b log2 P: trees */
    JOB_LAW_LINEAR,       /* a + b P */
    JOB_LAW_SQUARE,       /* a + b P²: a row for each rank about all others */
    JOB_LAW_BOTH,         /* a + b P + c / P */
    JOB_LAW_KINDS
};
enum { JOB_LAW_PARAMETERS = 3 };

struct job_law {
    enum job_law_kind kind;
    size_t parameters;
    double value[JOB_LAW_PARAMETERS]; /* as the law's line above names them, from left to right */
    double inverse[JOB_LAW_PARAMETERS][JOB_LAW_PARAMETERS]; /* of the normal equations' matrix */
    double deviation;                                       /* relative, of a point from the law */
    double aicc;
};

/* Why there is no law. */
enum job_law_lack {
    JOB_LAW_FOUND = 0,
    JOB_LAW_FEW,   /* fewer points than any but a constant needs, and they differ */
    JOB_LAW_ZERO,  /* a point of no bytes: errors would be infinite */
    JOB_LAW_LOOSE, /* the best one misses its points by more than JOB_LAW_MOST_DEVIATION */
};
#define JOB_LAW_MOST_DEVIATION 0.1

/* Laws that miss their points by JOB_LAW_MOST_DEVIATION at most, the best one first. */
struct job_laws {
    struct job_law fits[JOB_LAW_KINDS];
    size_t count;
    size_t points;
    double most_ranks; /* of the points */
    enum job_law_lack lack;
};
/* `ranks` are 1 or more and ascend, `bytes` are not negative. A law takes two more numbers of ranks
 * than it has parameters: another run with as many ranks says nothing of others. */
struct job_laws job_laws_fit(const double *ranks, const double *bytes, size_t count);

/* What a further measurement with that many ranks would be: 95 of 100 lie between. Each law whose
 * AICc is less than JOB_LAW_NEAR above the best one's has a part in the range (doc/decisions, 492).
 * Bytes. */
#define JOB_LAW_NEAR 10.0
struct job_forecast {
    double value, low, high;
};
struct job_forecast job_laws_at(const struct job_laws *laws, double ranks);

/* From how many ranks on a rank's memory is more than `limit`: by the best law (0: it never is), at
 * the earliest, and at the latest (0: not certain at all). Looked for beyond the most ranks of the
 * points, up to JOB_LAW_REACH times as many. */
#define JOB_LAW_REACH 65536.0
struct job_crossing {
    double ranks, earliest, latest;
};
struct job_crossing job_laws_crossing(const struct job_laws *laws, double limit);

/* "3.33 MiB + 12.6 MiB / P" */
void job_law_add_text(struct strbuf *out, const struct job_law *law);
const char *job_law_name(enum job_law_kind kind); /* "a + c/P", for JSON */

#endif
