/* Call paths that could not be walked to their beginning: what share of the allocations is theirs,
 * and why. The reason is the mark that such a path begins with (doc/FORMAT-profile.md, "location"),
 * the place is the module of the frame next to it. */
#ifndef TIDEMARK_AGGREGATE_UNWALKED_H
#define TIDEMARK_AGGREGATE_UNWALKED_H

#include <stddef.h>
#include <stdint.h>
#include "base/strbuf.h"
#include "profile/profile.h"

/* profile_code.mark; 2 is no reason: the user wanted shorter paths. */
enum unwalked_reason {
    UNWALKED_UNKNOWN = 1, /* also of profiles from before there were reasons */
    UNWALKED_NO_TABLE = 3,
    UNWALKED_OFF_STACK,
    UNWALKED_NOT_CODE,
    UNWALKED_STRANGE_ROW,
    UNWALKED_SIGNAL,
    UNWALKED_REASONS
};

/* Of one reason and module. */
struct unwalked_part {
    enum unwalked_reason reason;
    uint32_t module; /* UINT32_MAX: code in no module, made as the program ran */
    uint64_t paths;
    struct figure alloc_count, alloc_bytes;
};

struct unwalked {
    struct unwalked_part *parts; /* most allocations first */
    size_t count, room;
    struct unwalked_part all; /* reason and module mean nothing */
    uint64_t beginnings;      /* paths besides: they end where a run-time's threads begin */
};

void unwalked_find(struct unwalked *unwalked, const struct profile *profile);
void unwalked_release(struct unwalked *unwalked);

/* "no table", …: for programs that read our JSON. */
const char *unwalked_reason_name(enum unwalked_reason reason);

/* One line with "\n"; nothing where all paths were walked. */
void unwalked_add_sentence(struct strbuf *out, const struct profile *profile);

#endif
