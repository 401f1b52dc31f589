/* stranger SESSION: calls a collector as a recorded program does that starts, and says what became of
 * it. SESSION is the name of its socket, with :KEY or without. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "wire/wire.h"

static int call(const char *name, size_t bytes)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    if (fd < 0 || bytes + 1 > sizeof address.sun_path)
        return -1;
    memcpy(address.sun_path + 1, name, bytes);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + bytes);
    return connect(fd, (struct sockaddr *)&address, length) == 0 ? fd : -1;
}

int main(int argc, char **argv)
{
    struct wire_hello hello = {.magic = WIRE_MAGIC, .reason = WIRE_HELLO_START};
    struct wire_welcome welcome;
    const char *key = argc > 1 ? strchr(argv[1], ':') : NULL;
    int fd = argc > 1 ? call(argv[1], strcspn(argv[1], ":")) : -1;
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
