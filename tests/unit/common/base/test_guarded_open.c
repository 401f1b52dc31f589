/* What a guarded thread opens for a library, and in whose hands files are. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/guarded_open.h"
#include "base/trust.h"

static char directory[] = "/tmp/tidemark-guarded.XXXXXX";
static char file[64], text[64], pipe_path[64], empty[64];

static int set_up(void **state)
{
    (void)state;
    static const char head[16] = "\177ELF\2\1\1";
    int fds[3];
    if (!mkdtemp(directory))
        return -1;
    snprintf(file, sizeof file, "%s/file", directory);
    snprintf(text, sizeof text, "%s/text", directory);
    snprintf(pipe_path, sizeof pipe_path, "%s/pipe", directory);
    snprintf(empty, sizeof empty, "%s/empty", directory);
    fds[0] = open(file, O_WRONLY | O_CREAT | O_EXCL, 0640);
    fds[1] = open(empty, O_WRONLY | O_CREAT | O_EXCL, 0600);
    fds[2] = open(text, O_WRONLY | O_CREAT | O_EXCL, 0600);
    int error = fds[0] < 0 || fds[1] < 0 || fds[2] < 0 ||
                write(fds[0], head, sizeof head) != sizeof head ||
                write(fds[2], "\37\213packed", 8) != 8 || mkfifo(pipe_path, 0600);
    for (int i = 0; i < 3; i++)
        close(fds[i]);
    return error;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(file);
    unlink(text);
    unlink(pipe_path);
    unlink(empty);
    return rmdir(directory);
}

static bool is_opened(const char *path)
{
    int fd = open(path, O_RDONLY);
    int error = errno;
    if (fd >= 0)
        close(fd);
    else
        assert_int_equal(error, ENOENT);
    return fd >= 0;
}

static bool is_opened_guarded(const char *path)
{
    struct guarded_open before = guarded_open_begin((struct guarded_open){.owner = geteuid()});
    bool opened = is_opened(path);
    guarded_open_restore(before);
    return opened;
}

static void what_is_no_file_is_passed_over(void **state)
{
    (void)state;
    assert_true(is_opened_guarded(file));
    assert_false(is_opened_guarded(pipe_path));
    assert_false(is_opened_guarded(empty));
    assert_false(is_opened_guarded(text));
    assert_false(is_opened_guarded(directory));
    assert_false(is_opened_guarded("/dev/null"));
    assert_false(is_opened_guarded("/proc/self/maps"));
    assert_true(is_opened("/dev/null"));
    assert_true(is_opened(empty));
}

static void what_others_could_have_written_is_passed_over(void **state)
{
    (void)state;
    assert_int_equal(chmod(file, 0646), 0);
    assert_false(is_opened_guarded(file));
    assert_int_equal(chmod(file, 0644), 0);
    assert_int_equal(chmod(directory, 01777), 0);
    assert_false(is_opened_guarded(file));
    assert_int_equal(chmod(directory, 0700), 0);
    assert_true(is_opened_guarded(file));
}

/* Reads the last byte of a mapped file of two pages that lost its end. */
static int read_beyond_the_end(void)
{
    int fd = open(empty, O_RDWR);
    assert_int_equal(ftruncate(fd, 8192), 0);
    assert_int_equal(pwrite(fd, "end", 3, 8188), 3);
    volatile char *bytes = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    assert_true(bytes != MAP_FAILED && bytes[8188] == 'e');
    assert_int_equal(ftruncate(fd, 4096), 0);
    int last = bytes[8188];
    munmap((void *)bytes, 8192);
    assert_int_equal(ftruncate(fd, 0), 0);
    close(fd);
    return last;
}

static void what_loses_its_end_reads_as_zeros(void **state)
{
    (void)state;
    int status;
    signal(SIGBUS, SIG_DFL); /* cmocka has its own; ours takes its place with the first guard */
    struct guarded_open before = guarded_open_begin((struct guarded_open){.owner = geteuid()});
    assert_int_equal(read_beyond_the_end(), 0);
    guarded_open_restore(before);
    pid_t child = fork(); /* who is not guarded ends as ever */
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0});
        read_beyond_the_end();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
}

/* A link in a container leads to what the container has of that name. */
static void links_below_a_root_stay_below_it(void **state)
{
    (void)state;
    char root[80], inner[160], link[160];
    snprintf(root, sizeof root, "%s/root", directory);
    snprintf(link, sizeof link, "%s/link", root);
    snprintf(inner, sizeof inner, "%s/inner", root);
    assert_int_equal(mkdir(root, 0700), 0);
    assert_int_equal(symlink(file, link), 0); /* absolute: an ELF file of ours */
    struct guarded_open before = guarded_open_begin((struct guarded_open){.trusts_all = true});
    assert_true(is_opened(link));
    guarded_open_begin((struct guarded_open){.trusts_all = true, .root = root});
    assert_false(is_opened(link));
    assert_true(is_opened(file)); /* not below it */
    assert_int_equal(rename(file, inner), 0);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(symlink("/../inner", link), 0);
    assert_true(is_opened(link));
    guarded_open_restore(before);
    assert_int_equal(rename(inner, file), 0);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(rmdir(root), 0);
}

static void files_that_are_made_have_their_mode(void **state)
{
    (void)state;
    struct stat status;
    char made[80];
    snprintf(made, sizeof made, "%s/made", directory);
    struct guarded_open before = guarded_open_begin((struct guarded_open){.owner = geteuid()});
    int fd = open(made, O_RDWR | O_CREAT | O_EXCL, 0604);
    guarded_open_restore(before);
    assert_true(fd >= 0 && fstat(fd, &status) == 0);
    assert_int_equal(status.st_mode & 0704, 0604);
    close(fd);
    unlink(made);
}

static void *open_elsewhere(void *context)
{
    *(bool *)context = is_opened("/dev/null");
    return NULL;
}

static void other_threads_are_not_guarded(void **state)
{
    (void)state;
    pthread_t thread;
    bool opened = false;
    struct guarded_open before = guarded_open_begin((struct guarded_open){.trusts_all = true});
    assert_int_equal(pthread_create(&thread, NULL, open_elsewhere, &opened), 0);
    pthread_join(thread, NULL);
    assert_false(is_opened("/dev/null"));
    guarded_open_restore(before);
    assert_true(opened);
}

static struct stat status_of(uid_t user, gid_t group, mode_t mode)
{
    return (struct stat){.st_uid = user, .st_gid = group, .st_mode = S_IFREG | mode};
}

/* Who sends SIGBUS ends the process, whether it has a guard or not. */
static void a_signal_that_is_sent_is_not_swallowed(void **state)
{
    int status;
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        signal(SIGBUS, SIG_DFL);
        guarded_open_begin((struct guarded_open){.trusts_all = true});
        kill(getpid(), SIGBUS);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGBUS);
}

static void hands(void **state)
{
    (void)state;
    uid_t self = geteuid(), other = 12345, third = 12346;
    struct stat status = status_of(other, other, 0644);
    assert_true(trust_holds(&status, other));
    assert_false(trust_holds(&status, third));
    assert_false(trust_holds_strictly(&status));
    status = status_of(0, 0, 0664);
    assert_true(trust_holds(&status, third) && trust_holds_strictly(&status));
    status = status_of(self, 4711, 0660); /* a group of several */
    assert_true(trust_holds(&status, third));
    assert_false(trust_holds_strictly(&status));
    status = status_of(self, 4711, 0640);
    assert_true(trust_holds_strictly(&status));
    status = status_of(self, self, 0660); /* a group of one */
    assert_true(trust_holds_strictly(&status));
    status = status_of(0, 0, 0646);
    assert_false(trust_holds(&status, 0) || trust_holds_strictly(&status));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signal_that_is_sent_is_not_swallowed), /* before any guard is here … */
        cmocka_unit_test(what_loses_its_end_reads_as_zeros),      /* … and the first here */
        cmocka_unit_test(what_is_no_file_is_passed_over),
        cmocka_unit_test(what_others_could_have_written_is_passed_over),
        cmocka_unit_test(links_below_a_root_stay_below_it),
        cmocka_unit_test(files_that_are_made_have_their_mode),
        cmocka_unit_test(other_threads_are_not_guarded),
        cmocka_unit_test(hands),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
