/* The interpreter of call frame information: on bytes made by hand, on damaged ones, and on every
 * entry of the modules loaded here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <link.h>
#include <string.h>
#include "unwind/cfi.h"

#if defined(__x86_64__)

#define CODE_BYTES 64

/* .eh_frame_hdr, one CIE and one FDE for the CODE_BYTES bytes behind them. */
struct section {
    uint8_t header[20]; /* 12 and one row of the table */
    uint8_t cie[24];
    uint8_t fde[60];
    uint8_t code[CODE_BYTES];
};

static void put32(uint8_t *at, const void *from, const void *to)
{
    int32_t distance = (int32_t)((const uint8_t *)to - (const uint8_t *)from);
    memcpy(at, &distance, 4);
}

static struct section section_with(const uint8_t *program, size_t bytes)
{
    static const uint8_t cie[24] = {20, 0,    0,  0, 0,    0,    0, 0, 1,    'z', 'R', 0,
                                    1,  0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1,   0,   0};
    struct section section;
    memset(&section, 0, sizeof section);
    memcpy(section.header, "\1\x1b\3\x3b", 4);
    section.header[8] = 1;
    memcpy(section.cie, cie, sizeof cie);
    section.fde[0] = sizeof section.fde - 4;
    memcpy(section.fde + 17, program, bytes);
    return section;
}

/* Distances are the same wherever the section lies. */
static void link_section(struct section *section)
{
    int32_t length = CODE_BYTES;
    put32(section->header + 4, section->header + 4, section->cie);
    put32(section->header + 12, section->header, section->code);
    put32(section->header + 16, section->header, section->fde);
    put32(section->fde + 4, section->cie, section->fde + 4);
    put32(section->fde + 8, section->fde + 8, section->code);
    memcpy(section->fde + 12, &length, 4);
}

static struct cfi_module module_of(const struct section *section)
{
    return (struct cfi_module){section->header, (const uint8_t *)(section + 1), section->header};
}

static int row_at(const uint8_t *program, size_t bytes, unsigned offset, struct cfi_row *row)
{
    static struct section section;
    struct cfi_module module = module_of(&section);
    section = section_with(program, bytes);
    link_section(&section);
    return cfi_find_row(&module, (uintptr_t)section.code + offset, row);
}

static void a_row_counts_from_where_the_program_has_advanced_to(void **state)
{
    static const uint8_t push_rbp[] = {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6};
    struct cfi_row row;
    (void)state;
    assert_int_equal(row_at(push_rbp, sizeof push_rbp, 0, &row), 0);
    assert_int_equal(row.cfa_register, CFI_RSP);
    assert_int_equal(row.cfa_value, 8);
    assert_int_equal(row.how[CFI_RIP], CFI_OFFSET);
    assert_int_equal(row.value[CFI_RIP], -8);
    assert_int_equal(row.how[CFI_RBP], CFI_SAME);
    assert_int_equal(row_at(push_rbp, sizeof push_rbp, 1, &row), 0);
    assert_int_equal(row.cfa_value, 16);
    assert_int_equal(row.how[CFI_RBP], CFI_OFFSET);
    assert_int_equal(row.value[CFI_RBP], -16);
    assert_int_equal(row_at(push_rbp, sizeof push_rbp, 4, &row), 0);
    assert_int_equal(row.cfa_register, CFI_RBP);
}

static void a_remembered_row_comes_back(void **state)
{
    static const uint8_t program[] = {0x0e, 32, 0x0a, 0x41, 0x0e, 8, 0x41, 0x0b};
    struct cfi_row row;
    (void)state;
    assert_int_equal(row_at(program, sizeof program, 1, &row), 0);
    assert_int_equal(row.cfa_value, 8);
    assert_int_equal(row_at(program, sizeof program, 2, &row), 0);
    assert_int_equal(row.cfa_value, 32);
}

static void an_undefined_return_address_is_seen(void **state)
{
    static const uint8_t program[] = {0x07, 16};
    struct cfi_row row;
    (void)state;
    assert_int_equal(row_at(program, sizeof program, 0, &row), 0);
    assert_int_equal(row.how[CFI_RIP], CFI_UNDEFINED);
}

static void a_pc_outside_has_no_entry(void **state)
{
    struct cfi_row row;
    (void)state;
    assert_int_equal(row_at(NULL, 0, CODE_BYTES, &row), -ENOENT);
    assert_int_equal(row_at(NULL, 0, (unsigned)-1, &row), -ENOENT);
}

static void nonsense_is_refused(void **state)
{
    static const uint8_t unknown[] = {0x3f}, too_deep[] = {10, 10, 10, 10, 10, 10, 10},
                         nothing_remembered[] = {0x0b},
                         long_expression[] = {0x0f, 0xff, 0xff, 0x7f};
    struct cfi_row row;
    (void)state;
    assert_int_equal(row_at(unknown, sizeof unknown, 0, &row), -EINVAL);
    assert_int_equal(row_at(too_deep, sizeof too_deep, 0, &row), -EINVAL);
    assert_int_equal(row_at(nothing_remembered, sizeof nothing_remembered, 0, &row), -EINVAL);
    assert_int_equal(row_at(long_expression, sizeof long_expression, 0, &row), -EINVAL);
}

/* Every byte of a good section changed in a few ways: anything may come out, but nothing outside of
 * the module is read (the sanitizers see to that). */
static void damage_does_no_harm(void **state)
{
    static const uint8_t changes[] = {0x01, 0x80, 0xff, 0x7f};
    static const uint8_t program[] = {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6};
    static struct section section;
    unsigned refused = 0;
    (void)state;
    for (size_t at = 0; at < offsetof(struct section, code); at++) {
        for (size_t i = 0; i < sizeof changes; i++) {
            struct cfi_module module = module_of(&section);
            struct cfi_row row;
            section = section_with(program, sizeof program);
            link_section(&section);
            ((uint8_t *)&section)[at] ^= changes[i];
            refused += cfi_find_row(&module, (uintptr_t)section.code + 5, &row) != 0;
        }
    }
    assert_in_range(refused, 50, 4 * sizeof section);
}

static void the_table_may_be_missing(void **state)
{
    static struct section section;
    struct cfi_module module = module_of(&section);
    struct cfi_row row;
    (void)state;
    section = section_with(NULL, 0);
    link_section(&section);
    section.header[3] = 0xff;
    assert_int_equal(cfi_find_row(&module, (uintptr_t)section.code + 5, &row), 0);
    assert_int_equal(cfi_find_row(&module, (uintptr_t)section.code + CODE_BYTES, &row), -ENOENT);
}

struct tally {
    unsigned found, failed;
};

static void count_rows(const struct cfi_module *module, struct tally *tally)
{
    int32_t count, function;
    memcpy(&count, module->header + 8, 4);
    for (int32_t i = 0; i < count; i++) {
        struct cfi_row row;
        memcpy(&function, module->header + 12 + 8 * (size_t)i, 4);
        if (cfi_find_row(module, (uintptr_t)module->header + (uintptr_t)(intptr_t)function, &row)) {
            tally->failed++;
        } else {
            tally->found++;
        }
    }
}

static int read_module(struct dl_phdr_info *info, size_t bytes, void *tally)
{
    struct cfi_module module = {NULL, NULL, NULL};
    (void)bytes;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        const uint8_t *start = (const uint8_t *)(info->dlpi_addr + segment->p_vaddr);
        if (segment->p_type == PT_GNU_EH_FRAME) {
            module.header = start;
        } else if (segment->p_type == PT_LOAD) {
            module.lo = module.lo ? module.lo : start;
            module.hi = start + segment->p_memsz;
        }
    }
    if (module.header && module.header[3] == 0x3b) {
        count_rows(&module, tally);
    }
    return 0;
}

static void every_function_loaded_here_has_a_row(void **state)
{
    struct tally tally = {0, 0};
    (void)state;
    dl_iterate_phdr(read_module, &tally);
    assert_true(tally.found > 2000);
    assert_int_equal(tally.failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_counts_from_where_the_program_has_advanced_to),
        cmocka_unit_test(a_remembered_row_comes_back),
        cmocka_unit_test(an_undefined_return_address_is_seen),
        cmocka_unit_test(a_pc_outside_has_no_entry),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(damage_does_no_harm),
        cmocka_unit_test(the_table_may_be_missing),
        cmocka_unit_test(every_function_loaded_here_has_a_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else
int main(void)
{
    return 0;
}
#endif
