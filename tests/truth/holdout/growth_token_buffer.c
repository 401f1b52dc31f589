/* truth: sick
 * what: tokens are gathered through a grow function that adds sixteen each time
 * expect: realloc-constant-growth
 * wrapper: buf_grow */
#include "truth.h"

struct buffer {
    char *data;
    size_t length, room;
};

NOINLINE static void buf_grow(struct buffer *buffer, size_t room)
{
    buffer->data = realloc(buffer->data, room);
    buffer->room = room;
}

NOINLINE static void name_put(struct buffer *buffer, char c)
{
    if (buffer->length == buffer->room)
        buf_grow(buffer, buffer->room ? buffer->room * 2 : 16);
    buffer->data[buffer->length++] = c;
}

NOINLINE static void token_put(struct buffer *buffer, char c)
{
    if (buffer->length == buffer->room)
        buf_grow(buffer, buffer->room + 16); /* guilty: token_put */
    buffer->data[buffer->length++] = c;
}

int main(void)
{
    struct buffer tokens = {0};
    for (int i = 0; i < 800000; i++)
        token_put(&tokens, 't');
    for (int i = 0; i < 500; i++) {
        struct buffer name = {0};
        for (int k = 0; k < i % 90 + 3; k++)
            name_put(&name, 'n');
        free(name.data);
    }
    free(tokens.data);
    return 0;
}
