/* truth: sick
 * what: messages of QoS 2 with the same id are stored again and again and never answered
 * real: Eclipse Mosquitto before 2.0.16, CVE-2023-28366: duplicate message ids without PUBREC leak
 * expect: leak-growth leak-lost grew-until-teardown leak-possible
 * wrapper: mosquitto__malloc mosquitto__calloc
 * run: service idle 0.4; ask 4000; idle 0.6; ask 3000; idle 0.4 */
#include "truth.h"

struct stored {
    struct stored *next;
    int mid;
    char payload[300];
};

static struct stored *in_flight;

NOINLINE static void *mosquitto__calloc(size_t count, size_t size)
{
    void *block = calloc(count, size);
    if (!block)
        fprintf(stderr, "out of memory\n");
    return block;
}

NOINLINE static char *packet_read(const char *line)
{
    char *packet = mosquitto__calloc(1, 400);
    snprintf(packet, 400, "%s", line);
    return packet;
}

NOINLINE static void handle_publish(const char *packet)
{
    struct stored *stored = mosquitto__calloc(1, sizeof *stored); /* guilty: handle_publish */
    stored->mid = 1;
    snprintf(stored->payload, sizeof stored->payload, "%s", packet);
    stored->next = in_flight;
    in_flight = stored;
}

int main(void)
{
    char line[200];
    while (fgets(line, sizeof line, stdin)) {
        char *packet = packet_read(line);
        handle_publish(packet);
        free(packet);
    }
    return in_flight == NULL;
}
