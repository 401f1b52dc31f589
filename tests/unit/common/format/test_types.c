/* Types as people write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "format/types.h"

static void assert_plain(const char *full, const char *expected)
{
    struct strbuf out = STRBUF_INIT;
    strbuf_add_string(&out, "std::"); /* what stands there is no part of it */
    types_add_plain(&out, full, strlen(full));
    assert_string_equal(out.data + strlen("std::"), expected);
    strbuf_release(&out);
}

/* The table that web/test/names.test.ts reads too. */
static void the_table_holds(void **state)
{
    (void)state;
    FILE *table = fopen(TYPES_TABLE, "r");
    assert_non_null(table);
    char line[1024];
    size_t count = 0;
    while (fgets(line, sizeof line, table)) {
        line[strcspn(line, "\n")] = '\0';
        char *plain = strchr(line, '\t');
        if (*line == '#' || !plain)
            continue;
        *plain++ = '\0';
        assert_plain(line, plain);
        assert_plain(plain, plain); /* what is short stays */
        count++;
    }
    fclose(table);
    assert_true(count > 50);
}

static void add_repeated(struct strbuf *out, const char *begin, const char *end, size_t depth)
{
    strbuf_add_repeated(out, begin, depth);
    strbuf_add_string(out, "int");
    strbuf_add_repeated(out, end, depth);
}

static void however_deep_they_are_they_stay_whole(void **state)
{
    (void)state;
    for (size_t depth = 1; depth < 400; depth = depth < 60 || depth > 66 ? 2 * depth : depth + 1) {
        struct strbuf name = STRBUF_INIT;
        add_repeated(&name, "std::vector<", ">", depth);
        assert_plain(name.data, name.data);
        strbuf_release(&name);
    }
}

/* In memory of its own size, so that a sanitizer sees what reads behind its end. */
static void a_name_may_end_anywhere(void **state)
{
    (void)state;
    static const char full[] = "std::map<std::__cxx11::basic_string<char, std::char_traits<char>, "
                               "std::allocator<char> >, int, nocase>::operator[](x)[abi:cxx11]";
    for (size_t length = 0; length < sizeof full; length++) {
        char *part = malloc(length + 1);
        assert_non_null(part);
        memcpy(part, full, length);
        char *exact = realloc(part, length ? length : 1);
        struct strbuf out = STRBUF_INIT;
        types_add_plain(&out, exact, length);
        assert_true(out.length <= length);
        strbuf_release(&out);
        free(exact);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_holds),
        cmocka_unit_test(however_deep_they_are_they_stay_whole),
        cmocka_unit_test(a_name_may_end_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
