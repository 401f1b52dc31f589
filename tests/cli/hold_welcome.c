/* Preloaded into a collector: after the message that hands a program its shared memory it stands
 * still until that program has ended, as on a machine where it gets no turn. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int has_ended(int pid)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return 1;
    size_t bytes = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[bytes] = '\0';
    const char *name_end = strrchr(text, ')');
    return name_end && (name_end[2] == 'Z' || name_end[2] == 'X');
}

ssize_t sendmsg(int socket, const struct msghdr *message, int flags)
{
    const struct timespec pause = {0, 1000000};
    struct ucred peer;
    socklen_t bytes = sizeof peer;
    ssize_t sent = syscall(SYS_sendmsg, socket, message, flags);
    if (sent > 0 && message->msg_controllen &&
        !getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes))
        while (!has_ended(peer.pid))
            nanosleep(&pause, NULL);
    return sent;
}
