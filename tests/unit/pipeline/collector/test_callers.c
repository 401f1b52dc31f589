/* Every user of the machine may connect to the collector's socket and send what he likes: the
 * collector keeps nothing of it, above all no descriptors. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>
#include "collector/collector.h"

enum { FEW = 8, DESCRIPTORS_MAX = 4 };

static struct collector *collector;

static int connect_to_it(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t bytes = strcspn(collector_name(collector), ":");
    memcpy(address.sun_path + 1, collector_name(collector), bytes);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address,
                             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + bytes)),
                     0);
    return fd;
}

static void send_with_descriptors(int fd, size_t bytes, size_t count)
{
    char text[16] = "no hello";
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(DESCRIPTORS_MAX * sizeof(int))];
    } control = {0};
    struct iovec part = {text, bytes};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = CMSG_SPACE(count * sizeof(int))};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    *header = (struct cmsghdr){.cmsg_len = CMSG_LEN(count * sizeof(int)),
                               .cmsg_level = SOL_SOCKET,
                               .cmsg_type = SCM_RIGHTS};
    int sent[DESCRIPTORS_MAX];
    for (size_t i = 0; i < count; i++)
        sent[i] = eventfd(0, EFD_CLOEXEC);
    memcpy(CMSG_DATA(header), sent, count * sizeof *sent);
    assert_int_equal(sendmsg(fd, &message, MSG_NOSIGNAL), bytes);
    for (size_t i = 0; i < count; i++)
        close(sent[i]);
}

static size_t count_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    size_t count = 0;
    assert_non_null(directory);
    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

/* What stays open after `FEW` calls by somebody who sends so many bytes and descriptors. */
static size_t left_open_by(size_t bytes, size_t descriptors)
{
    size_t before = count_descriptors();
    for (int i = 0; i < FEW; i++) {
        int fd = connect_to_it();
        send_with_descriptors(fd, bytes, descriptors);
        for (int turn = 0; turn < 100 && (turn == 0 || collector_active(collector)); turn++)
            collector_wait(collector, -1, 100);
        assert_int_equal(collector_active(collector), 0);
        close(fd);
    }
    return count_descriptors() - before;
}

static void no_descriptor_that_was_sent_stays_open(void **state)
{
    (void)state;
    assert_int_equal(left_open_by(8, 1), 0);
    assert_int_equal(left_open_by(8, 2), 0);
    assert_int_equal(left_open_by(8, DESCRIPTORS_MAX), 0);
}

static void nor_one_that_came_with_an_empty_message(void **state)
{
    (void)state;
    assert_int_equal(left_open_by(0, 1), 0);
    assert_int_equal(left_open_by(0, 2), 0);
}

static int open_collector(void **state)
{
    (void)state;
    struct collector_options options = COLLECTOR_OPTIONS_INIT;
    return collector_open(&collector, &options, NULL);
}

static int close_collector(void **state)
{
    (void)state;
    collector_close(collector);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_descriptor_that_was_sent_stays_open),
        cmocka_unit_test(nor_one_that_came_with_an_empty_message),
    };
    return cmocka_run_group_tests(tests, open_collector, close_collector);
}
