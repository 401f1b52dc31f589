/* Reads lists of ranks (rank_choice.h). A list is ranges between commas; each range is read by
 * digits alone, so that signs, blanks and numbers beyond 64 bits are refused. */
#include "jobdir/rank_choice.h"

#include <errno.h>

static bool rank_choice_take_number(const char **at, int64_t *number)
{
    const char *from = *at;
    *number = 0;
    for (; **at >= '0' && **at <= '9'; ++*at)
        if (__builtin_mul_overflow(*number, 10, number) ||
            __builtin_add_overflow(*number, **at - '0', number))
            return false;
    return *at > from;
}

/* "5", "5-8", "5-", each with ":STEP" behind a dash. */
static bool rank_choice_take_range(const char **at, struct rank_range *range)
{
    range->step = 1;
    if (!rank_choice_take_number(at, &range->first))
        return false;
    range->last = range->first;
    if (**at != '-')
        return true;
    ++*at;
    range->last = INT64_MAX;
    if (**at >= '0' && **at <= '9' && !rank_choice_take_number(at, &range->last))
        return false;
    if (**at == ':') {
        ++*at;
        if (!rank_choice_take_number(at, &range->step))
            return false;
    }
    return range->step > 0 && range->first <= range->last;
}

int rank_choice_parse(const char *text, struct rank_choice *list)
{
    list->count = 0;
    for (const char *at = text; list->count < RANK_CHOICE_MOST; at++) {
        if (!rank_choice_take_range(&at, &list->ranges[list->count]))
            break;
        list->count++;
        if (!*at)
            return 0;
        if (*at != ',')
            break;
    }
    list->count = 0;
    return -EINVAL;
}

bool rank_choice_has(const struct rank_choice *list, int64_t rank)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct rank_range *range = &list->ranges[i];
        if (rank >= range->first && rank <= range->last && (rank - range->first) % range->step == 0)
            return true;
    }
    return list->count == 0;
}
