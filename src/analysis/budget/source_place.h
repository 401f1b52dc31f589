/* Where an offence is shown in source, for the formats of CI systems. Inside the room. */
#ifndef TIDEMARK_BUDGET_SOURCE_PLACE_H
#define TIDEMARK_BUDGET_SOURCE_PLACE_H

#include "budget/budget.h"

struct budget_place {
    char *file;    /* below the current directory: from there; else as it is. NULL: nowhere */
    uint32_t line; /* 1 at least */
};

/* The innermost frame with a file and a line of the largest offender, below the current directory
 * if there is one; else the limit in the budget; else nowhere. Its file is to be freed. */
struct budget_place budget_place_of(const struct budget_check *check,
                                    const struct budget_verdict *verdict);
/* The same path as one of this directory, malloc'd; of one elsewhere a copy. */
char *budget_relative(const char *file);
/* A sentence with paths, one line each, for a message. */
void budget_add_message(struct strbuf *out, const struct budget_verdict *verdict);

#endif
