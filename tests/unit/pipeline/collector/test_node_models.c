/* Rows of a node's file that are packed against an earlier one: as many bytes as they need, the
 * same profile, and what damage in a model costs. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "../../files/profile/as_rows.h"
#include "../../files/profile/scratch.h"
#include "base/error.h"
#include "base/whole.h"
#include "collector/node_models.h"
#include "profile/appendix.h"
#include "profile/profile.h"

enum { ROWS = 40, GROUP = 16, PROFILE_MOST = 1 << 20 };

static char profile[PROFILE_MOST];
static size_t profile_bytes;

/* A packed profile with a digest behind it. */
static int read_profile(void **state)
{
    scratch_begin(state);
    int from = open(GOLDEN_DIR "/profile-v2-details.tmk", O_RDONLY | O_CLOEXEC);
    int to = open(scratch("alone.tmk"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    profile_bytes = (size_t)whole_read_at(from, profile, sizeof profile, 0);
    int error = whole_write(to, profile, profile_bytes);
    if (!error)
        error = appendix_add(scratch("alone.tmk"), "its digest", 10);
    profile_bytes = (size_t)whole_read_at(to, profile, sizeof profile, 0);
    close(from);
    close(to);
    return error;
}

static int append(struct node_models *models, struct session_whole_file *file, int pid,
                  const char *program)
{
    struct session_row row = {
        .pid = pid, .end = SESSION_END_EXIT, .program = program, .command = program};
    return node_models_append(models, file, &row, "process\n", profile, profile_bytes);
}

static void write_rows(const char *name, int rows, const char *const *programs, int count)
{
    struct session_whole_file *file;
    struct node_models *models = node_models_new();
    unlink(scratch(name));
    assert_int_equal(session_whole_open(&file, scratch(name)), 0);
    for (int i = 0; i < rows; i++)
        assert_int_equal(append(models, file, i + 1, programs[i % count]), 0);
    node_models_free(models);
    session_whole_close(file);
}

static struct session *list(const char *name)
{
    struct session *session;
    if (session_list(&session, scratch(name)))
        fail_msg("%s", error_text());
    return session;
}

static const char *const solver[] = {"solver"};

static void a_model_serves_fifteen(void **state)
{
    (void)state;
    write_rows("groups.session.tmk", ROWS, solver, 1);
    struct session *session = list("groups.session.tmk");
    assert_int_equal(session->count, ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        const struct session_entry *entry = &session->entries[i];
        const struct session_entry *model = &session->entries[i / GROUP * GROUP];
        assert_int_equal(entry->model_at, entry == model ? 0 : model->body_at);
        if (entry == model)
            assert_int_equal(entry->bytes, profile_bytes);
        else
            assert_true(entry->bytes < profile_bytes / 2);
    }
    session_free(session);
}

/* -EBADMSG or 0. */
static int read_row(const char *name, int pid)
{
    char operand[400];
    struct profile *row, *alone;
    snprintf(operand, sizeof operand, "%s@%d", scratch(name), pid);
    int error = profile_read(&row, operand);
    if (error)
        return error;
    assert_int_equal(profile_read(&alone, scratch("alone.tmk")), 0);
    as_rows(row);
    as_rows(alone);
    assert_null(row->damage);
    assert_int_equal(row->node_count, alone->node_count);
    assert_int_equal(row->site_count, alone->site_count);
    assert_memory_equal(row->sites, alone->sites, row->site_count * sizeof *row->sites);
    assert_int_equal(row->meta_count, alone->meta_count);
    profile_free(alone);
    profile_free(row);
    return 0;
}

static void rows_read_as_the_profile_alone(void **state)
{
    (void)state;
    write_rows("same.session.tmk", 3, solver, 1);
    struct session *session = list("same.session.tmk");
    for (int i = 0; i < 3; i++) {
        void *digest;
        size_t bytes;
        assert_int_equal(read_row("same.session.tmk", i + 1), 0);
        assert_int_equal(appendix_read_part(scratch("same.session.tmk"),
                                            session->entries[i].body_at, session->entries[i].bytes,
                                            &digest, &bytes),
                         0);
        assert_int_equal(bytes, 10);
        assert_memory_equal(digest, "its digest", 10);
        free(digest);
    }
    session_free(session);
}

static void change(const char *name, uint64_t at)
{
    unsigned char byte;
    int fd = open(scratch(name), O_RDWR | O_CLOEXEC);
    assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
    byte ^= 255;
    assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
    close(fd);
}

static void check_damage(const char *name, int from, int to)
{
    for (int i = 0; i < ROWS; i++)
        assert_int_equal(read_row(name, i + 1), i >= from && i < to ? -EBADMSG : 0);
}

static void a_damaged_model_costs_those_that_refer_to_it(void **state)
{
    const char *name = "damaged.session.tmk";
    (void)state;
    write_rows(name, ROWS, solver, 1);
    struct session *session = list(name);
    change(name, session->entries[GROUP].body_at + 500);
    check_damage(name, GROUP, 2 * GROUP);
    session_free(session);
    write_rows(name, ROWS, solver, 1);
    session = list(name);
    change(name, session->entries[3].body_at + 33); /* nobody refers to it */
    check_damage(name, 3, 4);
    session_free(session);
}

/* What is before its profile: the row is gone, and its profile with it. */
static void a_lost_model_is_said(void **state)
{
    const char *name = "lost.session.tmk";
    (void)state;
    write_rows(name, 3, solver, 1);
    struct session *session = list(name);
    change(name, session->entries[0].body_at - 3);
    assert_int_equal(read_row(name, 2), -EBADMSG);
    assert_non_null(strstr(error_text(), "the row that it is packed against is damaged"));
    session_free(session);
}

static void each_program_has_its_model(void **state)
{
    static const char *const programs[] = {"a", "b", "c", "d", "e"};
    (void)state;
    write_rows("programs.session.tmk", 10, programs, 5);
    struct session *session = list("programs.session.tmk");
    for (size_t i = 5; i < 9; i++)
        assert_int_equal(session->entries[i].model_at, session->entries[i - 5].body_at);
    assert_int_equal(session->entries[9].model_at, 0); /* of too many programs */
    session_free(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_serves_fifteen),
        cmocka_unit_test(rows_read_as_the_profile_alone),
        cmocka_unit_test(a_damaged_model_costs_those_that_refer_to_it),
        cmocka_unit_test(a_lost_model_is_said),
        cmocka_unit_test(each_program_has_its_model),
    };
    return cmocka_run_group_tests(tests, read_profile, scratch_end);
}
