/* Rows below one parent whose lines would be the same. Their call paths differ further out: in the
 * line of a caller, or between two builds of a program. The first callers that differ tell them
 * apart. */
#include "held_by/held_by_gather.h"

#include <string.h>

static bool held_by_apart_same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* Two frames, of one profile or of two, that are shown by the same words. */
static bool held_by_apart_same_frame(const struct profile *of_a, struct frame a,
                                     const struct profile *of_b, struct frame b)
{
    uint32_t line_a = 0, line_b = 0;
    struct strbuf name_a = STRBUF_INIT, name_b = STRBUF_INIT;
    frame_add_name(&name_a, of_a, a);
    frame_add_name(&name_b, of_b, b);
    const char *file_a = frame_file(of_a, a, &line_a), *file_b = frame_file(of_b, b, &line_b);
    bool same = held_by_apart_same_text(name_a.data, name_b.data) &&
                held_by_apart_same_text(file_a, file_b) && line_a == line_b;
    strbuf_release(&name_a);
    strbuf_release(&name_b);
    return same;
}

/* How many callers further out two paths differ, of which the first frames are shown alike; 0: the
 * first frames differ, or none of the callers that are shown. */
static size_t held_by_apart_distance(const struct held_by *holders, const struct held_by_row *a,
                                     const struct held_by_row *b)
{
    const struct held_by_side *of_a = held_by_side_of(holders, a),
                              *of_b = held_by_side_of(holders, b);
    struct frame_walk walk_a, walk_b;
    struct frame at_a = frame_walk_begin(&walk_a, of_a->profile, of_a->hidden, a->of->path);
    struct frame at_b = frame_walk_begin(&walk_b, of_b->profile, of_b->hidden, b->of->path);
    if (a->of->kind != b->of->kind ||
        !held_by_apart_same_frame(of_a->profile, at_a, of_b->profile, at_b))
        return 0;
    for (size_t callers = 1;; callers++) {
        bool more_a = frame_walk_next(&walk_a, &at_a), more_b = frame_walk_next(&walk_b, &at_b);
        if (!more_a)
            return 0;
        if (!more_b || !held_by_apart_same_frame(of_a->profile, at_a, of_b->profile, at_b))
            return callers;
    }
}

void held_by_add_apart(struct strbuf *out, const struct style *style, const struct held_by *holders,
                       const uint32_t *siblings, size_t count, uint32_t number, size_t used)
{
    const struct held_by_row *row = &holders->rows[number];
    const struct held_by_side *side = held_by_side_of(holders, row);
    size_t most = 0;
    for (size_t i = 0; i < count && row->of->path && !row->type; i++) {
        const struct held_by_row *other = &holders->rows[siblings[i]];
        size_t callers =
            other == row || !other->of->path ? 0 : held_by_apart_distance(holders, row, other);
        most = callers > most ? callers : most;
    }
    if (!most)
        return;
    struct frame_walk walk;
    struct frame frame;
    frame_walk_begin(&walk, side->profile, side->hidden, row->of->path);
    for (size_t i = 1; i < most && frame_walk_next(&walk, &frame); i++)
        ;
    frame_add_callers(out, style, &walk, 1, used);
}
