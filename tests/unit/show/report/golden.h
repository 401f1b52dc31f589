/* Reports on the golden profile, compared with what a person has looked at and found good. To renew
 * one: UPDATE=1 test_report_…, and read the difference. */
#ifndef TIDEMARK_TESTS_GOLDEN_H
#define TIDEMARK_TESTS_GOLDEN_H

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/text.h"
#include "profile/profile.h"
#include "report/report.h"

static struct profile *profile;

static int open_profile(void **state)
{
    (void)state;
    setenv("TZ", "UTC", 1);
    unsetenv("LC_ALL");
    setenv("LC_CTYPE", "C.UTF-8", 1);
    setenv("COLUMNS", "80", 1);
    return profile_read(&profile, GOLDEN_DIR "/profile-v1.tmk");
}

static int close_profile(void **state)
{
    (void)state;
    profile_free(profile);
    return 0;
}

static struct report_options usual(void)
{
    return (struct report_options){.metric = METRIC_CHOICE_ALL,
                                   .top = 5,
                                   .depth = 6,
                                   .hide_std = true,
                                   .utf8 = true,
                                   .columns = 80};
}

static char *load(const char *path)
{
    static char text[1 << 20];
    FILE *file = fopen(path, "r");
    size_t count = file ? fread(text, 1, sizeof text - 1, file) : 0;
    text[count] = 0;
    if (file)
        fclose(file);
    return text;
}

static void assert_golden(const char *name, const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", GOLDEN_DIR, name);
    if (getenv("UPDATE")) {
        FILE *file = fopen(path, "w");
        fputs(text, file);
        fclose(file);
    }
    if (strcmp(text, load(path))) {
        print_error("not as in %s:\n%s\n", path, text);
        fail();
    }
}

static char *text_of(const struct report_options *options)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(report_text(out, profile, options), 0);
    fclose(out);
    return text;
}

__attribute__((unused)) static void check_text(const char *name,
                                               const struct report_options *options)
{
    char *text = text_of(options);
    assert_golden(name, text);
    free(text);
}

__attribute__((unused)) static void assert_not_wider(const char *text, size_t columns)
{
    char *copy = strdup(text);
    for (char *line = strtok(copy, "\n"); line; line = strtok(NULL, "\n"))
        if (text_width(line) > columns) {
            print_error("%zu columns: %s\n", columns, line);
            fail();
        }
    free(copy);
}

#endif
