/* Looks at the user of who listens. A collector that dies leaves its abstract name to anybody, and
 * whoever takes the name would be told the session's key, and give programs memory to write to. */
#include "recorder/trusted_peer.h"

#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>
#include "recorder/proc_text.h"
#include "unwind/permitted_calls.h"

/* What the kernel says of a user that a namespace does not know; it is a user's number, too. */
enum { UNMAPPED = 65534 };

/* The number behind blanks, which may be 0; `*behind` is what stands behind it. */
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

/* Not the namespace in which each user is himself: "0 0 4294967295". A line of uid_map has the
 * first user inside, the first one outside, and how many they are. */
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

/* In a user namespace the collector's user may be nobody's number, and the namespace may have a
 * user of that number as well: nothing tells the two apart. */
bool trusted_peer(int fd)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0)
        return false;
    return peer.uid == 0 || peer.uid == getuid() || peer.uid == geteuid() ||
           (peer.uid == UNMAPPED && trusted_peer_is_in_user_namespace());
}
