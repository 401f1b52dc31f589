/* truth: sick
 * what: tokens leak on each parse, two thin functions below the parser (jv_mem_alloc, as jq has it)
 * expect: leak-lost leak-growth
 * wrapper: jv_mem_alloc jvp_string_alloc */
#include "truth.h"

struct string {
    int count, length;
    char text[];
};

NOINLINE static void *jv_mem_alloc(size_t size)
{
    void *block = malloc(size);
    if (!block)
        abort();
    return block;
}

NOINLINE static struct string *jvp_string_alloc(int length)
{
    struct string *string = jv_mem_alloc(sizeof *string + (size_t)length);
    string->count = 1;
    string->length = length;
    return string;
}

NOINLINE static void print_value(int i)
{
    struct string *string = jvp_string_alloc(60);
    string->text[i % 60] = 'v';
    use(string);
    free(string);
}

NOINLINE static void parse_token(int i)
{
    struct string *string = jvp_string_alloc(100); /* guilty: parse_token */
    string->text[i % 100] = 'k';
    use(string);
}

NOINLINE static void make_key(int i)
{
    struct string *string = jvp_string_alloc(30);
    string->text[i % 30] = 'k';
    use(string);
    free(string);
}

int main(void)
{
    for (int i = 0; i < 20000; i++) {
        make_key(i);
        parse_token(i);
        print_value(i);
        pace(i, 50);
    }
    return 0;
}
