/* C libraries before glibc 2.35 have no _dl_find_object: what is asked instead must say the same,
 * also while modules come and go. */
#include "harness.h"

#if defined(__x86_64__)
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include "unwind/unwind_modules.h"

#define ADDRESSES 40000

static struct {
    uintptr_t ip;
    bool exact;
    int error;
    struct cfi_row row;
} asked[ADDRESSES];
static size_t asked_count;

static int ask_segments(struct dl_phdr_info *info, size_t bytes, void *nothing)
{
    (void)bytes, (void)nothing;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + segment->p_vaddr;
        for (uintptr_t ip = start; segment->p_type == PT_LOAD && segment->p_flags & PF_X &&
                                   ip < start + segment->p_memsz && asked_count < ADDRESSES;
             ip += 61) {
            asked[asked_count].ip = ip;
            asked[asked_count++].exact = chance(2);
        }
    }
    return 0;
}

static void ask_everywhere(void)
{
    asked_count = 0;
    dl_iterate_phdr(ask_segments, NULL);
    for (size_t i = 0; i < asked_count; i++) {
        asked[i].error = module_find_row(asked[i].ip, asked[i].exact, &asked[i].row);
    }
}

static bool same_row(const struct cfi_row *a, const struct cfi_row *b)
{
    return a->cfa_value == b->cfa_value && a->cfa_register == b->cfa_register &&
           a->cfa_is_expression == b->cfa_is_expression && a->signal == b->signal &&
           memcmp(a->how, b->how, sizeof a->how) == 0 &&
           memcmp(a->value, b->value, sizeof a->value) == 0;
}

static void assert_same_answers(void)
{
    for (size_t i = 0; i < asked_count; i++) {
        struct cfi_row row;
        int error = module_find_row(asked[i].ip, asked[i].exact, &row);
        assert_int_equal(error, asked[i].error);
        assert_true(error || same_row(&row, &asked[i].row));
    }
}

static void without_the_loaders_help_rows_are_the_same(void **state)
{
    size_t found = 0;
    (void)state;
    modules_find_without_loader = false;
    ask_everywhere();
    for (size_t i = 0; i < asked_count; i++) {
        found += asked[i].error == 0;
    }
    assert_true(found > 10000);
    modules_find_without_loader = true;
    assert_same_answers();
    modules_find_without_loader = false;
}

static _Atomic bool done;
static _Atomic unsigned loads;

static void *load_and_unload(void *nothing)
{
    while (!done) {
        void *module = dlopen(loads % 2 ? PLUGIN_A : PLUGIN_B, RTLD_NOW);
        dlclose(module);
        loads++;
    }
    return nothing;
}

static NOINLINE void down(int depth)
{
    if (depth) {
        down(depth - 1);
    }
    check();
}

static void captures_without_the_loaders_help_agree_while_modules_come_and_go(void **state)
{
    pthread_t loader;
    (void)state;
    begin_unwind(UNWIND_CFI, 0);
    modules_find_without_loader = true;
    pthread_create(&loader, NULL, load_and_unload, NULL);
    for (int i = 0; i < 5 || loads < 200; i++) {
        unwind_code_gone(0, UINTPTR_MAX); /* every rule is asked for anew */
        down(30);
        assert_same_answers();
    }
    done = true;
    pthread_join(loader, NULL);
    modules_find_without_loader = false;
    assert_agreement(300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_the_loaders_help_rows_are_the_same),
        cmocka_unit_test(captures_without_the_loaders_help_agree_while_modules_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
    return 0;
}
#endif
