/* Limits connections (clients.h). Connections are a linked list under a mutex, each with its stage
 * and since when. Before one is added, the oldest of the right kind is shut down if there are too
 * many. */
#include "server/clients.h"

#include <stdlib.h>
#include <string.h>
#include "base/now.h"
#include "server/http.h"

static uint64_t clients_now_ms(void)
{
    return now_monotonic_ns() / 1000000;
}

static struct in6_addr clients_address_of(const struct sockaddr *address)
{
    struct in6_addr out = IN6ADDR_ANY_INIT;
    if (address->sa_family == AF_INET6)
        return ((const struct sockaddr_in6 *)address)->sin6_addr;
    if (address->sa_family == AF_INET) {
        memset(out.s6_addr + 10, 0xff, 2);
        memcpy(out.s6_addr + 12, &((const struct sockaddr_in *)address)->sin_addr, 4);
    }
    return out;
}

/* ---- Under the lock ------------------------------------------------------------------------ */

static void clients_show_out(struct client *client)
{
    client->is_leaving = true;
    shutdown(client->fd, SHUT_RDWR);
}

static void clients_enter(struct client *client, enum client_stage stage)
{
    client->stage = stage;
    client->since_ms = clients_now_ms();
}

static bool clients_is_at(const struct client *client, const struct in6_addr *address)
{
    return !memcmp(&client->address, address, sizeof *address);
}

static size_t clients_count_strangers(const struct clients *clients, const struct in6_addr *address)
{
    size_t count = 0;
    for (const struct client *at = clients->first; at; at = at->next)
        count += !at->is_leaving && at->stage == CLIENT_STRANGER && clients_is_at(at, address);
    return count;
}

static size_t clients_count_staying(const struct clients *clients)
{
    size_t count = 0;
    for (const struct client *at = clients->first; at; at = at->next)
        count += !at->is_leaving;
    return count;
}

/* The connection of that address (NULL: of any) that has been at this stage longest. NULL: there is
 * none. */
static struct client *clients_oldest(const struct clients *clients, enum client_stage stage,
                                     const struct in6_addr *address)
{
    struct client *found = NULL;
    for (struct client *at = clients->first; at; at = at->next)
        if (!at->is_leaving && at->stage == stage && (!address || clients_is_at(at, address)) &&
            (!found || at->since_ms <= found->since_ms))
            found = at;
    return found;
}

/* The address that most strangers come from. NULL: there are none. */
static const struct in6_addr *clients_busiest_address(const struct clients *clients)
{
    const struct in6_addr *busiest = NULL;
    size_t most = 0;
    for (const struct client *at = clients->first; at; at = at->next) {
        size_t count = clients_count_strangers(clients, &at->address);
        if (count <= most)
            continue;
        most = count;
        busiest = &at->address;
    }
    return busiest;
}

/* Called before a connection from `address` is added. */
static void clients_make_room(struct clients *clients, const struct in6_addr *address)
{
    struct client *leaving = NULL;
    if (clients_count_strangers(clients, address) >= SERVER_STRANGERS) {
        leaving = clients_oldest(clients, CLIENT_STRANGER, address);
    } else if (clients_count_staying(clients) >= SERVER_CONNECTIONS) {
        const struct in6_addr *busiest = clients_busiest_address(clients);
        leaving = busiest ? clients_oldest(clients, CLIENT_STRANGER, busiest)
                          : clients_oldest(clients, CLIENT_IDLE, NULL);
    }
    if (leaving)
        clients_show_out(leaving);
}

/* ---- What the daemon tells ----------------------------------------------------------------- */

void clients_init(struct clients *clients)
{
    *clients = (struct clients){0};
    pthread_mutex_init(&clients->lock, NULL);
}

void clients_release(struct clients *clients)
{
    pthread_mutex_destroy(&clients->lock);
}

struct client *clients_add(struct clients *clients, int fd, const struct sockaddr *address)
{
    struct client *client = calloc(1, sizeof *client);
    if (!client)
        return NULL;
    client->fd = fd;
    client->address = clients_address_of(address);
    clients_enter(client, CLIENT_STRANGER);
    pthread_mutex_lock(&clients->lock);
    clients_make_room(clients, &client->address);
    client->next = clients->first;
    clients->first = client;
    pthread_mutex_unlock(&clients->lock);
    return client;
}

void clients_remove(struct clients *clients, struct client *client)
{
    pthread_mutex_lock(&clients->lock);
    struct client **link = &clients->first;
    while (*link != client)
        link = &(*link)->next;
    *link = client->next;
    pthread_mutex_unlock(&clients->lock);
    free(client);
}

/* A stranger stays one, and its time runs on, until it makes an allowed request. */
void clients_begin(struct clients *clients, struct client *client)
{
    if (!client)
        return;
    pthread_mutex_lock(&clients->lock);
    if (client->stage != CLIENT_STRANGER)
        clients_enter(client, CLIENT_ASKING);
    pthread_mutex_unlock(&clients->lock);
}

void clients_serve(struct clients *clients, struct client *client)
{
    if (!client)
        return;
    pthread_mutex_lock(&clients->lock);
    clients_enter(client, CLIENT_SERVED);
    pthread_mutex_unlock(&clients->lock);
}

void clients_fetch(struct clients *clients, struct client *client)
{
    if (!client)
        return;
    pthread_mutex_lock(&clients->lock);
    client->is_fetching = client->stage == CLIENT_STRANGER;
    clients_enter(client, client->is_fetching ? CLIENT_STRANGER : CLIENT_SERVED);
    pthread_mutex_unlock(&clients->lock);
}

void clients_end(struct clients *clients, struct client *client)
{
    if (!client)
        return;
    pthread_mutex_lock(&clients->lock);
    if (client->stage != CLIENT_STRANGER)
        clients_enter(client, CLIENT_IDLE);
    else if (client->is_fetching)
        clients_enter(client, CLIENT_STRANGER);
    client->is_fetching = false;
    pthread_mutex_unlock(&clients->lock);
}

void clients_sweep(struct clients *clients)
{
    uint64_t now = clients_now_ms();
    pthread_mutex_lock(&clients->lock);
    for (struct client *at = clients->first; at; at = at->next)
        if (!at->is_leaving && (at->stage == CLIENT_STRANGER || at->stage == CLIENT_ASKING) &&
            now - at->since_ms >= (at->is_fetching ? SERVER_PAGE_S : SERVER_HEADER_S) * 1000u)
            clients_show_out(at);
    pthread_mutex_unlock(&clients->lock);
}
