/* What pages are told to hold, against comparing each page with all before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "collector/page_content.h"

enum { PAGE = 4096, PAGES = 9000 };

static char pages[PAGES][PAGE];

static void fill_with_noise(char *page)
{
    for (size_t i = 0; i < PAGE; i++)
        page[i] = (char)rand();
}

/* Zeros, copies, copies but for one byte, text and noise. */
static void fill(void)
{
    for (size_t i = 0; i < PAGES; i++)
        switch (i ? rand() % 5 : 4) {
        case 0:
            memset(pages[i], 0, PAGE);
            break;
        case 1:
            memcpy(pages[i], pages[(size_t)rand() % i], PAGE);
            break;
        case 2:
            memcpy(pages[i], pages[(size_t)rand() % i], PAGE);
            pages[i][rand() % PAGE] ^= (char)(1 + rand() % 255);
            break;
        case 3:
            for (size_t at = 0; at < PAGE; at += 16)
                snprintf(pages[i] + at, 16, "%07zu %7zu", i, at);
            break;
        default:
            fill_with_noise(pages[i]);
        }
}

static bool is_blank(const char *page)
{
    for (size_t i = 0; i < PAGE; i++)
        if (page[i])
            return false;
    return true;
}

static bool is_copy(size_t number)
{
    for (size_t i = 0; i < number; i++)
        if (!memcmp(pages[i], pages[number], PAGE))
            return true;
    return false;
}

static uint32_t spared(const char *page)
{
    char room[PAGE];
    int packed = LZ4_compress_default(page, room, PAGE, PAGE - 1);
    return packed > 0 ? (uint32_t)(PAGE - packed) : 0;
}

static void each_page_is_told_from_all_before(void **state)
{
    (void)state;
    struct page_content content;
    fill();
    assert_int_equal(page_content_begin(&content, PAGE, PAGES), 0);
    for (size_t i = 0; i < PAGES; i++) {
        struct page_content_finding found = page_content_see(&content, pages[i], true);
        bool blank = is_blank(pages[i]), copy = !blank && is_copy(i);
        assert_int_equal(found.blank, blank);
        assert_int_equal(found.copy, copy);
        assert_int_equal(found.spared, blank || copy ? 0 : spared(pages[i]));
    }
    page_content_release(&content);
}

static void of_shared_pages_only_zeros_are_told(void **state)
{
    (void)state;
    struct page_content content;
    memset(pages[0], 7, PAGE);
    memset(pages[1], 0, PAGE);
    assert_int_equal(page_content_begin(&content, PAGE, 2), 0);
    for (int i = 0; i < 2; i++) {
        struct page_content_finding found = page_content_see(&content, pages[0], false);
        assert_false(found.blank || found.copy || found.spared);
    }
    assert_true(page_content_see(&content, pages[1], false).blank);
    page_content_release(&content);
}

/* Of four times as many pages as are compressed one in four is; those between are said to be like
 * it. */
static void of_many_pages_some_are_compressed(void **state)
{
    (void)state;
    struct page_content content;
    uint64_t sum = 0, want = 0;
    for (size_t i = 0; i < PAGES; i++) {
        fill_with_noise(pages[i]);
        memset(pages[i], 1, i < PAGES / 2 ? PAGE / 2 : 0);
    }
    assert_int_equal(page_content_begin(&content, PAGE, 4 * (uint64_t)PAGE_CONTENT_PACKED), 0);
    for (size_t i = 0; i < PAGES; i++) {
        want += spared(pages[i]);
        sum += page_content_see(&content, pages[i], true).spared;
        assert_int_equal(content.turn, i + 1);
    }
    assert_int_equal(content.stride, 4);
    assert_in_range(sum, want - want / 100, want + want / 100);
    page_content_release(&content);
}

/* Nobody can make pages that look alike and are not. */
static void numbers_of_pages_differ_from_look_to_look(void **state)
{
    (void)state;
    struct page_content one, other;
    memset(pages[0], 7, PAGE);
    assert_int_equal(page_content_begin(&one, PAGE, 1), 0);
    assert_int_equal(page_content_begin(&other, PAGE, 1), 0);
    page_content_see(&one, pages[0], true);
    page_content_see(&other, pages[0], true);
    assert_int_equal(one.seen_room, other.seen_room);
    assert_memory_not_equal(one.seen, other.seen, one.seen_room * sizeof *one.seen);
    page_content_release(&one);
    page_content_release(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_page_is_told_from_all_before),
        cmocka_unit_test(of_shared_pages_only_zeros_are_told),
        cmocka_unit_test(of_many_pages_some_are_compressed),
        cmocka_unit_test(numbers_of_pages_differ_from_look_to_look),
    };
    srand(5);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
