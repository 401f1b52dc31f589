/* Summaries merge to the same bytes in whatever order, and to what brute force says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "random.h"

enum { RANKS = 40, FUNCTIONS = 30 };

static uint64_t figures[RANKS][FUNCTIONS][JOB_FIGURES];
static struct strbuf digests[RANKS]; /* as bytes, to be read as often as wanted */
static struct job_rank ranks[RANKS]; /* numbers only */

static void make_digests(void)
{
    for (uint32_t i = 0; i < RANKS; i++) {
        struct job_summary digest;
        random_digest(&digest, i, FUNCTIONS, figures[i]);
        ranks[i] = digest.ranks[0];
        strbuf_release(&digests[i]);
        digests[i] = STRBUF_INIT;
        job_summary_write(&digests[i], &digest);
        job_summary_release(&digest);
    }
}

static struct job_summary digest_of(uint32_t rank)
{
    struct job_summary digest;
    assert_int_equal(job_summary_read(&digest, digests[rank].data, digests[rank].length), 0);
    return digest;
}

/* Merges the ranks [first, past) as a tree of random shape, sides swapped at random. */
static struct job_summary merge_randomly(const uint32_t *order, size_t first, size_t past)
{
    if (past - first == 1)
        return digest_of(order[first]);
    size_t middle = first + 1 + random_below(past - first - 1);
    struct job_summary left = merge_randomly(order, first, middle);
    struct job_summary right = merge_randomly(order, middle, past);
    if (random_below(2)) {
        job_summary_merge(&left, &right);
        return left;
    }
    job_summary_merge(&right, &left);
    if (random_below(4) == 0)
        job_summary_sort(&right);
    return right;
}

static struct strbuf bytes_of_random_merge(struct job_summary *kept)
{
    uint32_t order[RANKS];
    struct strbuf bytes = STRBUF_INIT;
    for (uint32_t i = 0; i < RANKS; i++) {
        uint32_t at = (uint32_t)random_below(i + 1);
        order[i] = order[at];
        order[at] = i;
    }
    struct job_summary summary = merge_randomly(order, 0, RANKS);
    job_summary_write(&bytes, &summary);
    if (kept)
        *kept = summary;
    else
        job_summary_release(&summary);
    return bytes;
}

static void any_order_gives_the_same_bytes(void **state)
{
    (void)state;
    for (int round = 0; round < 30; round++) {
        make_digests();
        struct strbuf first = bytes_of_random_merge(NULL), second = bytes_of_random_merge(NULL);
        assert_int_equal(first.length, second.length);
        assert_memory_equal(first.data, second.data, first.length);
        struct job_summary again;
        assert_int_equal(job_summary_read(&again, first.data, first.length), 0);
        strbuf_reset(&second);
        job_summary_write(&second, &again);
        assert_int_equal(first.length, second.length);
        assert_memory_equal(first.data, second.data, first.length);
        job_summary_release(&again);
        strbuf_release(&first);
        strbuf_release(&second);
    }
}

static void check_sum(const struct job_sum *sum, unsigned function, int figure)
{
    struct job_sum brute = {0};
    for (uint32_t i = 0; i < RANKS; i++) {
        uint64_t bytes = figures[i][function][figure];
        if (!bytes)
            continue;
        if (!brute.ranks || bytes < brute.min) {
            brute.min = bytes;
            brute.min_rank = i;
        }
        if (!brute.ranks || bytes > brute.max) {
            brute.max = bytes;
            brute.max_rank = i;
        }
        brute.ranks++;
        brute.sum += bytes;
        brute.squares += (job_u128)bytes * bytes;
    }
    assert_int_equal(sum->ranks, brute.ranks);
    assert_true(sum->sum == brute.sum && sum->squares == brute.squares);
    if (!brute.ranks)
        return;
    assert_int_equal(sum->min, brute.min);
    assert_int_equal(sum->max, brute.max);
    assert_int_equal(sum->min_rank, brute.min_rank);
    assert_int_equal(sum->max_rank, brute.max_rank);
}

static void sums_are_those_of_brute_force(void **state)
{
    (void)state;
    for (int round = 0; round < 10; round++) {
        struct job_summary summary;
        make_digests();
        struct strbuf bytes = bytes_of_random_merge(&summary);
        for (size_t i = 0; i < summary.entry_count; i++)
            for (int j = 0; j < JOB_FIGURES; j++)
                check_sum(&summary.entries[i].of[j], (unsigned)atoi(summary.entries[i].name + 1),
                          j);
        strbuf_release(&bytes);
        job_summary_release(&summary);
    }
}

static void ends_are_the_ranks_with_most_and_least(void **state)
{
    (void)state;
    struct job_summary summary;
    make_digests();
    struct strbuf bytes = bytes_of_random_merge(&summary);
    const struct job_rank *most = NULL, *least = NULL;
    for (int i = 0; i < RANKS; i++) {
        if (!job_rank_counts(&ranks[i]))
            continue;
        most = !most || figure_less(most->peak_bytes, ranks[i].peak_bytes) ? &ranks[i] : most;
        least = !least || figure_less(ranks[i].peak_bytes, least->peak_bytes) ? &ranks[i] : least;
    }
    assert_non_null(most);
    const struct job_rank *wanted[JOB_ENDS] = {least, most};
    for (int which = 0; which < JOB_ENDS; which++) {
        const struct job_end *end = &summary.ends[which];
        assert_int_equal(end->rank, wanted[which]->rank);
        for (size_t i = 0; i < end->share_count; i++) {
            unsigned f = (unsigned)atoi(summary.entries[end->shares[i].entry].name + 1);
            assert_memory_equal(end->shares[i].bytes, figures[end->rank][f],
                                sizeof end->shares[i].bytes);
        }
    }
    uint32_t first = 0; /* that could be read tells what ran */
    while (first < RANKS - 1 && !job_rank_is_read(&ranks[first]))
        first++;
    assert_string_equal(summary.program, first % 2 ? "odd" : "even");
    strbuf_release(&bytes);
    job_summary_release(&summary);
}

static void damaged_bytes_are_refused_or_read(void **state)
{
    (void)state;
    struct job_summary summary;
    make_digests();
    struct strbuf bytes = bytes_of_random_merge(&summary);
    job_summary_release(&summary);
    for (size_t length = 0; length < bytes.length; length += 1 + random_below(97)) {
        char *cut = malloc(length + 1); /* its own block: sanitizers see its end */
        memcpy(cut, bytes.data, length);
        assert_int_not_equal(job_summary_read(&summary, cut, length), 0);
        free(cut);
    }
    for (int round = 0; round < 3000; round++) {
        size_t at = random_below(bytes.length);
        char before = bytes.data[at];
        bytes.data[at] = (char)random_u64();
        if (!job_summary_read(&summary, bytes.data, bytes.length)) {
            struct strbuf again = STRBUF_INIT;
            job_summary_write(&again, &summary);
            strbuf_release(&again);
        }
        job_summary_release(&summary);
        bytes.data[at] = before;
    }
    strbuf_release(&bytes);
}

/* A function's wrapper is named where all its paths in all ranks go through it, and nowhere else. */
static void a_wrapper_is_named_where_all_agree(void **state)
{
    (void)state;
    static const char *const said[][3] = {{"my_alloc", "my_alloc", "my_alloc"},
                                          {"my_alloc", "", "my_alloc"},
                                          {"my_alloc", "xmalloc", "my_alloc"},
                                          {"", "", ""}};
    static const char *const agreed[] = {"my_alloc", "", "", ""};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        struct job_summary all = {0}, read;
        for (int rank = 0; rank < 3; rank++) {
            struct job_summary one = {0};
            uint32_t entry = job_summary_entry(&one, JOB_FUNCTION, "parse", "lib");
            job_summary_through(&one.entries[entry], said[i][rank]);
            job_summary_merge(&all, &one);
        }
        assert_string_equal(all.entries[0].through, agreed[i]);
        struct strbuf bytes = STRBUF_INIT;
        job_summary_write(&bytes, &all);
        assert_int_equal(job_summary_read(&read, bytes.data, bytes.length), 0);
        assert_string_equal(read.entries[0].through, agreed[i]);
        strbuf_release(&bytes);
        job_summary_release(&all);
        job_summary_release(&read);
    }
}

static void levels_stay_bounds(void **state)
{
    (void)state;
    for (int round = 0; round < 100000; round++) {
        uint64_t peak = 1 + random_bytes(56), bytes = random_below(peak + 1);
        uint64_t above = job_share_max(job_share_above(bytes, peak), peak);
        uint64_t below = job_share_min(job_share_below(bytes, peak), peak);
        assert_true(below <= bytes && bytes <= above);
        assert_true(above - below <= 2 * (peak / JOB_SHARE + 1));
        assert_int_equal(job_share_max(job_share_above(peak, peak), peak), peak);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order_gives_the_same_bytes),
        cmocka_unit_test(sums_are_those_of_brute_force),
        cmocka_unit_test(ends_are_the_ranks_with_most_and_least),
        cmocka_unit_test(damaged_bytes_are_refused_or_read),
        cmocka_unit_test(a_wrapper_is_named_where_all_agree),
        cmocka_unit_test(levels_stay_bounds),
    };
    random_begin();
    for (int i = 0; i < RANKS; i++)
        digests[i] = STRBUF_INIT;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (int i = 0; i < RANKS; i++)
        strbuf_release(&digests[i]);
    return failed;
}
