#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>

static const struct {
    const char *linkage, *readable; /* NULL: readable as it is */
} table[] = {
    {"_ZNSt6vectorIiSaIiEE9push_backERKi",
     "std::vector<int, std::allocator<int> >::push_back(int const&)"},
    {"_ZN6shapes6CircleC2Ei", "shapes::Circle::Circle(int)"},
    {"_ZN6shapes6CircleD1Ev", "shapes::Circle::~Circle()"},
    {"_Znwm", "operator new(unsigned long)"},
    {"_ZN3foo3barEv.part.0", "foo::bar() [clone .part.0]"},
    {"_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const"},
    {"_Z3maxIiET_S0_S0_", "int max<int>(int, int)"},
    {"_GLOBAL__sub_I_main", NULL},
    /* Rust, legacy and v0 */
    {"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"},
    {"_ZN66_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..drop..Drop$GT$"
     "4drop17h1c2d3e4f5a6b7c8dE",
     "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop"},
    {"_RNvC6_123foo3bar", "123foo::bar"},
    {"_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar"},
    {"_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>"},
    /* gfortran */
    {"__heat_MOD_solve", "heat::solve"},
    {"__heat_2d_MOD_step_once", "heat_2d::step_once"},
    {"__heat_MOD_solve.constprop.0", "heat::solve [clone .constprop.0]"},
    {"MAIN__", "main program"},
    /* outlined: gcc, gfortran, clang from 17, flang, targets on the host */
    {"solve._omp_fn.0", "solve [OpenMP region 0]"},
    {"_ZN2ns4MeshIdE5solveEi._omp_fn.12", "ns::Mesh<double>::solve(int) [OpenMP region 12]"},
    {"_ZZ4mainENKUlvE_clEv._omp_fn.0", "main::{lambda()#1}::operator()() const [OpenMP region 0]"},
    {"__heat_MOD_solve._omp_fn.1", "heat::solve [OpenMP region 1]"},
    {"MAIN__._omp_fn.0", "main program [OpenMP region 0]"},
    {"solve._omp_cpyfn.3", "solve [OpenMP task's arguments 3]"},
    {"solve.omp_outlined", "solve [OpenMP region]"},
    {"solve.omp_outlined_debug__.2", "solve [OpenMP region 2]"},
    {"_Z5solvei.omp_outlined.1", "solve(int) [OpenMP region 1]"},
    {"solve..omp_par.4", "solve [OpenMP region 4]"},
    {"solve._omp_fn.1.cold", "solve [OpenMP region 1]"},
    {"solve._omp_fn.3.lto_priv.0", "solve [OpenMP region 3]"},
    {"solve._omp_fn.2.constprop.5.isra.0", "solve [OpenMP region 2]"},
    {"solve.omp_outlined.4.cold", "solve [OpenMP region 4]"},
    {"solve.omp_outlined.cold.1", "solve [OpenMP region]"},
    {"solve..omp_par.12.llvm.345", "solve [OpenMP region 12]"},
    {"__omp_offloading_fd00_1f3_solve_l12", "solve [OpenMP target, line 12]"},
    {"__omp_offloading_fd00_1f3__Z5solvei_l7", "solve(int) [OpenMP target, line 7]"},
    {"__omp_offloading_fd00_solve_l12", NULL},
    {"__omp_offloading_fd00_1f3_solve", NULL},
    {".omp_outlined..1", NULL}, /* clang before 17: only DWARF knows whose */
    /* what is no mangled name stays */
    {"main", NULL},
    {"solve_", NULL},
    {"__libc_start_main", NULL},
    {"__MOD_x", NULL},
    {"_MOD_", NULL},
    {"__heat_MOD_", NULL},
    {"_Z", NULL},
    {"_ZN", NULL},
    {"_R", NULL},
    {"", NULL},
};

static void linkage_names_become_readable(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char *readable = symbols_demangle(table[i].linkage);
        if (table[i].readable) {
            if (!readable)
                fail_msg("%s is not demangled", table[i].linkage);
            assert_string_equal(readable, table[i].readable);
        } else if (readable && strncmp(table[i].linkage, "_GLOBAL_", 8) != 0) {
            fail_msg("%s became %s", table[i].linkage, readable);
        }
        free(readable);
    }
}

/* f(pair<A, A>, pair<pair<A, A>, pair<A, A>>, …): each parameter is twice as long as the last. */
static char *demangle_doubling(int parameters)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char linkage[1024];
    int at = sprintf(linkage, "_Z1fSt4pairI1A1AE");
    for (int i = 1; i < parameters; i++)
        at += sprintf(linkage + at, "S_IS%c_S%c_E", digits[i], digits[i]);
    return symbols_demangle(linkage);
}

static void a_name_that_explodes_is_left(void **state)
{
    (void)state;
    char *readable = demangle_doubling(8);
    assert_non_null(readable);
    free(readable);
    assert_null(demangle_doubling(34));
}

static void a_very_long_name_does_no_harm(void **state)
{
    (void)state;
    size_t length = 1u << 20;
    char *linkage = malloc(length + 1);
    for (const char *start = "_Z1f\0_ZN\0_RNv\0_Z1fP\0"; *start; start += strlen(start) + 1) {
        memset(linkage, 'P', length);
        linkage[length] = '\0';
        memcpy(linkage, start, strlen(start));
        free(symbols_demangle(linkage));
        linkage[16000] = '\0';
        free(symbols_demangle(linkage));
    }
    free(linkage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linkage_names_become_readable),
        cmocka_unit_test(a_name_that_explodes_is_left),
        cmocka_unit_test(a_very_long_name_does_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
