/* Keeps each list of numbers once (number_lists.h): all numbers lie in one array, one list behind
 * the other, and a hash table finds the list that is equal to a new one. */
#include "graph/number_lists.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/hash.h"

static bool number_lists_equal(const struct number_lists *lists, uint32_t list,
                               const uint32_t *numbers, uint32_t count, bool is_part)
{
    const struct number_list *of = &lists->lists[list];
    return of->count == count && of->is_part == is_part &&
           !memcmp(lists->numbers + of->first, numbers, count * sizeof *numbers);
}

static bool number_lists_make_room(struct number_lists *lists, uint32_t count)
{
    return array_make_bare_room(&lists->numbers, &lists->number_room, lists->number_count + count,
                                sizeof *lists->numbers) &&
           array_make_room(&lists->lists, &lists->room, lists->count, sizeof *lists->lists);
}

uint32_t number_lists_add(struct number_lists *lists, const uint32_t *numbers, uint32_t count,
                          bool is_part)
{
    uint64_t hash = hash_bytes(numbers, count * sizeof *numbers) + is_part;
    uint32_t list;
    for (struct map_probe probe = map_probe(&lists->by_numbers, hash); map_next(&probe, &list);)
        if (number_lists_equal(lists, list, numbers, count, is_part))
            return list;
    if (lists->count >= NUMBER_LISTS_NONE || !number_lists_make_room(lists, count) ||
        !map_try_add(&lists->by_numbers, hash, (uint32_t)lists->count))
        return NUMBER_LISTS_NONE;
    memcpy(lists->numbers + lists->number_count, numbers, count * sizeof *numbers);
    lists->lists[lists->count] = (struct number_list){lists->number_count, count, is_part};
    lists->number_count += count;
    return (uint32_t)lists->count++;
}

uint32_t number_lists_part_of(struct number_lists *lists, uint32_t list)
{
    const struct number_list of = lists->lists[list];
    uint64_t hash =
        hash_bytes(number_lists_at(lists, list), of.count * sizeof *lists->numbers) + true;
    uint32_t part;
    if (of.is_part)
        return list;
    for (struct map_probe probe = map_probe(&lists->by_numbers, hash); map_next(&probe, &part);)
        if (number_lists_equal(lists, part, number_lists_at(lists, list), of.count, true))
            return part;
    if (!number_lists_make_room(lists, 0) ||
        !map_try_add(&lists->by_numbers, hash, (uint32_t)lists->count))
        return NUMBER_LISTS_NONE;
    lists->lists[lists->count] = (struct number_list){of.first, of.count, true};
    return (uint32_t)lists->count++;
}

void number_lists_release(struct number_lists *lists)
{
    free(lists->lists);
    free(lists->numbers);
    map_release(&lists->by_numbers);
    *lists = (struct number_lists){0};
}
