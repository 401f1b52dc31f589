/* Tests the user of the process that listens. When a collector dies, any process may take its
 * abstract name. Such a process would get the session's key, and could give programs memory to
 * write to. */
#include "recorder/trusted_peer.h"

#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>
#include "interpose/proc_text.h"
#include "unwind/permitted_calls.h"

/* The kernel's number for a user that is not in the namespace; it may also be the number of a
 * user. */
enum { UNMAPPED = 65534 };

/* Reads a number behind blanks; *behind is the character behind it. */
static uint64_t trusted_peer_field(struct proc_text *map, int *behind)
{
    uint64_t number = 0;
    do
        *behind = proc_text_next(map);
    while (*behind == ' ');
    for (; *behind >= '0' && *behind <= '9'; *behind = proc_text_next(map))
        number = number * 10 + (uint64_t)(*behind - '0');
    return number;
}

/* False in the initial user namespace, which maps each user to itself: "0 0 4294967295". A line of
 * uid_map has the first user inside, the first one outside, and the number of users. */
static bool trusted_peer_is_in_user_namespace(void)
{
    struct proc_text map;
    int last;
    if (permitted_calls_is_forbidden(CALL_LIMITS) || !proc_text_open(&map, "/proc/self/uid_map"))
        return false;
    uint64_t inside = trusted_peer_field(&map, &last);
    uint64_t outside = trusted_peer_field(&map, &last);
    uint64_t count = trusted_peer_field(&map, &last);
    proc_text_close(&map);
    return inside || outside || count < UINT32_MAX;
}

/* In a user namespace the collector's user may show as UNMAPPED. A user of that number in the
 * namespace looks the same, and is accepted too. */
bool trusted_peer(int fd)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0)
        return false;
    return peer.uid == 0 || peer.uid == getuid() || peer.uid == geteuid() ||
           (peer.uid == UNMAPPED && trusted_peer_is_in_user_namespace());
}
