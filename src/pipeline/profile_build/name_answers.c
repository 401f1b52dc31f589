/* Two lists, of frames and of types, each with a map of (module, address) beside it
 * (name_answers.h). */
#include "profile_build/name_answers.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/memory.h"

/* Limit of each list: 100 MB. Further call paths are resolved again by each rank. */
enum { MOST_ANSWERS = 1 << 20 };

struct name_place {
    uint64_t address;
    int module;
};

struct name_frames {
    struct name_place place;
    uint32_t first, count;
};

struct name_type {
    struct name_place place;
    bool is_known;
    struct symbols_call_type type;
};

struct name_answers {
    struct map by_place, type_by_place;
    struct name_frames *rows;
    size_t row_count, row_room;
    struct symbols_frame *frames;
    size_t frame_count, frame_room;
    struct name_type *types;
    size_t type_count, type_room;
};

struct name_answers *name_answers_new(void)
{
    return memory_zeroed(1, sizeof(struct name_answers));
}

void name_answers_free(struct name_answers *answers)
{
    if (!answers)
        return;
    map_release(&answers->by_place);
    map_release(&answers->type_by_place);
    free(answers->rows);
    free(answers->frames);
    free(answers->types);
    free(answers);
}

static uint64_t name_place_hash(struct name_place place)
{
    return hash_u64(place.address ^ (uint64_t)(uint32_t)place.module << 48);
}

static bool name_place_is(struct name_place a, struct name_place b)
{
    return a.address == b.address && a.module == b.module;
}

static const struct name_frames *name_answers_row(const struct name_answers *answers,
                                                  struct name_place place)
{
    uint32_t number;
    for (struct map_probe probe = map_probe(&answers->by_place, name_place_hash(place));
         map_next(&probe, &number);)
        if (name_place_is(answers->rows[number].place, place))
            return &answers->rows[number];
    return NULL;
}

size_t name_answers_find(const struct name_answers *answers, int module, uint64_t address,
                         struct symbols_frame *frames, size_t max)
{
    const struct name_frames *row = name_answers_row(answers, (struct name_place){address, module});
    if (!row)
        return 0;
    size_t count = row->count < max ? row->count : max;
    memcpy(frames, answers->frames + row->first, count * sizeof *frames);
    return count;
}

void name_answers_keep(struct name_answers *answers, int module, uint64_t address,
                       const struct symbols_frame *frames, size_t count)
{
    struct name_place place = {address, module};
    if (!count || answers->frame_count + count > MOST_ANSWERS)
        return;
    array_need_room(&answers->rows, &answers->row_room, answers->row_count, sizeof *answers->rows);
    map_add(&answers->by_place, name_place_hash(place), (uint32_t)answers->row_count);
    answers->rows[answers->row_count++] =
        (struct name_frames){place, (uint32_t)answers->frame_count, (uint32_t)count};
    for (size_t i = 0; i < count; i++) {
        array_need_room(&answers->frames, &answers->frame_room, answers->frame_count,
                        sizeof *answers->frames);
        answers->frames[answers->frame_count++] = frames[i];
    }
}

bool name_answers_find_type(const struct name_answers *answers, int module, uint64_t address,
                            bool *is_known, struct symbols_call_type *type)
{
    struct name_place place = {address, module};
    uint32_t number;
    for (struct map_probe probe = map_probe(&answers->type_by_place, name_place_hash(place));
         map_next(&probe, &number);) {
        const struct name_type *row = &answers->types[number];
        if (!name_place_is(row->place, place))
            continue;
        *is_known = row->is_known;
        if (row->is_known)
            *type = row->type;
        return true;
    }
    return false;
}

void name_answers_keep_type(struct name_answers *answers, int module, uint64_t address,
                            const struct symbols_call_type *type)
{
    struct name_type row = {.place = {address, module}, .is_known = type != NULL};
    if (answers->type_count >= MOST_ANSWERS)
        return;
    if (type)
        row.type = *type;
    array_need_room(&answers->types, &answers->type_room, answers->type_count,
                    sizeof *answers->types);
    map_add(&answers->type_by_place, name_place_hash(row.place), (uint32_t)answers->type_count);
    answers->types[answers->type_count++] = row;
}
