/* Entries: what is written is read, what is damaged is refused, and a name is taken once. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "jobdir/entry.h"
#include "base/error.h"
#include "profile/profile.h"

#define MINIMUM "tidemark entry 1\njob j\npid 5\nprofile p.tmk\n"

static char directory[] = "/tmp/tidemark-entry.XXXXXX";

static struct entry sample(void)
{
    struct entry entry;
    entry_init(&entry);
    entry.job = strdup("openmpi-1@2");
    entry.session = strdup("s");
    entry.launcher = strdup("openmpi");
    entry.rank = 3;
    entry.ranks = 64;
    entry.host = strdup("n1");
    entry.pid = 812;
    entry.program = strdup("a b\nc\\n\\");
    entry.profile = strdup("rank-00003.x.tmk");
    entry.start_unix_ns = INT64_MAX;
    return entry;
}

static int parse(const char *text)
{
    struct entry entry;
    int error = entry_parse(&entry, text, strlen(text));
    entry_release(&entry);
    return error;
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    struct entry entry = sample(), read;
    struct strbuf text = STRBUF_INIT, again = STRBUF_INIT;
    entry_format(&entry, &text);
    assert_int_equal(entry_parse(&read, text.data, text.length), 0);
    assert_string_equal(read.program, entry.program);
    assert_int_equal(read.start_unix_ns, INT64_MAX);
    assert_int_equal(read.rank, 3);
    assert_int_equal(read.node, -1);
    assert_null(read.end);
    assert_null(read.trace);
    entry_format(&read, &again);
    assert_string_equal(again.data, text.data);
    strbuf_release(&text);
    strbuf_release(&again);
    entry_release(&entry);
    entry_release(&read);
}

static void one_that_was_cut_is_refused_wherever(void **state)
{
    (void)state;
    struct entry entry = sample(), read;
    struct strbuf text = STRBUF_INIT;
    entry_format(&entry, &text);
    for (size_t length = 0; length < text.length; length++) {
        char *cut = malloc(length ? length : 1); /* its own block: sanitizers see its end */
        memcpy(cut, text.data, length);
        assert_int_equal(entry_parse(&read, cut, length), -EBADMSG);
        assert_null(read.job);
        free(cut);
    }
    strbuf_release(&text);
    entry_release(&entry);
}

static void any_byte_may_be_another(void **state)
{
    (void)state;
    unsigned seed = (unsigned)time(NULL);
    printf("seed %u\n", seed);
    struct entry entry = sample(), read;
    struct strbuf text = STRBUF_INIT;
    entry_format(&entry, &text);
    for (int round = 0; round < 100000; round++) {
        size_t at = (size_t)rand_r(&seed) % text.length;
        char before = text.data[at];
        text.data[at] = (char)rand_r(&seed);
        if (entry_parse(&read, text.data, text.length) == 0) {
            assert_non_null(read.job);
            assert_null(strchr(read.profile, '/'));
            assert_true(read.ranks < 0 || read.rank < read.ranks);
            entry_release(&read);
        }
        text.data[at] = before;
    }
    strbuf_release(&text);
    entry_release(&entry);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    assert_int_equal(parse(MINIMUM ".\n"), 0);
    assert_int_equal(parse(MINIMUM "of_a_later_release 1\n.\n"), 0);
    static const char *const wrong[] = {
        MINIMUM,
        MINIMUM ".\n.\n",
        MINIMUM "pid 6\n.\n",           /* twice */
        MINIMUM "rank 4\nranks 4\n.\n", /* not in its job */
        MINIMUM "ranks 0\n.\n",
        MINIMUM "rank 2147483648\n.\n",
        MINIMUM "rank -1\n.\n",
        MINIMUM "rank 99999999999999999999\n.\n",
        MINIMUM "rank \n.\n",
        MINIMUM "rank\n.\n",
        MINIMUM "trace ../other.tmt\n.\n", /* leads elsewhere */
        MINIMUM "trace ..\n.\n",
        MINIMUM "trace \n.\n",
        MINIMUM "host a\\tb\n.\n", /* no such escape */
        MINIMUM "host a\\\n.\n",
        "tidemark entry 1\njob ..\npid 5\nprofile p.tmk\n.\n",
        "tidemark entry 1\npid 5\nprofile p.tmk\n.\n",
        "tidemark entry 1\njob j\nprofile p.tmk\n.\n",
        "tidemark entry 1\njob j\npid 5\n.\n",
        "tidemark entry 0\n" MINIMUM ".\n",
        "tidemark entry\n.\n",
        ".\n",
        "",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (parse(wrong[i]) != -EBADMSG)
            fail_msg("taken: %s", wrong[i]);
    assert_int_equal(parse("tidemark entry 2\nwhatever\n"), -EPROTONOSUPPORT);
}

static void a_name_is_taken_once(void **state)
{
    (void)state;
    char path[128], draft[128];
    struct entry entry = sample(), read;
    struct entry_writer *writer, *other;
    snprintf(path, sizeof path, "%s/one.entry", directory);
    snprintf(draft, sizeof draft, "%s/.one.entry.new", directory);
    assert_int_equal(entry_writer_open(&writer, path, &entry), 0);
    assert_int_equal(entry_writer_open(&other, path, &entry), -EEXIST);
    assert_int_not_equal(access(draft, F_OK), 0);
    assert_int_equal(entry_read(&read, path), 0);
    assert_int_equal(read.locked, 1);
    assert_true(entry_is_held(path));
    entry_release(&read);
    entry.end = strdup("exit");
    entry.end_status = 7;
    assert_int_equal(entry_writer_update(writer, &entry), 0);
    entry_writer_close(writer);
    assert_false(entry_is_held(path));
    assert_int_equal(entry_read(&read, path), 0);
    assert_string_equal(read.end, "exit");
    assert_int_equal(read.end_status, 7);
    entry_release(&read);
    unlink(path);
    assert_int_equal(mkfifo(draft, 0600), 0); /* of who may write there: nobody waits for it */
    assert_int_equal(entry_writer_open(&writer, path, &entry), 0);
    assert_int_not_equal(access(draft, F_OK), 0);
    entry_writer_discard(writer);
    assert_int_not_equal(access(path, F_OK), 0);
    entry_release(&entry);
}

/* All that a recorder that is killed leaves: an entry without an end, that nobody holds. */
static void a_killed_writer_holds_nothing(void **state)
{
    (void)state;
    char path[128];
    int ends[2];
    struct entry entry = sample(), found;
    snprintf(path, sizeof path, "%s/two.entry", directory);
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct entry_writer *writer;
        if (entry_writer_open(&writer, path, &entry) == 0)
            (void)!write(ends[1], "", 1);
        pause();
    }
    char byte;
    assert_int_equal((int)read(ends[0], &byte, 1), 1);
    assert_true(entry_is_held(path));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_false(entry_is_held(path));
    assert_int_equal(entry_read(&found, path), 0);
    assert_null(found.end);
    entry_release(&found);
    entry_release(&entry);
    unlink(path);
}

/* The kernel kills at the first write beyond so many bytes. */
static void die_while_writing(const char *path, struct entry *entry, bool update)
{
    struct entry_writer *writer;
    struct rlimit limit = {16, 16};
    pid_t pid = fork();
    int status;
    if (pid == 0) {
        if (update && entry_writer_open(&writer, path, entry))
            _exit(1);
        signal(SIGXFSZ, SIG_DFL);
        if (setrlimit(RLIMIT_FSIZE, &limit) == 0 && !update)
            entry_writer_open(&writer, path, entry);
        else
            entry_writer_update(writer, entry);
        _exit(2);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ);
}

static void killed_while_it_writes_it_leaves_nothing_beside(void **state)
{
    (void)state;
    char path[128], draft[136];
    struct entry entry = sample(), found;
    snprintf(path, sizeof path, "%s/three.entry", directory);
    snprintf(draft, sizeof draft, "%s/.three.entry.new", directory);
    die_while_writing(path, &entry, false);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_not_equal(access(draft, F_OK), 0);
    die_while_writing(path, &entry, true);
    assert_int_not_equal(access(draft, F_OK), 0);
    assert_int_equal(entry_read(&found, path), 0); /* as it was */
    entry_release(&found);
    entry_release(&entry);
    unlink(path);
}

static void sentences_name_the_file(void **state)
{
    (void)state;
    struct entry entry;
    assert_int_equal(entry_read(&entry, "/no/such.entry"), -ENOENT);
    assert_non_null(strstr(error_text(), "/no/such.entry"));
    assert_int_equal(entry_read(&entry, "/dev/null"), -EINVAL);
    assert_int_equal(entry_read(&entry, "/bin/bash"), -EFBIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(one_that_was_cut_is_refused_wherever),
        cmocka_unit_test(any_byte_may_be_another),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(a_name_is_taken_once),
        cmocka_unit_test(a_killed_writer_holds_nothing),
        cmocka_unit_test(killed_while_it_writes_it_leaves_nothing_beside),
        cmocka_unit_test(sentences_name_the_file),
    };
    if (!mkdtemp(directory))
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(directory);
    return failed;
}
