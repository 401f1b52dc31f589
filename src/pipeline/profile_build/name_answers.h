/* The answers of symbols.h, by module and address, for the ranks of a node. All ranks run the same
 * program. So the files, which are closed between the turns of two ranks, are read only once.
 *
 *   map: (module, address) ──▶ answers │ first, count │ type │ …
 *                                         └─▶ frames │ … │      strings are the symbols'
 *
 * For one thread at a time. */
#ifndef TIDEMARK_PROFILE_BUILD_NAME_ANSWERS_H
#define TIDEMARK_PROFILE_BUILD_NAME_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "symbols/symbols.h"

struct name_answers;

struct name_answers *name_answers_new(void);
void name_answers_free(struct name_answers *answers);

/* How many frames there are; at most `max` are copied. 0: it has not been answered yet. */
size_t name_answers_find(const struct name_answers *answers, int module, uint64_t address,
                         struct symbols_frame *frames, size_t max);
/* Keeps an answer, unless the limit is reached. */
void name_answers_keep(struct name_answers *answers, int module, uint64_t address,
                       const struct symbols_frame *frames, size_t count);

/* False: it has not been answered yet. `*is_known`: with a type. */
bool name_answers_find_type(const struct name_answers *answers, int module, uint64_t address,
                            bool *is_known, struct symbols_call_type *type);
/* `type` NULL: there is no type. */
void name_answers_keep_type(struct name_answers *answers, int module, uint64_t address,
                            const struct symbols_call_type *type);

#endif
