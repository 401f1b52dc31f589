/* A ticket is a secret that the page exchanges once for the token. It is given to the browser in an
 * argument, which every user of the machine can read. So the connection that bears it must be our
 * own user's: the kernel lists the owner of each socket in /proc/net/tcp. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "server/http.h"

/* One end of a connection; an IPv4 address is mapped into IPv6. */
struct ticket_end {
    struct in6_addr address;
    unsigned port;
};

bool ticket_make(struct server *server)
{
    pthread_mutex_lock(&server->lock);
    bool made = access_make_secret(server->ticket);
    pthread_mutex_unlock(&server->lock);
    return made;
}

/* ---- Whose connection it is ---------------------------------------------------------------- */

static bool ticket_end_of(struct ticket_end *end, const struct sockaddr *address)
{
    const struct sockaddr_in *four = (const struct sockaddr_in *)address;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
    *end = (struct ticket_end){.port = 0};
    if (address->sa_family == AF_INET) {
        memset(end->address.s6_addr + 10, 0xff, 2);
        memcpy(end->address.s6_addr + 12, &four->sin_addr, sizeof four->sin_addr);
        end->port = ntohs(four->sin_port);
    } else if (address->sa_family == AF_INET6) {
        end->address = six->sin6_addr;
        end->port = ntohs(six->sin6_port);
    }
    return end->port;
}

/* "0100007F:1F90", or four such words before the colon: words of the address in memory, in the
 * processor's byte order. */
static bool ticket_read_end(struct ticket_end *end, const char *text)
{
    unsigned word[4];
    *end = (struct ticket_end){.port = 0};
    if (strcspn(text, ":") == 8 && sscanf(text, "%8x:%4x", &word[0], &end->port) == 2) {
        memset(end->address.s6_addr + 10, 0xff, 2);
        memcpy(end->address.s6_addr + 12, word, sizeof *word);
        return true;
    }
    if (sscanf(text, "%8x%8x%8x%8x:%4x", &word[0], &word[1], &word[2], &word[3], &end->port) != 5)
        return false;
    memcpy(end->address.s6_addr, word, sizeof word);
    return true;
}

static bool ticket_ends_are_same(const struct ticket_end *a, const struct ticket_end *b)
{
    return a->port == b->port && !memcmp(&a->address, &b->address, sizeof a->address);
}

/* Finds the owner of the socket at `local` that is connected with `remote`; false: it is not in
 * this list. */
static bool ticket_find_owner(const char *list, const struct ticket_end *local,
                              const struct ticket_end *remote, uid_t *owner)
{
    char line[512], own[64], other[64];
    bool found = false;
    FILE *file = fopen(list, "re");
    while (file && !found && fgets(line, sizeof line, file)) {
        struct ticket_end here, there;
        unsigned uid;
        found = sscanf(line, " %*s %63s %63s %*s %*s %*s %*s %u", own, other, &uid) == 3 &&
                ticket_read_end(&here, own) && ticket_read_end(&there, other) &&
                ticket_ends_are_same(&here, local) && ticket_ends_are_same(&there, remote);
        if (found)
            *owner = uid;
    }
    if (file)
        fclose(file);
    return found;
}

/* Is the other end of this connection on this machine, and our own user's? A socket for IPv6 may be
 * connected by IPv4: it is in the second list then. */
static bool ticket_comes_from_us(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *client =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const union MHD_ConnectionInfo *fd =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    struct ticket_end theirs, ours;
    uid_t owner;
    if (!client || !fd || getsockname(fd->connect_fd, (struct sockaddr *)&address, &length) ||
        !ticket_end_of(&theirs, client->client_addr) ||
        !ticket_end_of(&ours, (const struct sockaddr *)&address))
        return false;
    if (!ticket_find_owner("/proc/net/tcp", &theirs, &ours, &owner) &&
        !ticket_find_owner("/proc/net/tcp6", &theirs, &ours, &owner))
        return false;
    return owner == geteuid();
}

/* Does the request bear the ticket? With `use`, the ticket is used up. */
static bool ticket_is_there(struct server *server, struct MHD_Connection *connection, bool use)
{
    pthread_mutex_lock(&server->lock);
    bool is_it = *server->ticket && access_bears(connection, "Ticket", server->ticket);
    if (is_it && use)
        *server->ticket = 0;
    pthread_mutex_unlock(&server->lock);
    return is_it;
}

/* A request of another user, who read the ticket in an argument, does not use it up. */
bool ticket_take(struct server *server, struct MHD_Connection *connection)
{
    return ticket_is_there(server, connection, false) && ticket_comes_from_us(connection) &&
           ticket_is_there(server, connection, true);
}
