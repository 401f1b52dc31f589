/* What stands behind a packed profile: added, read, damaged, and no matter to who reads the
 * profile. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>
#include "profile/appendix.h"
#include "profile/profile.h"
#include "scratch.h"

enum { LONG = 300000 };

static const char *make_profile(bool pack)
{
    const char *path = scratch("run.tmk");
    struct profile_writer *writer;
    unlink(path);
    assert_int_equal(profile_writer_open(&writer, path), 0);
    profile_writer_begin(writer);
    profile_put_text(writer, PROFILE_META_PROGRAM, "solver");
    profile_writer_commit(writer);
    assert_int_equal(profile_writer_finish(writer, pack), 0);
    return path;
}

static long bytes_of(const char *path)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return (long)info.st_size;
}

static void assert_appendix(const char *path, const char *expected, size_t length)
{
    void *bytes;
    size_t count;
    assert_int_equal(appendix_read(path, &bytes, &count), 0);
    assert_int_equal(count, length);
    assert_memory_equal(bytes, expected, length);
    free(bytes);
}

static void assert_none(const char *path)
{
    void *bytes;
    size_t count;
    assert_int_equal(appendix_read(path, &bytes, &count), -ENODATA);
    assert_null(bytes);
}

static void assert_reads_as_before(const char *path)
{
    struct profile *profile;
    assert_int_equal(profile_read(&profile, path), 0);
    assert_null(profile->damage);
    assert_true(profile->complete);
    assert_string_equal(profile_get(profile, PROFILE_META_PROGRAM), "solver");
    profile_free(profile);
}

static void what_was_added_is_read(void **state)
{
    (void)state;
    const char *path = make_profile(true);
    assert_none(path);
    assert_int_equal(appendix_add(path, "what follows from it", 20), 0);
    assert_appendix(path, "what follows from it", 20);
    assert_reads_as_before(path);
    assert_int_equal(appendix_add(path, "", 0), 0); /* the last one counts */
    assert_appendix(path, "", 0);
    assert_reads_as_before(path);
}

/* Longer than what is read at first: numbers that do not pack. */
static void a_long_one_is_read_whole(void **state)
{
    (void)state;
    static char text[LONG];
    uint64_t number = 1;
    for (size_t i = 0; i < LONG; i++) {
        number = number * 6364136223846793005u + 1442695040888963407u;
        text[i] = (char)(number >> 56);
    }
    const char *path = make_profile(true);
    assert_int_equal(appendix_add(path, text, LONG), 0);
    assert_appendix(path, text, LONG);
    assert_reads_as_before(path);
}

static void only_packed_profiles_have_one(void **state)
{
    (void)state;
    void *bytes;
    size_t count;
    const char *path = make_profile(false);
    long before = bytes_of(path);
    assert_int_equal(appendix_add(path, "x", 1), -EINVAL);
    assert_int_equal(bytes_of(path), before);
    assert_int_equal(appendix_add(scratch("none.tmk"), "x", 1), -ENOENT);
    assert_int_equal(appendix_read(scratch("none.tmk"), &bytes, &count), -ENOENT);
    assert_int_equal(appendix_read("/dev/null", &bytes, &count), -EINVAL);
}

/* Each byte of the appendix changed, and the file cut off after each: there is none, or (the length
 * of the frame to skip, which only zstd reads) it is as it was. The profile is not touched. */
static void damage_costs_the_appendix(void **state)
{
    (void)state;
    const char *path = make_profile(true);
    long before = bytes_of(path);
    assert_int_equal(appendix_add(path, "0123456789", 10), 0);
    long after = bytes_of(path);
    int fd = open(path, O_RDWR);
    for (long at = before; at < after; at++) {
        unsigned char byte, other;
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        other = byte ^ (unsigned char)(1 << at % 8);
        assert_int_equal(pwrite(fd, &other, 1, at), 1);
        if (at < before + 8)
            assert_appendix(path, "0123456789", 10);
        else
            assert_none(path);
        assert_reads_as_before(path);
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    }
    assert_appendix(path, "0123456789", 10);
    assert_int_equal(pwrite(fd, "x", 1, after), 1);
    assert_none(path);
    for (long length = after - 1; length >= before; length--) {
        assert_int_equal(ftruncate(fd, length), 0);
        assert_none(path);
        assert_reads_as_before(path);
    }
    close(fd);
}

/* It says where in the file it stands: behind another profile it is nobody's. */
static void behind_other_bytes_there_is_none(void **state)
{
    (void)state;
    char end[4096];
    const char *path = make_profile(true);
    long before = bytes_of(path);
    assert_int_equal(appendix_add(path, "0123456789", 10), 0);
    int fd = open(path, O_RDWR);
    ssize_t count = pread(fd, end, sizeof end, before);
    assert_int_equal(pwrite(fd, end, (size_t)count, before + 1), count);
    assert_none(path);
    assert_reads_as_before(path);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_added_is_read),
        cmocka_unit_test(a_long_one_is_read_whole),
        cmocka_unit_test(only_packed_profiles_have_one),
        cmocka_unit_test(damage_costs_the_appendix),
        cmocka_unit_test(behind_other_bytes_there_is_none),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
