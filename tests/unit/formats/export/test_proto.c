/* Protocol Buffers on the wire, by the examples of its documentation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "export/proto.h"

static void fields(void **state)
{
    struct strbuf out = STRBUF_INIT, part = STRBUF_INIT;
    (void)state;
    proto_number(&out, 1, 150);
    assert_int_equal(out.length, 3);
    assert_memory_equal(out.data, "\x08\x96\x01", 3);
    strbuf_reset(&out);
    proto_string(&out, 2, "testing");
    assert_memory_equal(out.data, "\x12\x07testing", 9);
    strbuf_reset(&out);
    proto_number(&part, 1, 150);
    proto_part(&out, 3, &part);
    assert_memory_equal(out.data, "\x1a\x03\x08\x96\x01", 5);
    assert_int_equal(part.length, 0);
    strbuf_reset(&out);
    proto_varint(&out, UINT64_MAX);
    assert_int_equal(out.length, 10);
    strbuf_release(&out);
    strbuf_release(&part);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fields)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
