/* stranger SESSION: calls a collector as a recorded program does that starts, and says what became
 * of it. SESSION is the name of its socket, with :KEY or without. stranger --listen NAME ANSWER:
 * listens by such a name, says so, and gives everyone who calls that answer, until it is killed.
 * stranger --overhear NAME: says what the first who calls tells. stranger --full NAME: listens, and
 * has a queue that is full. */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "wire/wire.h"

/* connect() or bind() to an abstract name; -1. */
static int socket_at(const char *name, size_t bytes,
                     int (*how)(int, const struct sockaddr *, socklen_t))
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    if (fd < 0 || bytes + 1 > sizeof address.sun_path)
        return -1;
    memcpy(address.sun_path + 1, name, bytes);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + bytes);
    return how(fd, (struct sockaddr *)&address, length) == 0 ? fd : -1;
}

static int answer_all(const char *name, const char *answer)
{
    int fd = socket_at(name, strlen(name), bind);
    if (fd < 0 || listen(fd, 8) < 0)
        return 2;
    puts("listening");
    fflush(stdout);
    for (;;) {
        int visitor = accept(fd, NULL, NULL);
        send(visitor, answer, strlen(answer), MSG_NOSIGNAL);
        close(visitor);
    }
}

static int overhear(const char *name)
{
    struct wire_hello hello = {0};
    int fd = socket_at(name, strlen(name), bind);
    if (fd < 0 || listen(fd, 8) < 0)
        return 2;
    puts("listening");
    fflush(stdout);
    int visitor = accept(fd, NULL, NULL);
    bool told = recv(visitor, &hello, sizeof hello, 0) > 0 && hello.key[0];
    puts(told ? "was told the key" : "was told nothing");
    return 0;
}

/* One place in the queue, which is ours. */
static int take_nobody(const char *name)
{
    int fd = socket_at(name, strlen(name), bind);
    if (fd < 0 || listen(fd, 0) < 0 || socket_at(name, strlen(name), connect) < 0)
        return 2;
    puts("listening");
    fflush(stdout);
    return pause();
}

int main(int argc, char **argv)
{
    struct wire_hello hello = {.magic = WIRE_MAGIC, .reason = WIRE_HELLO_START};
    struct wire_welcome welcome;
    const char *key = argc > 1 ? strchr(argv[1], ':') : NULL;
    if (argc == 4)
        return answer_all(argv[2], argv[3]);
    if (argc == 3)
        return strcmp(argv[1], "--full") ? overhear(argv[2]) : take_nobody(argv[2]);
    int fd = argc > 1 ? socket_at(argv[1], strcspn(argv[1], ":"), connect) : -1;
    if (fd < 0) {
        puts("nobody there");
        return 2;
    }
    if (key && strlen(key + 1) == sizeof hello.key)
        memcpy(hello.key, key + 1, sizeof hello.key);
    if (send(fd, &hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello)
        return 2;
    puts(recv(fd, &welcome, sizeof welcome, 0) == sizeof welcome ? "welcomed" : "turned away");
    close(fd);
    return 0;
}
