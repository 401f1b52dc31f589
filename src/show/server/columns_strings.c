/* Keeps the pool of strings of a document of columns (columns_strings.h). Each string is checked
 * when it is added: a byte that is no UTF-8 becomes U+FFFD. */
#include "server/columns_strings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/text.h"

static void columns_strings_add_valid(struct strbuf *out, const char *string)
{
    size_t left = strlen(string);
    while (left) {
        uint32_t code_point;
        size_t length = text_decode(string, left, &code_point);
        if (length)
            strbuf_add(out, string, length);
        else
            strbuf_add_string(out, "\xef\xbf\xbd");
        string += length ? length : 1;
        left -= length ? length : 1;
    }
}

struct figure columns_strings_add(struct columns_strings *strings, const char *string)
{
    if (!string || strings->no_memory)
        return FIGURE_UNKNOWN;
    /* One more start: the end of the last string. */
    strings->no_memory = !array_make_room(&strings->starts, &strings->room, strings->count + 1,
                                          sizeof *strings->starts);
    if (strings->no_memory)
        return FIGURE_UNKNOWN;
    strings->starts[strings->count] = strings->bytes.length;
    columns_strings_add_valid(&strings->bytes, string);
    strings->starts[strings->count + 1] = strings->bytes.length;
    return figure_of(strings->count++);
}

static struct figure columns_strings_number_at(const void *rows, size_t row)
{
    return ((const struct figure *)rows)[row];
}
static struct figure columns_strings_start_at(const void *rows, size_t row)
{
    return figure_of(((const uint64_t *)rows)[row]);
}

void columns_strings_add_numbers(struct columns_document *document, const char *name,
                                 const struct figure *numbers, size_t count)
{
    columns_add(document, name, numbers, count, columns_strings_number_at);
}

void columns_strings_add_column(struct columns_document *document, struct columns_strings *strings,
                                const char *name, const void *rows, size_t count,
                                columns_string_of *string)
{
    struct figure *numbers = calloc(count + 1, sizeof *numbers);
    const char *last = NULL; /* neighbouring rows often have the same pointer */
    struct figure number = FIGURE_UNKNOWN;
    strings->no_memory |= !numbers;
    for (size_t i = 0; numbers && i < count; i++) {
        const char *text = string(rows, i);
        if (!i || text != last)
            number = columns_strings_add(strings, text);
        numbers[i] = number;
        last = text;
    }
    if (numbers)
        columns_strings_add_numbers(document, name, numbers, count);
    free(numbers);
}

int columns_strings_finish(struct columns_document *document, struct columns_strings *strings,
                           struct strbuf *out)
{
    uint64_t nothing = 0;
    columns_add(document, "string_start", strings->starts ? strings->starts : &nothing,
                strings->count + 1, columns_strings_start_at);
    columns_add_bytes(document, "string_bytes", strings->bytes.data, strings->bytes.length);
    bool no_memory = strings->no_memory;
    free(strings->starts);
    strbuf_release(&strings->bytes);
    *strings = COLUMNS_STRINGS_INIT;
    if (no_memory)
        strbuf_release(&document->data);
    else
        columns_finish(document, "", out);
    return no_memory ? -ENOMEM : 0;
}
