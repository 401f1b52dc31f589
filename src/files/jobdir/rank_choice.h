/* A choice of an MPI job's ranks, as `tidemark record --ranks` takes it:
 *
 *     0,5-8      these five
 *     0-:16      every 16th, from rank 0 on
 *     60-        60 and all above
 *
 * The text itself goes into each entry of the job (doc/FORMAT-job.md), so that ranks that were left
 * out are told from ranks that left nothing. */
#ifndef TIDEMARK_JOBDIR_RANK_CHOICE_H
#define TIDEMARK_JOBDIR_RANK_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RANK_CHOICE_MOST = 64 };

/* first, first + step … up to last */
struct rank_range {
    int64_t first, last, step;
};

struct rank_choice {
    size_t count; /* 0: every rank is chosen */
    struct rank_range ranges[RANK_CHOICE_MOST];
};

/* 0, or -EINVAL: no such list; then `list` is empty. */
int rank_choice_parse(const char *text, struct rank_choice *list);
bool rank_choice_has(const struct rank_choice *list, int64_t rank);

#endif
