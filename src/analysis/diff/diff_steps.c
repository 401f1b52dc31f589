/* See diff_steps.h. The profile's nodes are walked in order, parents first. Of each is kept where
 * its path stands: the innermost frame that is shown, and its step. */
#include "diff/diff_steps.h"

#include <errno.h>
#include <stdlib.h>
#include "base/array.h"
#include "base/hash.h"
#include "aggregate/functions.h"

/* The frames of each location that are shown, the outermost inlined one first: all that the walk
 * asks of a node, close together. */
struct shown_frames {
    struct shown_range {
        uint32_t first, end;
    } * of_code;
    struct shown_frame {
        uint32_t function, line; /* identity */
    } * frames;                  /* [0]: no frame */
};

struct standing {
    uint32_t frame;       /* index into the frames that are shown; 0: none yet */
    uint32_t level, step; /* 0: no step yet */
};

/* Calls by frame and callee, the last that had its slot. Most calls of a run are found here: it is
 * small enough for the processor's cache, and shorter to ask than calls_add(). */
enum { KNOWN_CALL_BITS = 14 };

struct known_call {
    uint32_t frame, callee; /* the callee's identity */
    uint32_t number;        /* + 1; 0: the slot is empty */
};

struct steps_pass {
    struct diff_steps *steps;
    struct calls *calls;
    const struct profile *profile;
    const struct diff_run *run;
    const uint32_t *by_key;
    const bool *hidden;
    struct shown_frames shown;
    struct known_call *known;  /* 2^KNOWN_CALL_BITS */
    bool *on_way;              /* by node: does a path that counts go through it? */
    struct standing *standing; /* by node */
};

/* ---- What is shown ------------------------------------------------------------------------- */

static uint32_t diff_steps_identity(const struct steps_pass *pass, uint32_t code, uint32_t line)
{
    return pass->by_key[function_key(pass->profile, code, line)];
}

static uint32_t diff_steps_show_code(struct steps_pass *pass, uint32_t number, uint32_t at)
{
    const struct profile_code *code = &pass->profile->codes[number];
    for (uint32_t i = code->line_count; i--;) {
        uint32_t line = code->first_line + i;
        if (!pass->hidden[line])
            pass->shown.frames[at++] = (struct shown_frame){diff_steps_identity(pass, number, line),
                                                            pass->profile->lines[line].line};
    }
    return at;
}

static int diff_steps_find_shown(struct steps_pass *pass)
{
    const struct profile *profile = pass->profile;
    size_t lines = 0;
    for (size_t i = 0; i < profile->code_count; i++)
        lines += profile->codes[i].line_count;
    pass->shown.of_code = calloc(profile->code_count + 1, sizeof *pass->shown.of_code);
    pass->shown.frames = calloc(lines + 1, sizeof *pass->shown.frames);
    if (!pass->shown.of_code || !pass->shown.frames)
        return -ENOMEM;
    for (uint32_t i = 0, at = 1; i < profile->code_count; i++) {
        uint32_t end = diff_steps_show_code(pass, i, at);
        pass->shown.of_code[i] = (struct shown_range){at, end};
        at = end;
    }
    return 0;
}

static int diff_steps_find_ways(struct steps_pass *pass)
{
    const struct profile *profile = pass->profile;
    const bool *wanted = pass->run->wanted;
    pass->on_way = calloc(profile->node_count + 1, sizeof *pass->on_way);
    if (!pass->on_way)
        return -ENOMEM;
    for (size_t i = 0; i < profile->site_count; i++)
        if (!wanted || wanted[profile_site_path(profile, i)])
            pass->on_way[profile_site_path(profile, i)] = true;
    for (size_t i = profile->node_count; i-- > 1;)
        if (pass->on_way[i])
            pass->on_way[profile->nodes[i].parent] = true;
    return 0;
}

/* ---- Steps --------------------------------------------------------------------------------- */

static struct step_level *diff_steps_level(struct diff_steps *steps, uint32_t number)
{
    if (number == steps->level_count) {
        if (!array_make_room(&steps->levels, &steps->level_room, number, sizeof *steps->levels))
            return NULL;
        steps->level_count++;
    }
    return &steps->levels[number];
}

/* The function of `frame`, at its line, calls `callee`. */
static int diff_steps_number_call(struct steps_pass *pass, uint32_t frame, uint32_t callee,
                                  uint32_t *number)
{
    uint64_t hash = hash_u64((uint64_t)frame << 32 | callee) * HASH_GOLDEN;
    struct known_call *known = &pass->known[hash >> (64 - KNOWN_CALL_BITS)];
    if (!known->number || known->frame != frame || known->callee != callee) {
        const struct shown_frame *of = &pass->shown.frames[frame];
        if (calls_add(pass->calls, pass->run->group, of->function, callee, of->line, number))
            return -ENOMEM;
        *known = (struct known_call){frame, callee, *number + 1};
    }
    *number = known->number - 1;
    return 0;
}

/* One step of a path: the function where the path stands calls `callee`. */
static int diff_steps_add(struct steps_pass *pass, struct standing *at, uint32_t callee)
{
    struct step_level *level = diff_steps_level(pass->steps, at->level);
    struct step step = {at->step, 0};
    if (!level ||
        !array_make_bare_room(&level->steps, &level->room, level->count, sizeof *level->steps) ||
        diff_steps_number_call(pass, at->frame, callee, &step.call))
        return -ENOMEM;
    at->level++;
    at->step = (uint32_t)level->count;
    level->steps[level->count++] = step;
    return 0;
}

static int diff_steps_walk_node(struct steps_pass *pass, struct standing *at, uint32_t node)
{
    struct shown_range range = pass->shown.of_code[pass->profile->nodes[node].location];
    int error = 0;
    for (uint32_t i = range.first; i < range.end && !error; i++) {
        error = diff_steps_add(pass, at, pass->shown.frames[i].function);
        at->frame = i;
    }
    return error;
}

static int diff_steps_walk(struct steps_pass *pass)
{
    const struct profile *profile = pass->profile;
    int error = 0;
    for (uint32_t i = 1; i < profile->node_count && !error; i++) {
        if (!pass->on_way[i])
            continue;
        pass->standing[i] = pass->standing[profile->nodes[i].parent];
        error = diff_steps_walk_node(pass, &pass->standing[i], i);
    }
    return error;
}

/* A path without a frame that is shown stands for its innermost one. */
static int diff_steps_end_path(struct steps_pass *pass, uint32_t node, struct step_end *end)
{
    struct standing at = pass->standing[node];
    struct shown_frame frame = pass->shown.frames[at.frame];
    int error = 0;
    if (!at.frame) {
        uint32_t location = node ? pass->profile->nodes[node].location : 0;
        uint32_t line = pass->profile->codes[location].first_line;
        frame = (struct shown_frame){diff_steps_identity(pass, location, line),
                                     node ? pass->profile->lines[line].line : 0};
        error = diff_steps_add(pass, &at, frame.function);
    }
    *end = (struct step_end){.level = at.level, .step = at.step};
    return error ? error
                 : calls_add(pass->calls, pass->run->group, frame.function, 0, frame.line,
                             &end->call);
}

static int diff_steps_end_paths(struct steps_pass *pass)
{
    const struct profile *profile = pass->profile;
    int error = 0;
    for (size_t i = 0; i < profile->site_count && !error; i++) {
        uint32_t path = profile_site_path(profile, i);
        if (!pass->run->wanted || pass->run->wanted[path])
            error = diff_steps_end_path(pass, path, &pass->steps->ends[i]);
    }
    return error;
}

int diff_steps_make(struct diff_steps *steps, struct calls *calls, const uint32_t *by_key,
                    const struct diff_run *run, const bool *hidden, bool callers_only)
{
    const struct profile *profile = run->profile;
    struct steps_pass pass = {.steps = steps,
                              .calls = calls,
                              .profile = profile,
                              .run = run,
                              .by_key = by_key,
                              .hidden = hidden};
    pass.standing = calloc(profile->node_count + 1, sizeof *pass.standing);
    pass.known = calloc((size_t)1 << KNOWN_CALL_BITS, sizeof *pass.known);
    steps->ends = calloc(profile->site_count + 1, sizeof *steps->ends);
    int error = pass.standing && pass.known && steps->ends ? diff_steps_find_shown(&pass) : -ENOMEM;
    if (!error && !callers_only)
        error = diff_steps_find_ways(&pass);
    if (!error && !callers_only)
        error = diff_steps_walk(&pass);
    if (!error)
        error = diff_steps_end_paths(&pass);
    free(pass.standing);
    free(pass.known);
    free(pass.on_way);
    free(pass.shown.of_code);
    free(pass.shown.frames);
    return error;
}

void diff_steps_release(struct diff_steps *steps)
{
    for (size_t i = 0; i < steps->level_count; i++)
        free(steps->levels[i].steps);
    free(steps->levels);
    free(steps->ends);
    *steps = (struct diff_steps){0};
}
