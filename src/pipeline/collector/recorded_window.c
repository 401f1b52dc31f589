/* The window of time that is recorded (recorded_window.h). A gate scans the records for a mark
 * whose name matches the pattern, and opens or shuts there, or for the moment at which --for is up.
 * An eventfd wakes the collector's poll(). */
#include "collector/recorded_window.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "wire/wire.h"

int window_open(struct window *window, const char *start_on, const char *until, uint64_t for_ns)
{
    *window = (struct window){.start_on = start_on, .until = until, .for_ns = for_ns, .wake = -1};
    window->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return window->wake < 0 ? -errno : 0;
}

void window_close(struct window *window)
{
    if (window->wake >= 0)
        close(window->wake);
    window->wake = -1;
}

static void window_call_collector(struct window *window)
{
    uint64_t one = 1;
    if (window->wake >= 0 && write(window->wake, &one, sizeof one) < 0)
        return; /* the counter is full, so the collector wakes up anyway */
}

void window_hear(struct window *window)
{
    uint64_t calls;
    if (window->wake >= 0 && read(window->wake, &calls, sizeof calls) < 0)
        return; /* there were none */
}

void window_begin(struct window *window, uint64_t now_ns)
{
    uint64_t none = 0;
    if (atomic_compare_exchange_strong(&window->began_ns, &none, now_ns))
        window_call_collector(window);
}

int window_left_ms(const struct window *window, uint64_t now_ns)
{
    uint64_t began = atomic_load(&window->began_ns);
    if (!window->for_ns || !began)
        return -1;
    uint64_t age = now_ns > began ? now_ns - began : 0;
    if (age >= window->for_ns)
        return 0;
    uint64_t left_ms = (window->for_ns - age - 1) / 1000000 + 1;
    return left_ms < INT_MAX ? (int)left_ms : INT_MAX;
}

void window_end(struct window *window, enum window_end end)
{
    uint32_t none = WINDOW_GOES_ON;
    if (atomic_compare_exchange_strong(&window->end, &none, end))
        window_call_collector(window);
}

/* ---- The gate ---- */

void window_gate_init(struct window_gate *gate, struct window *window)
{
    *gate = (struct window_gate){.window = window};
    gate->state = window && window->start_on ? GATE_BEFORE : GATE_OPEN;
}

static bool window_is_meant(const struct window_gate *gate, const char *name)
{
    const char *pattern = gate->state == GATE_BEFORE ? gate->window->start_on
                          : gate->state == GATE_OPEN ? gate->window->until
                                                     : NULL;
    return pattern && (!strcmp(pattern, name) || !fnmatch(pattern, name, 0));
}

/* The name of a record that is a mark; else NULL. Pauses have no name. Snapshots have one, and
 * count as marks. */
static const char *window_name_of_mark(const struct window_gate *gate, uint64_t word0)
{
    uint64_t value = word0 & WIRE_ADDRESS_MASK;
    uint32_t number = (uint32_t)value;
    if ((wire_kind(word0) & ~(unsigned)WIRE_FAILED) != WIRE_MARK || !number)
        return NULL;
    return gate->name_of(gate->context, number);
}

uint32_t window_gate_scan(const struct window_gate *gate, const void *records, uint32_t bytes,
                          const char **mark, uint64_t *ticks)
{
    const char *at = records;
    *mark = NULL;
    for (uint32_t offset = 0; offset + 16 <= bytes;) {
        uint64_t words[2];
        memcpy(words, at + offset, sizeof words);
        const char *name = window_name_of_mark(gate, words[0]);
        if (name && window_is_meant(gate, name)) {
            *mark = name;
            *ticks = words[1];
            return offset;
        }
        offset += wire_record_bytes(words[0]);
    }
    return bytes;
}

uint32_t window_gate_in_time(const struct window_gate *gate, const void *records, uint32_t bytes)
{
    const char *at = records;
    uint32_t offset = 0;
    while (gate->end_ticks && gate->state == GATE_OPEN && offset + 16 <= bytes) {
        uint64_t words[2];
        memcpy(words, at + offset, sizeof words);
        if (words[1] >= gate->end_ticks)
            return offset;
        offset += wire_record_bytes(words[0]);
    }
    return bytes;
}

void window_gate_time_out(struct window_gate *gate)
{
    gate->state = GATE_SHUT;
    gate->ticks = gate->end_ticks;
}

void window_gate_turn(struct window_gate *gate, const char *mark, uint64_t ticks)
{
    if (gate->state == GATE_BEFORE) {
        gate->state = GATE_OPEN;
    } else {
        gate->state = GATE_SHUT;
        gate->ticks = ticks;
    }
    gate->changed(gate->context, mark, ticks);
}
