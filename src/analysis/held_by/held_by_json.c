/* Holders as JSON (doc/HELD.md): all rows of the tree, the list of call paths, and the chain. */
#include "aggregate/facts.h"
#include "held_by/held_by.h"

#include "base/json.h"
#include "model/figure_json.h"

static void held_by_json_sum(struct json *json, const char *name, const struct held_by_sum *sum)
{
    json_object(json, name);
    json_unsigned(json, "blocks", sum->count);
    json_unsigned(json, "bytes", sum->bytes);
    json_end(json);
}

static void held_by_json_text(struct json *json, const char *name, const char *text)
{
    if (text)
        json_string(json, name, text);
    else
        json_null(json, name);
}

static void held_by_json_name(struct json *json, const struct held_by_side *side, int kind,
                              const char *name, const char *module, struct figure thread,
                              uint32_t path)
{
    struct frame_walk walk;
    json_string(json, "kind", profile_holder_names[kind]);
    held_by_json_text(json, "name", name);
    held_by_json_text(json, "of", module);
    json_figure(json, "thread", thread);
    if (path)
        frame_write(json, side->profile,
                    frame_walk_begin(&walk, side->profile, side->hidden, path));
}

static void held_by_json_place(struct json *json, const struct held_by *holders, uint32_t index)
{
    const struct held_by_row *row = &holders->rows[index];
    const struct profile_holder *of = row->of;
    json_unsigned(json, "id", index + 1);
    json_unsigned(json, "parent", row->parent == HELD_BY_NONE ? 0 : row->parent + 1);
    if (row->type)
        json_string(json, "type", row->type);
    else if (holders->by == HELD_BY_LIBRARY)
        json_string(json, "library", held_by_library_of(held_by_side_of(holders, row), of));
    else
        held_by_json_name(json, held_by_side_of(holders, row), of->kind, of->name, of->module,
                          of->thread, of->path);
    /* of two profiles each has numbers of its own */
    if (!row->type && holders->by != HELD_BY_LIBRARY && of->path && !holders->before.profile)
        json_unsigned(json, "node", of->path);
}

static void held_by_json_sharer(struct json *json, const struct held_by_side *side,
                                const struct profile_sharer *sharer)
{
    json_object(json, NULL);
    held_by_json_name(json, side, sharer->kind, sharer->name, sharer->module, sharer->thread,
                      sharer->path);
    json_unsigned(json, "reached_blocks", sharer->reached_count);
    json_unsigned(json, "reached_bytes", sharer->reached_bytes);
    json_unsigned(json, "direct_bytes", sharer->direct_bytes);
    json_unsigned(json, "alone_blocks", sharer->alone_count);
    json_unsigned(json, "alone_bytes", sharer->alone_bytes);
    json_end(json);
}

/* Of several. A row that two of one name have become has none, and neither have older files. */
static void held_by_json_sharers(struct json *json, const struct held_by *holders,
                                 const struct held_by_row *row)
{
    const struct held_by_side *side = held_by_side_of(holders, row);
    const struct held_by_sum *sum = row->is_old ? &row->old : &row->retained;
    struct held_by_together together = held_by_together_of(side->profile, row->of);
    if (row->of->kind != PROFILE_HOLDER_SEVERAL || holders->by != HELD_BY_HOLDER ||
        !together.count || sum->bytes != row->of->retained_bytes)
        return;
    json_array(json, "sharers");
    for (size_t i = 0; i < together.count; i++)
        held_by_json_sharer(json, side, &together.list[i]);
    json_end(json);
    json_figure(json, "more_sharers", together.more);
}

/* Of a type: the numbers that its rows have in the tree. */
static void held_by_json_type(struct json *json, const struct held_by *holders,
                              const struct held_by_row *row)
{
    if (holders->by != HELD_BY_TYPE)
        return;
    json_array(json, "rows");
    for (uint32_t at = row->first_of_type; at; at = holders->next_of_type[at - 1])
        json_unsigned(json, NULL, at);
    json_end(json);
}

static void held_by_json_row(struct json *json, const struct held_by *holders, uint32_t index)
{
    const struct held_by_row *row = &holders->rows[index];
    json_object(json, NULL);
    held_by_json_place(json, holders, index);
    json_unsigned(json, "merged", row->merged);
    json_unsigned(json, "own_blocks", row->own.count);
    json_unsigned(json, "own_bytes", row->own.bytes);
    json_unsigned(json, "retained_blocks", row->retained.count);
    json_unsigned(json, "retained_bytes", row->retained.bytes);
    if (holders->before.profile) {
        json_unsigned(json, "old_retained_blocks", row->old.count);
        json_unsigned(json, "old_retained_bytes", row->old.bytes);
    }
    held_by_json_sharers(json, holders, row);
    held_by_json_type(json, holders, row);
    json_end(json);
}

static void held_by_json_when(struct json *json, const struct profile_sample *sample)
{
    json_string(json, "at", facts_moment(sample));
    json_unsigned(json, "time_ns", sample->time_ns);
}

void held_by_write(struct json *json, const struct held_by *holders)
{
    held_by_json_when(json, holders->now.sample);
    if (holders->filter)
        json_string(json, "filter", holders->filter);
    held_by_json_sum(json, "held", &holders->held);
    held_by_json_sum(json, "lost", &holders->lost);
    if (holders->by == HELD_BY_TYPE)
        held_by_json_sum(json, "untyped", &holders->untyped);
    if (holders->before.profile) {
        json_object(json, "old");
        held_by_json_when(json, holders->before.sample);
        held_by_json_sum(json, "held", &holders->old_held);
        held_by_json_sum(json, "lost", &holders->old_lost);
        json_end(json);
    }
    json_array(json, "holders");
    for (uint32_t i = 0; i < holders->count; i++)
        if (!holders->rows[i].is_left_out)
            held_by_json_row(json, holders, i);
    json_end(json);
}

static void held_by_json_look(struct json *json, const struct held_by_look *look)
{
    json_object(json, NULL);
    json_unsigned(json, "sample", look->sample->id);
    held_by_json_when(json, look->sample);
    held_by_json_sum(json, "held", &look->held);
    held_by_json_sum(json, "lost", &look->lost);
    json_end(json);
}

/* By look, in their order. */
static void held_by_json_kept(struct json *json, const struct held_by_looks *looks, uint32_t row,
                              bool bytes)
{
    json_array(json, bytes ? "retained_bytes" : "retained_blocks");
    for (size_t i = 0; i < looks->count; i++) {
        const struct held_by_look *look = &looks->list[i];
        struct held_by_sum kept = row < look->count ? look->retained[row] : (struct held_by_sum){0};
        json_unsigned(json, NULL, bytes ? kept.bytes : kept.count);
    }
    json_end(json);
}

void held_by_looks_write(struct json *json, const struct held_by_looks *looks)
{
    json_array(json, "looks");
    for (size_t i = 0; i < looks->count; i++)
        held_by_json_look(json, &looks->list[i]);
    json_end(json);
    json_array(json, "holders");
    for (uint32_t i = 0; i < looks->all.count; i++) {
        json_object(json, NULL);
        held_by_json_place(json, &looks->all, i);
        json_unsigned(json, "merged", looks->all.rows[i].most_merged);
        held_by_json_kept(json, looks, i, true);
        held_by_json_kept(json, looks, i, false);
        json_end(json);
    }
    json_end(json);
}

int held_by_json(FILE *out, const struct held_by *holders)
{
    struct json json = json_begin(out, true);
    json_object(&json, NULL);
    held_by_write(&json, holders);
    json_end(&json);
    return json_finish(&json);
}

int held_by_chain_json(FILE *out, const struct held_by *holders)
{
    const struct profile *profile = holders->now.profile;
    struct json json = json_begin(out, true);
    json_object(&json, NULL);
    held_by_json_when(&json, holders->now.sample);
    json_array(&json, "chain");
    for (size_t i = 0; i < profile->chain_count; i++) {
        const struct profile_chain *step = &profile->chains[i];
        if (step->sample != holders->now.sample->id)
            continue;
        json_object(&json, NULL);
        held_by_json_name(&json, &holders->now, step->kind, step->name, step->module, step->thread,
                          step->path);
        json_figure(&json, "address", step->address);
        json_figure(&json, "bytes", step->bytes);
        json_figure(&json, "pointer_offset", step->pointer_offset);
        json_figure(&json, "target_offset", step->target_offset);
        json_end(&json);
    }
    json_end(&json);
    json_end(&json);
    return json_finish(&json);
}
