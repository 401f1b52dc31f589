/* Laws of scaling: known laws are found with their parameters, ranges hold what they say, and what
 * is no law is not called one. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "job/job_law.h"
#include "random.h"

#define MIB 1048576.0

static double law_bytes(enum job_law_kind kind, const double value[3], double ranks)
{
    switch (kind) {
    case JOB_LAW_PART:
        return value[0] / ranks;
    case JOB_LAW_EACH:
        return value[0] * ranks;
    case JOB_LAW_SHARE:
        return value[0] + value[1] / ranks;
    case JOB_LAW_SURFACE:
        return value[0] + value[1] / pow(ranks, 2.0 / 3);
    case JOB_LAW_LOGARITHM:
        return value[0] + value[1] * log2(ranks);
    case JOB_LAW_LINEAR:
        return value[0] + value[1] * ranks;
    case JOB_LAW_PANEL:
        return value[0] + value[1] / sqrt(ranks);
    case JOB_LAW_SQUARE:
        return value[0] + value[1] * ranks * ranks;
    case JOB_LAW_BOTH:
        return value[0] + value[1] * ranks + value[2] / ranks;
    default:
        return value[0];
    }
}

static const double sizes[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512};

static const struct {
    enum job_law_kind kind;
    double value[3];
} known[] = {
    {JOB_LAW_CONSTANT, {5 * MIB}},
    {JOB_LAW_PART, {300 * MIB}},
    {JOB_LAW_EACH, {4096}},
    {JOB_LAW_SHARE, {3 * MIB, 100 * MIB}},
    {JOB_LAW_SURFACE, {2 * MIB, 80 * MIB}},
    {JOB_LAW_LOGARITHM, {MIB, 0.5 * MIB}},
    {JOB_LAW_LINEAR, {MIB, 64 * 1024}},
    {JOB_LAW_PANEL, {2 * MIB, 90 * MIB}},
    {JOB_LAW_SQUARE, {MIB, 1024}},
    {JOB_LAW_BOTH, {MIB, 16 * 1024, 64 * MIB}},
};

static void each_law_is_found_with_its_parameters(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double bytes[8];
        for (size_t k = 0; k < 8; k++)
            bytes[k] = law_bytes(known[i].kind, known[i].value, sizes[k]);
        struct job_laws laws = job_laws_fit(sizes, bytes, 8);
        assert_int_equal(laws.lack, JOB_LAW_FOUND);
        assert_int_equal(laws.fits[0].kind, known[i].kind);
        double wanted = law_bytes(known[i].kind, known[i].value, 4096);
        struct job_forecast at = job_laws_at(&laws, 4096);
        assert_true(fabs(at.value - wanted) < 1e-3 * wanted);
        assert_true(at.low <= at.value && at.value <= at.high);
    }
}

/* miniFE's ranks need 16.0, 9.59, 6.40 and 4.94 MiB; with sixteen of them 4.14 were measured. A
 * power law says 3.12. */
static void minife_is_predicted(void **state)
{
    (void)state;
    const double bytes[] = {16.0 * MIB, 9.59 * MIB, 6.40 * MIB, 4.94 * MIB};
    struct job_laws laws = job_laws_fit(sizes, bytes, 4);
    assert_int_equal(laws.fits[0].kind, JOB_LAW_SHARE);
    struct job_forecast at = job_laws_at(&laws, 16);
    assert_true(at.low <= 4.14 * MIB && 4.14 * MIB <= at.high);
    assert_true(at.high - at.value <= 0.1 * at.value && at.value - at.low <= 0.1 * at.value);
}

/* LAMMPS, 131,072 atoms, whose arrays grow by steps: points lie 4 % off any law. With sixteen ranks
 * 11.2 MiB were measured; a power of P, which fits the points best, says 8.06 within 14 %. */
static void lammps_is_in_its_range(void **state)
{
    (void)state;
    const double ranks[] = {1, 2, 3, 4, 6, 8};
    const double bytes[] = {57399224, 33229351, 26875442, 21890720, 17018497, 13319354};
    struct job_laws laws = job_laws_fit(ranks, bytes, 6);
    assert_int_equal(laws.lack, JOB_LAW_FOUND);
    struct job_forecast at = job_laws_at(&laws, 16);
    assert_true(at.low <= 11731582 && 11731582 <= at.high);
}

static double noise(double deviation)
{
    double sum = 0; /* of twelve uniform ones: nearly normal, deviation 1 */
    for (int i = 0; i < 12; i++)
        sum += (double)random_below(1 << 20) / (1 << 20);
    return 1 + deviation * (sum - 6);
}

/* Of 2,000 measurements with 1 % of noise, 95 of 100 lie in the range: 93 to 100, since near laws
 * widen it. */
static void ranges_hold_what_they_say(void **state)
{
    (void)state;
    static const size_t laws_tried[] = {0, 3, 6};
    for (size_t which = 0; which < 3; which++) {
        size_t i = laws_tried[which], inside = 0, rounds = 2000;
        for (size_t round = 0; round < rounds; round++) {
            double bytes[6];
            for (size_t k = 0; k < 6; k++)
                bytes[k] = law_bytes(known[i].kind, known[i].value, sizes[k]) * noise(0.01);
            struct job_laws laws = job_laws_fit(sizes, bytes, 6);
            assert_int_equal(laws.lack, JOB_LAW_FOUND);
            double next = law_bytes(known[i].kind, known[i].value, 64) * noise(0.01);
            struct job_forecast at = job_laws_at(&laws, 64);
            inside += at.low <= next && next <= at.high;
        }
        assert_in_range(inside, rounds * 93 / 100, rounds);
    }
}

/* With 0.5 % of noise, six jobs of up to 32 ranks and the question what 64 need: 95 of 100 lie in
 * the range, 92 at least in a simulation, and the range is ± 10 % at most in 95 of 100. The law of
 * three parts is not tried: with six jobs its ranges are wider. */
static void ranges_are_narrow_and_hold_what_they_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t inside = 0, narrow = 0, rounds = 2000;
        if (known[i].kind == JOB_LAW_BOTH)
            continue;
        for (size_t round = 0; round < rounds; round++) {
            double bytes[6];
            for (size_t k = 0; k < 6; k++)
                bytes[k] = law_bytes(known[i].kind, known[i].value, sizes[k]) * noise(0.005);
            struct job_laws laws = job_laws_fit(sizes, bytes, 6);
            double next = law_bytes(known[i].kind, known[i].value, 64) * noise(0.005);
            struct job_forecast at = job_laws_at(&laws, 64);
            inside += at.low <= next && next <= at.high;
            narrow += at.high <= 1.1 * at.value && at.low >= 0.9 * at.value;
        }
        assert_in_range(inside, rounds * 92 / 100, rounds);
        assert_in_range(narrow, rounds * 95 / 100, rounds);
    }
}

static void what_is_no_law_is_not_called_one(void **state)
{
    (void)state;
    const double wild[] = {5 * MIB, 1 * MIB, 9 * MIB, 2 * MIB, 30 * MIB};
    assert_int_equal(job_laws_fit(sizes, wild, 5).lack, JOB_LAW_LOOSE);
    assert_int_equal(job_laws_fit(sizes, wild, 5).count, 0);
    const double falling[] = {8 * MIB, 4 * MIB, 2 * MIB};
    assert_int_equal(job_laws_fit(sizes, falling, 2).lack, JOB_LAW_FEW);
    const double stays[] = {8 * MIB, 8 * MIB + 8, 8 * MIB};
    assert_int_equal(job_laws_fit(sizes, stays, 3).fits[0].kind, JOB_LAW_CONSTANT);
    const double wanes[] = {8 * MIB, 7 * MIB, 6.5 * MIB};
    assert_int_equal(job_laws_fit(sizes, wanes, 3).fits[0].kind, 0);
    assert_int_equal(job_laws_fit(sizes, wanes, 3).lack, JOB_LAW_FEW);
    const double nothing[] = {8 * MIB, 0, 2 * MIB, MIB};
    assert_int_equal(job_laws_fit(sizes, nothing, 4).lack, JOB_LAW_ZERO);
    /* Four measurements of one size tell nothing about others. */
    const double same[] = {16, 16, 16, 16}, four[] = {8 * MIB, 8 * MIB, 8 * MIB, 8 * MIB};
    assert_int_equal(job_laws_fit(same, four, 4).lack, JOB_LAW_FEW);
    assert_int_equal(job_laws_fit(same, four, 4).count, 0);
    /* Nor do two runs of each of three. */
    const double twice[] = {4, 4, 8, 8, 16, 16};
    const double halves[] = {8 * MIB, 8 * MIB, 4 * MIB, 4.001 * MIB, 2 * MIB, 2 * MIB};
    assert_int_equal(job_laws_fit(twice, halves, 6).lack, JOB_LAW_FEW);
}

/* Memory that would be negative beyond the last point is no forecast. */
static void no_law_goes_below_zero(void **state)
{
    (void)state;
    const double bytes[] = {11 * MIB, 10 * MIB, 8 * MIB, 4 * MIB}; /* 12 MiB - 1 MiB * P */
    struct job_laws laws = job_laws_fit(sizes, bytes, 4);
    for (size_t i = 0; i < laws.count; i++)
        assert_true(laws.fits[i].kind != JOB_LAW_LINEAR && laws.fits[i].kind != JOB_LAW_LOGARITHM);
    if (laws.count)
        assert_true(job_laws_at(&laws, 1e6).value >= 0 && job_laws_at(&laws, 1e6).low >= 0);
}

static void the_first_number_of_ranks_that_does_not_fit(void **state)
{
    (void)state;
    double bytes[6];
    for (size_t k = 0; k < 6; k++) /* 1 MiB + 16 KiB for each rank */
        bytes[k] = (1024 + 16 * sizes[k]) * 1024;
    struct job_laws laws = job_laws_fit(sizes, bytes, 6);
    struct job_crossing at = job_laws_crossing(&laws, 2048 * MIB);
    double exact = (2048.0 * 1024 - 1024) / 16; /* is not more than the limit yet */
    assert_true(fabs(at.ranks - (exact + 1)) <= exact * 1e-4);
    assert_true(at.earliest <= at.ranks && at.ranks <= at.latest);
    assert_true(job_laws_crossing(&laws, 1e18).ranks == 0);
    /* What does not fit now does not fit from now on. */
    assert_true(job_laws_crossing(&laws, 1024).ranks == sizes[5]);
}

static void laws_read_as_formulas(void **state)
{
    (void)state;
    static const char *const texts[] = {"5.00 MiB",
                                        "300 MiB / P",
                                        "4.00 KiB * P",
                                        "3.00 MiB + 100 MiB / P",
                                        "2.00 MiB + 80.0 MiB / P^(2/3)",
                                        "1.00 MiB + 512 KiB * log2 P",
                                        "1.00 MiB + 64.0 KiB * P",
                                        "2.00 MiB + 90.0 MiB / P^(1/2)",
                                        "1.00 MiB + 1.00 KiB * P^2",
                                        "1.00 MiB + 16.0 KiB * P + 64.0 MiB / P"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double bytes[8];
        for (size_t k = 0; k < 8; k++)
            bytes[k] = law_bytes(known[i].kind, known[i].value, sizes[k]);
        struct job_laws laws = job_laws_fit(sizes, bytes, 8);
        struct strbuf text = STRBUF_INIT;
        job_law_add_text(&text, &laws.fits[0]);
        assert_string_equal(text.data, texts[i]);
        strbuf_release(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_law_is_found_with_its_parameters),
        cmocka_unit_test(minife_is_predicted),
        cmocka_unit_test(lammps_is_in_its_range),
        cmocka_unit_test(ranges_hold_what_they_say),
        cmocka_unit_test(ranges_are_narrow_and_hold_what_they_say),
        cmocka_unit_test(what_is_no_law_is_not_called_one),
        cmocka_unit_test(no_law_goes_below_zero),
        cmocka_unit_test(the_first_number_of_ranks_that_does_not_fit),
        cmocka_unit_test(laws_read_as_formulas),
    };
    random_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
