/* The frames of a call path, which of them belong to a library, and call paths grouped by the first
 * frame of the program's own.
 *
 *   path   main → run → load → std::vector::push_back → operator new
 *                        └ the site's frame (library frames are hidden)
 *          └──────┘ its callers, nearest first
 *
 * Reads struct profile and nothing else. Thread-safe.
 *
 * Beside it in this room: `facts` says sentences about a recording, and `match` has patterns. */
#ifndef TIDEMARK_AGGREGATE_FRAMES_H
#define TIDEMARK_AGGREGATE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/json.h"
#include "base/strbuf.h"
#include "format/style.h"
#include "profile/profile.h"

/* One frame of a call path: an index into profile->lines, of code `code`. code 0: no path.
 * `through`: the index of the line of the wrapper (aggregate/wrappers.h) through which the function
 * allocated, of code `through_code`; 0: it called the allocator itself. */
struct frame {
    uint32_t code, line, through, through_code;
};

static inline struct frame frame_at(uint32_t code, uint32_t line)
{
    return (struct frame){.code = code, .line = line};
}

/* What is known of a frame; NULL, 0 where nothing is. */
const char *frame_function(const struct profile *profile, struct frame frame);
const char *frame_file(const struct profile *profile, struct frame frame, uint32_t *line);
const char *frame_module(const struct profile *profile, struct frame frame);
/* A function that an interpreter runs: its module is its source file. */
bool frame_is_interpreted(const struct profile *profile, struct frame frame);
/* Is there more than an address: a function, or a line of a script? */
bool frame_has_name(const struct profile *profile, struct frame frame);
/* Frames with the same key are shown as one. */
uint64_t frame_key(const struct profile *profile, struct frame frame);
/* A name in any case: function, "libx.so+0x12", "[…]". Not shortened, not made safe. */
void frame_add_name(struct strbuf *out, const struct profile *profile, struct frame frame);
/* The wrapper's name, likewise; nothing where there is no wrapper. */
void frame_add_through(struct strbuf *out, const struct profile *profile, struct frame frame);
/* The name behind its wrapper's: "my_malloc ← parse_header". Each is shortened to `columns`, and
 * safe. */
void frame_add_owner(struct strbuf *out, const struct profile *profile, struct frame frame,
                     const char *arrow, size_t columns);
/* "my_malloc ← " on a line, in front of `name`, where `room` columns are enough for both; else
 * nothing. The columns that it takes. */
size_t frame_add_wrapper(struct strbuf *out, const struct style *style, const char *wrapper,
                         const char *name, size_t room);
/* "src/mesh.cpp:77", as seen from where the program was started, in at most `columns`; where no
 * file is known the library, or nothing. Safe. */
void frame_add_place(struct strbuf *out, const struct profile *profile, struct frame frame,
                     size_t columns);
/* The same without the line: where a function is, not one of its calls. */
void frame_add_file(struct strbuf *out, const struct profile *profile, struct frame frame,
                    size_t columns);
/* With less room than this a name is better put on a line of its own. */
enum { FRAME_ROOM_NARROW = 36 };
/* What a place may take beside a name that begins behind `used` columns: `most`, or less if the
 * name would else be cut. */
size_t frame_place_room(const struct style *style, const char *name, size_t used, size_t most);
/* A name and, at the right edge, a place that is safe; the place is left out where it would leave
 * the name no room. */
void frame_add_columns(struct strbuf *out, const struct style *style, const char *name,
                       const char *place, size_t used, bool strong);
/* The rest of a line whose first `used` columns are taken: name, and place at the right edge. */
void frame_add_line(struct strbuf *out, const struct style *style, const struct profile *profile,
                    struct frame frame, size_t used, bool strong);
/* The same behind many columns: the name goes first, a place only where it is left room. */
void frame_add_tight_line(struct strbuf *out, const struct style *style,
                          const struct profile *profile, struct frame frame, size_t used);

/* The members "function", "file", "line" and "module" of an object that is open; "through" where
 * the function asked through a wrapper. */
void frame_write(struct json *json, const struct profile *profile, struct frame frame);

/* Three parts of profile->line_count + 1 each, by index of profile->lines. First: is it a frame of
 * a library, or of a wrapper (aggregate/wrappers.h), or of a run-time? Second: is it a wrapper's?
 * Third: is it of a run-time of JavaScript or Java, and to be shown where all of a path is hidden?
 * NULL: out of memory. To be freed. */
bool *frames_of_libraries(const struct profile *profile);

/* The same for the names of a trace, which has no sites: each node without children counts as a
 * call path that allocates. */
bool *frames_of_libraries_in_trace(const struct profile *profile);

/* Walks a path from its innermost frame outwards, over what `hidden` (by index of profile->lines)
 * does not hide. */
struct frame_walk {
    const struct profile *profile;
    const bool *hidden;
    uint32_t node, at; /* the next frame: the at-th line of node's code */
};
bool frame_walk_next(struct frame_walk *walk, struct frame *frame);
/* Begins at the path `node`, returns the frame that it is listed under; the walk then stands at its
 * caller. A path of hidden frames only is listed under the innermost of a run-time's, if there is
 * one, else under its innermost. `hidden` is of frames_of_libraries(), or hides nothing. */
struct frame frame_walk_begin(struct frame_walk *walk, const struct profile *profile,
                              const bool *hidden, uint32_t node);
/* The callers from where the walk stands on, `most` of them, a line each behind `used` columns. */
void frame_add_callers(struct strbuf *out, const struct style *style, struct frame_walk *walk,
                       size_t most, size_t used);

/* The sites of a profile, grouped by the frame that their paths are listed under. */
struct frame_groups {
    struct frame *frames; /* by group */
    size_t count;
    uint32_t *of_site; /* by index of profile->sites; UINT32_MAX: left out */
};
/* `wanted` (by node; NULL: all) leaves sites out. 0 or -ENOMEM. */
int frame_groups_init(struct frame_groups *groups, const struct profile *profile,
                      const bool *hidden, const bool *wanted);
void frame_groups_release(struct frame_groups *groups);

#endif
