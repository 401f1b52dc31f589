/* Who is connected, and who of them has to go.
 *
 * A connection costs a place and is of use only once it asks for something that it may have. Until then
 * it is a stranger: it has SERVER_HEADER_S to ask, whatever it sends meanwhile, and of one address there
 * are at most SERVER_STRANGERS: the next one takes the place of the oldest. With more connections than
 * SERVER_CONNECTIONS the oldest stranger goes of the address that has most of them, or else who has been
 * idle longest. So any number of slow or half-open connections keeps nobody out who asks.
 *
 *     stranger --may ask--> served --answered--> idle --next request--> asking --may ask--> served
 *
 * Connections are ended by shutdown(), which libmicrohttpd's thread sees as the other end's leaving.
 * Any thread may call any of these. */
#ifndef TIDEMARK_SERVER_CLIENTS_H
#define TIDEMARK_SERVER_CLIENTS_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum client_stage { CLIENT_STRANGER, CLIENT_ASKING, CLIENT_SERVED, CLIENT_IDLE };

struct client {
    struct client *next;
    struct in6_addr address; /* of IPv4 as mapped into IPv6 */
    int fd;                  /* the daemon's: open as long as the client is listed */
    enum client_stage stage;
    uint64_t since_ms; /* when this stage was entered */
    bool is_leaving;   /* it has been shut down */
};

struct clients {
    pthread_mutex_t lock;
    struct client *first;
};

void clients_init(struct clients *clients);
void clients_release(struct clients *clients);

/* A connection was accepted. NULL: no memory; it is then not looked after. */
struct client *clients_add(struct clients *clients, int fd, const struct sockaddr *address);
/* Before its descriptor is closed. */
void clients_remove(struct clients *clients, struct client *client);

/* Its next request has begun; it was found to be one that may ask; it has been answered. NULL: not looked
 * after. */
void clients_begin(struct clients *clients, struct client *client);
void clients_serve(struct clients *clients, struct client *client);
void clients_end(struct clients *clients, struct client *client);

/* Ends those that take too long to ask. To be called once a second. */
void clients_sweep(struct clients *clients);

#endif
