/* Secrets in command lines, and what of a profile is left at each level. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include "redact/redact.h"

static void secrets_are_found(void **state)
{
    static const struct {
        const char *command, *left;
    } cases[] = {
        {"curl --password=hunter2 -o x", "curl --password=[hidden] -o x"},
        {"prog --db-password 'my word' --level 3", "prog --db-password [hidden] --level 3"},
        {"prog -token abc", "prog -token [hidden]"},
        {"env API_KEY=abc MYSQL_PWD=x ./run", "env API_KEY=[hidden] MYSQL_PWD=[hidden] ./run"},
        {"git clone https://me:s3cret@example.org/x",
         "git clone https://me:[hidden]@example.org/x"},
        {"curl -H 'Authorization: Bearer abcdefgh12345'",
         "curl -H 'Authorization: Bearer [hidden]'"},
        {"mysql -u root -phunter2 db", "mysql -u root -p[hidden] db"},
        {"aws AKIAIOSFODNN7EXAMPLE go", "aws [hidden] go"},
        {"x ghp_0123456789abcdefghijklmnopqrstuvwxyz", "x [hidden]"},
        {"x eyJhbGciOiJI.eyJzdWIiOiIx.sig-nature", "x [hidden]"},
        {"prog --access-key-id=7 --api-key q", "prog --access-key-id=[hidden] --api-key [hidden]"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct strbuf out = STRBUF_INIT;
        size_t found = redact_secrets(&out, cases[i].command);
        assert_string_equal(out.data, cases[i].left);
        assert_true(found >= 1);
        strbuf_release(&out);
    }
}

static void what_is_no_secret_stays(void **state)
{
    static const char *const cases[] = {
        "cc1plus -O2 -std=c++17 heavy.cpp",
        "ssh -p 22 host",
        "make -j8 all PASSES=3 tokenize",
        "tar -cf token.tar secret/",
        "prog --level 3 https://example.org/a:b@c",
        "sort -k2 keys.txt",
        "",
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct strbuf out = STRBUF_INIT;
        assert_int_equal(redact_secrets(&out, cases[i]), 0);
        assert_string_equal(out.data, cases[i]);
        strbuf_release(&out);
    }
}

static struct profile *made(void)
{
    struct profile *profile = profile_new(1);
    assert_non_null(profile);
    struct profile_builder *builder = profile_builder_new(profile);
    profile_builder_fact(builder, PROFILE_META_PROGRAM, "billing");
    profile_builder_fact(builder, PROFILE_META_EXECUTABLE, "/home/eve/src/billing");
    profile_builder_fact(builder, PROFILE_META_COMMAND, "./billing --password=x customers.csv");
    profile_builder_fact(builder, PROFILE_META_HOST, "accounts7");
    profile_builder_fact(builder, PROFILE_META_ENDED_ON, "at mark 'charged eve' (--until)");
    profile_builder_fact(builder, PROFILE_META_DIRECTORY, "/home/eve");
    profile_builder_fact(builder, "a fact of tomorrow", "eve");
    uint32_t own = profile_builder_module(
        builder, &(struct profile_module){.path = "/home/eve/src/billing", .end = 4096});
    profile_builder_module(builder, &(struct profile_module){
                                        .path = "/usr/lib/libc.so.6", .start = 8192, .end = 9000});
    uint32_t code =
        profile_builder_code(builder, &(struct profile_code){.module = own, .address = 16});
    struct profile_frame frames[] = {
        {.function = "charge_customer", .file = "/home/eve/src/charge.c", .line = 7},
        {.function = "main", .file = "/home/eve/src/main.c", .line = 9}};
    profile_builder_frames(builder, code, frames, 2);
    assert_int_equal(profile_builder_free(builder), 0);
    return profile;
}

static const char *file_of(const struct profile *profile, const char *ending)
{
    for (size_t i = 0; i < profile->line_count; i++)
        if (profile->lines[i].file && strstr(profile->lines[i].file, ending))
            return profile->lines[i].file;
    return NULL;
}

static void secrets_go_by_themselves(void **state)
{
    (void)state;
    struct profile *profile = made();
    assert_int_equal(redact_profile(profile, REDACT_SECRETS, NULL), 1);
    assert_string_equal(profile_get(profile, PROFILE_META_COMMAND),
                        "./billing --password=[hidden] customers.csv");
    assert_string_equal(profile_get(profile, PROFILE_META_HOST), "accounts7");
    assert_int_equal(redact_profile(profile, REDACT_NOTHING, NULL), 0);
    profile_free(profile);
}

static void places_go_and_what_belongs_together_stays_together(void **state)
{
    (void)state;
    struct profile *profile = made();
    assert_int_equal(redact_profile(profile, REDACT_PLACES, "salt"), 1);
    assert_string_equal(profile_get(profile, PROFILE_META_PROGRAM), "billing");
    assert_null(profile_get(profile, PROFILE_META_COMMAND));
    assert_null(profile_get(profile, PROFILE_META_DIRECTORY));
    assert_null(profile_get(profile, "a fact of tomorrow"));
    assert_null(strstr(profile_get(profile, PROFILE_META_HOST), "accounts"));
    assert_non_null(profile_get(profile, PROFILE_META_ENDED_ON)); /* marks are names */
    const char *main_c = file_of(profile, "/main.c"), *charge_c = file_of(profile, "/charge.c");
    assert_non_null(main_c);
    assert_non_null(charge_c);
    assert_int_equal(main_c[0], '~');
    assert_memory_equal(main_c, charge_c, strlen(main_c) - strlen("main.c"));
    assert_memory_equal(profile->modules[0].path, main_c, strlen(main_c) - strlen("main.c"));
    assert_string_equal(profile->modules[1].path, "/usr/lib/libc.so.6");
    assert_string_equal(profile->functions[1].name, "charge_customer");
    profile_free(profile);
}

/* The same salt, the same hashes; another one, others. */
static void names_are_hashed(void **state)
{
    (void)state;
    char names[3][64];
    static const char *const salts[] = {"one", "one", NULL};
    for (size_t i = 0; i < 3; i++) {
        struct profile *profile = made();
        assert_int_equal(redact_profile(profile, REDACT_NAMES, salts[i]), 1);
        assert_null(strstr(profile->functions[1].name, "charge"));
        assert_null(file_of(profile, "charge"));
        assert_non_null(file_of(profile, ".c"));
        assert_null(profile_get(profile, PROFILE_META_ENDED_ON));
        assert_null(strstr(profile_get(profile, PROFILE_META_PROGRAM), "billing"));
        strncpy(names[i], profile->functions[1].name, sizeof names[i] - 1);
        names[i][sizeof names[i] - 1] = 0;
        profile_free(profile);
    }
    assert_string_equal(names[0], names[1]);
    assert_string_not_equal(names[0], names[2]);
}

/* A stranger's text may be made to be searched for hours: what is too long is hidden unseen. */
static void long_commands_take_no_time(void **state)
{
    (void)state;
    enum { BYTES = 4 << 20 };
    struct strbuf out = STRBUF_INIT;
    char *command = test_calloc(BYTES + 1, 1);
    memset(command, 'a', BYTES);
    assert_int_equal(redact_secrets(&out, command), 1);
    assert_string_equal(out.data, REDACT_HIDDEN);
    strbuf_reset(&out);
    memcpy(command, "cc x.o 'a ", strlen("cc x.o 'a "));
    assert_int_equal(redact_secrets(&out, command), 1);
    assert_string_equal(out.data, "cc x.o " REDACT_HIDDEN);
    strbuf_reset(&out);
    memcpy(command + 30000, " --token=b c ", strlen(" --token=b c "));
    command[8] = 'a';
    command[7] = 'a';
    assert_int_equal(redact_secrets(&out, command), 2);
    assert_non_null(strstr(out.data, " --token=" REDACT_HIDDEN " c " REDACT_HIDDEN));
    strbuf_release(&out);
    test_free(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secrets_are_found),
        cmocka_unit_test(long_commands_take_no_time),
        cmocka_unit_test(what_is_no_secret_stays),
        cmocka_unit_test(secrets_go_by_themselves),
        cmocka_unit_test(places_go_and_what_belongs_together_stays_together),
        cmocka_unit_test(names_are_hashed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
