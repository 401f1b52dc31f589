/* Frames by instructions, compared with what the call frame information of the C library's tens of
 * thousands of calls says: where a frame is found it is the right one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include <gnu/libc-version.h>
#include "entry/entry_code.h"
#include "entry/entry_frame.h"
#include "unwind/unwind_modules.h"

struct tally {
    unsigned calls, right, wrong, unknown, ended;
};

/* Rows that say the frame by offsets, which is nearly all. */
static bool says_offsets(const struct cfi_row *row)
{
    bool bp_known = row->how[CFI_RBP] == CFI_SAME || row->how[CFI_RBP] == CFI_UNDEFINED ||
                    row->how[CFI_RBP] == CFI_OFFSET;
    return !row->cfa_is_expression && bp_known && row->how[CFI_RIP] == CFI_OFFSET &&
           (row->cfa_register == CFI_RSP || row->cfa_register == CFI_RBP);
}

static bool agrees(const struct cfi_row *row, const struct entry_frame *frame)
{
    bool saved = row->how[CFI_RBP] == CFI_OFFSET;
    return frame->from_bp == (row->cfa_register == CFI_RBP) &&
           frame->cfa_offset == row->cfa_value && frame->bp_saved == saved &&
           (!saved || frame->bp_offset == row->value[CFI_RBP]);
}

static void compare(const struct entry_code *code, uintptr_t address, struct tally *tally)
{
    struct entry_frame frame;
    struct cfi_row row;
    if (module_find_row(address, false, &row) != 0 || !says_offsets(&row))
        return;
    tally->calls++;
    if (!entry_frame_find(code, address, &frame))
        tally->unknown++;
    else if (frame.ends)
        tally->ended++;
    else if (agrees(&row, &frame))
        tally->right++;
    else {
        tally->wrong++;
        if (getenv("SHOW"))
            printf("%#lx: %s%+ld, bp %d at %+ld; the row says %s%+ld, %d at %+ld\n",
                   address - code->lo, frame.from_bp ? "bp" : "sp", (long)frame.cfa_offset,
                   frame.bp_saved, (long)frame.bp_offset, row.cfa_register == CFI_RBP ? "bp" : "sp",
                   (long)row.cfa_value, row.how[CFI_RBP] == CFI_OFFSET, (long)row.value[CFI_RBP]);
    }
}

/* Behind each call of a function. */
static uintptr_t look_at_function(const struct entry_code *code, uintptr_t lo, uintptr_t hi,
                                  struct tally *tally)
{
    struct entry_instruction instruction;
    for (uintptr_t at = lo; at < hi; at += instruction.bytes) {
        if (!entry_code_read((const uint8_t *)at, hi - at, &instruction))
            break;
        bool calls =
            instruction.flow == ENTRY_FLOW_CALL || instruction.flow == ENTRY_FLOW_CALL_THROUGH;
        if (calls && at + instruction.bytes < hi)
            compare(code, at + instruction.bytes, tally);
    }
    return hi;
}

static struct tally look_at_module_of(uintptr_t function, const uintptr_t *no_return)
{
    struct entry_code code = {0};
    struct tally tally = {0};
    uintptr_t lo, hi;
    assert_true(module_find_bounds(function, &code.lo, &code.hi));
    for (unsigned i = 0; no_return[i]; i++)
        code.no_return[i] = no_return[i];
    for (uintptr_t at = code.lo; at < code.hi;)
        at = module_find_function(at, &lo, &hi) == 0 && hi > at
                 ? look_at_function(&code, lo, hi, &tally)
                 : at + 1;
    return tally;
}

static void frames_are_those_of_the_tables(void **state)
{
    const uintptr_t no_return[] = {(uintptr_t)exit, (uintptr_t)abort, (uintptr_t)_Exit, 0};
    struct tally tally = look_at_module_of((uintptr_t)gnu_get_libc_version, no_return);
    (void)state;
    printf("%u calls: %u right, %u wrong, %u unknown, %u without a caller\n", tally.calls,
           tally.right, tally.wrong, tally.unknown, tally.ended);
    /* Wrong are some that follow a call of a function which does not return: no walk comes
     * there. */
    assert_true(tally.calls > 10000);
    assert_true(tally.right > tally.calls / 100 * 80);
    assert_true(tally.wrong < tally.calls / 500);
    assert_true(tally.ended < tally.calls / 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(frames_are_those_of_the_tables)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
