/* Several programs that are being recorded: a model (top_model.h) for each of their profiles. */
#ifndef TIDEMARK_TOP_WATCHED_H
#define TIDEMARK_TOP_WATCHED_H

#include "top/top_model.h"

/* In the order of the columns; names stand last. */
enum watched_sort {
    WATCHED_LIVE,
    WATCHED_GROWTH,
    WATCHED_RATE,
    WATCHED_PEAK,
    WATCHED_RESIDENT,
    WATCHED_NAME,
    WATCHED_SORTS
};

struct watched_program {
    char *path;
    struct top_options options; /* the caller's, with this path */
    struct top_model model;     /* profile NULL: it could not be read yet */
};
struct watched {
    const struct top_options *options;
    struct watched_program **items;
    size_t count, room;
};

/* The programs of options->paths; if there are none, all that are being recorded, as far as this
 * user may see. */
void watched_init(struct watched *programs, const struct top_options *options);
void watched_release(struct watched *programs);

/* Looks for new programs if none were named, and reads profiles that have changed. True: something
 * is new. */
bool watched_look(struct watched *programs);
void watched_sort(struct watched *programs, enum watched_sort sort);
bool watched_any_is_written(const struct watched *programs);

/* How many figures a line of so many columns has room for. */
size_t watched_columns(size_t columns);
/* A line of the table, or of its titles (NULL), of at most `columns` columns. */
void watched_add_line(struct strbuf *out, const struct watched_program *program, size_t columns);
/* "3 programs, 2 still being recorded, live 1.2 GiB together". */
void watched_add_state(struct strbuf *out, const struct watched *programs);

#endif
