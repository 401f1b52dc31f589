/* The list of marks and the table of their names (marks.h). Both are arrays with a limit. Marks
 * beyond MARKS_MAX are counted as lost. */
#include "accounting/marks.h"

#include <stdlib.h>
#include <string.h>
#include "blocks/arena.h"

void marks_release(struct marks *marks)
{
    for (size_t i = 0; marks->names && i < MARKS_NAMES; i++)
        free(marks->names[i]);
    free(marks->names);
    free(marks->all);
}

void marks_add(struct marks *marks, const struct replay_mark *mark)
{
    if (marks->count == MARKS_MAX) {
        marks->lost++;
        return;
    }
    if (marks->count == marks->room) {
        marks->room = marks->room ? 2 * marks->room : 16;
        marks->all = arena_realloc(marks->all, marks->room * sizeof *marks->all);
    }
    marks->all[marks->count++] = *mark;
}

void marks_restart(struct marks *marks)
{
    marks->count = 0;
    marks->lost = 0;
}

void marks_name(struct marks *marks, uint32_t number, const char *text)
{
    size_t bytes = strlen(text) + 1;

    if (number >= MARKS_NAMES)
        return;
    if (!marks->names)
        marks->names = arena_calloc(MARKS_NAMES, sizeof *marks->names);
    free(marks->names[number]);
    marks->names[number] = memcpy(arena_calloc(1, bytes), text, bytes);
}

const char *marks_name_of(const struct marks *marks, uint32_t number)
{
    if (!number)
        return "";
    return number < MARKS_NAMES && marks->names && marks->names[number] ? marks->names[number]
                                                                        : "?";
}
