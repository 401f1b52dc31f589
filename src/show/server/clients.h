/* The connections, and which of them to end when there are too many.
 *
 * A connection is a stranger until it makes a request that is allowed. A stranger has
 * SERVER_HEADER_S seconds for this, whatever it sends meanwhile, and SERVER_PAGE_S to be sent a
 * file of the web bundle, after which its seconds begin anew. One address has at most
 * SERVER_STRANGERS strangers: for the next one the oldest of them is ended. With SERVER_CONNECTIONS
 * connections in all, the next one ends the oldest stranger of the address with most strangers;
 * without strangers the connection that was idle longest is ended. So slow or half-open
 * connections, however many, cannot keep out a client with an allowed request.
 *
 *     stranger --may ask--> served --answered--> idle --next request--> asking --may ask--> served
 *
 * A connection is ended by shutdown(); libmicrohttpd's thread then sees the end of the stream. Any
 * thread may call any of these functions. */
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
    struct in6_addr address; /* IPv4 is mapped into IPv6 */
    int fd;                  /* the daemon's: open as long as the client is listed */
    enum client_stage stage;
    uint64_t since_ms; /* when this stage was entered */
    bool is_leaving;   /* it has been shut down */
    bool is_fetching;  /* a stranger that is sent a file of the web bundle */
};

struct clients {
    pthread_mutex_t lock;
    struct client *first;
};

void clients_init(struct clients *clients);
void clients_release(struct clients *clients);

/* A connection was accepted. NULL: no memory; the connection then has no limits. */
struct client *clients_add(struct clients *clients, int fd, const struct sockaddr *address);
/* To be called before the descriptor is closed. */
void clients_remove(struct clients *clients, struct client *client);

/* The next request has begun; it is allowed; it has been answered. `client` NULL: nothing happens.
 */
void clients_begin(struct clients *clients, struct client *client);
void clients_serve(struct clients *clients, struct client *client);
/* The request is for a file that everyone may have: a stranger stays one. */
void clients_fetch(struct clients *clients, struct client *client);
void clients_end(struct clients *clients, struct client *client);

/* Ends connections whose request takes too long. To be called once a second. */
void clients_sweep(struct clients *clients);

#endif
