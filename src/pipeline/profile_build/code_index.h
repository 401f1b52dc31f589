/* Finds the code location of a profile at an address. */
#ifndef TIDEMARK_PROFILE_BUILD_CODE_INDEX_H
#define TIDEMARK_PROFILE_BUILD_CODE_INDEX_H

#include <stdint.h>
#include "profile/profile.h"

struct code_index;

/* NULL: out of memory. The profile must stay; codes that it is given later are not found. */
struct code_index *code_index_new(const struct profile *profile);
void code_index_free(struct code_index *index);

/* Index into codes; 0: not there. `module`: index into modules, UINT32_MAX: in none. `address`: the
 * return address, as struct profile_code has it. */
uint32_t code_index_find(const struct code_index *index, uint32_t module, uint64_t address);

/* Index into modules, by its id; UINT32_MAX: not there. */
uint32_t code_index_module(const struct code_index *index, int64_t id);

/* The frames that the code's symbols gave, innermost first, as a writer of profiles takes them; at
 * most `max`. Strings are the profile's. */
size_t code_frames(const struct profile *profile, uint32_t code, struct profile_frame *frames,
                   size_t max);

#endif
