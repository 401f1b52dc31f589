/* Lists of numbers, each kept once: equal lists have the same name.
 *
 *   numbers ──▶ │ 3 7 │ 3 │ 1 3 7 9 │ …        list 0 = 3 7, list 1 = 3, list 2 = 1 3 7 9
 *
 * A list may be marked as a *part*: of one that would have taken too much memory. It is another
 * list than the same numbers without the mark. Inside the room. */
#ifndef TIDEMARK_GRAPH_NUMBER_LISTS_H
#define TIDEMARK_GRAPH_NUMBER_LISTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/map.h"

struct number_list {
    size_t first;
    uint32_t count;
    bool is_part;
};
struct number_lists {
    struct number_list *lists;
    size_t count, room;
    uint32_t *numbers;
    size_t number_count, number_room;
    struct map by_numbers;
};

#define NUMBER_LISTS_NONE UINT32_MAX

/* The name of the list, new if there is none like it. NUMBER_LISTS_NONE: no memory. */
uint32_t number_lists_add(struct number_lists *lists, const uint32_t *numbers, uint32_t count,
                          bool is_part);
/* The same numbers as those of a list, marked as a part. */
uint32_t number_lists_part_of(struct number_lists *lists, uint32_t list);
void number_lists_release(struct number_lists *lists);

static inline const uint32_t *number_lists_at(const struct number_lists *lists, uint32_t list)
{
    return lists->numbers + lists->lists[list].first;
}

#endif
