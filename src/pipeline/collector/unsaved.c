/* A table of fixed size; only its used pages take memory. The search for a free place begins behind
 * the last one taken. Processes beyond the table are only counted. The collector may have died
 * while it wrote a name, so names are read with a bound. */
#include "collector/unsaved.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include "base/text.h"

enum { PLACES = 4096, PROGRAM_BYTES = 48, PROGRAMS_NAMED = 4 };
#define PLACE_BEYOND UINT32_MAX

struct unsaved_place {
    _Atomic uint64_t since_unix_ns; /* 0: free */
    char program[PROGRAM_BYTES];    /* file name of the executable, perhaps cut */
};

struct unsaved {
    _Atomic uint32_t beyond; /* processes without a place */
    uint32_t next;           /* where the next place is looked for */
    struct unsaved_place places[PLACES];
};

struct unsaved *unsaved_map(void)
{
    struct unsaved *unsaved = mmap(NULL, sizeof *unsaved, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return unsaved == MAP_FAILED ? NULL : unsaved;
}

void unsaved_unmap(struct unsaved *unsaved)
{
    if (unsaved)
        munmap(unsaved, sizeof *unsaved);
}

/* ---- In the collector ---- */

uint32_t unsaved_begin(struct unsaved *unsaved, const char *program, uint64_t now_unix_ns)
{
    if (!unsaved)
        return 0;
    for (uint32_t tries = 0; tries < PLACES; tries++) {
        uint32_t at = (unsaved->next + tries) % PLACES;
        struct unsaved_place *place = &unsaved->places[at];
        if (atomic_load(&place->since_unix_ns))
            continue;
        snprintf(place->program, sizeof place->program, "%s", program ? program : "?");
        atomic_store(&place->since_unix_ns, now_unix_ns ? now_unix_ns : 1);
        /* The first places again and again: few pages are enough for a storm. */
        unsaved->next = at + 1 < 64 ? at + 1 : 0;
        return at + 1;
    }
    atomic_fetch_add(&unsaved->beyond, 1);
    return PLACE_BEYOND;
}

void unsaved_end(struct unsaved *unsaved, uint32_t place)
{
    if (!unsaved || !place)
        return;
    if (place == PLACE_BEYOND)
        atomic_fetch_sub(&unsaved->beyond, 1);
    else
        atomic_store(&unsaved->places[place - 1].since_unix_ns, 0);
}

/* ---- In record ---- */

static bool unsaved_is_taken(const struct unsaved *unsaved, uint32_t at)
{
    return atomic_load(&unsaved->places[at].since_unix_ns) != 0;
}

uint32_t unsaved_count(const struct unsaved *unsaved)
{
    uint32_t count = unsaved ? atomic_load(&unsaved->beyond) : 0;
    for (uint32_t at = 0; unsaved && at < PLACES; at++)
        count += unsaved_is_taken(unsaved, at);
    return count;
}

uint64_t unsaved_oldest(const struct unsaved *unsaved)
{
    uint64_t oldest = 0;
    for (uint32_t at = 0; unsaved && at < PLACES; at++) {
        uint64_t since = atomic_load(&unsaved->places[at].since_unix_ns);
        if (since && (!oldest || since < oldest))
            oldest = since;
    }
    return oldest;
}

static bool unsaved_same(const struct unsaved *unsaved, uint32_t a, uint32_t b)
{
    return strncmp(unsaved->places[a].program, unsaved->places[b].program, PROGRAM_BYTES) == 0;
}

/* How many places have the program of this one; 0: an earlier place has it, or this one is free. */
static uint32_t unsaved_alike(const struct unsaved *unsaved, uint32_t at)
{
    uint32_t count = 0;
    for (uint32_t other = 0; other < PLACES && unsaved_is_taken(unsaved, at); other++) {
        if (!unsaved_is_taken(unsaved, other) || !unsaved_same(unsaved, at, other))
            continue;
        if (other < at)
            return 0;
        count++;
    }
    return count;
}

void unsaved_add_programs(const struct unsaved *unsaved, struct strbuf *out)
{
    uint32_t named = 0, programs = 0, count = unsaved_count(unsaved);
    for (uint32_t at = 0; unsaved && at < PLACES && programs < PROGRAMS_NAMED; at++) {
        uint32_t alike = unsaved_alike(unsaved, at);
        if (!alike)
            continue;
        const char *program = unsaved->places[at].program;
        strbuf_add_string(out, programs++ ? ", " : "");
        text_add_safe(out, program, strnlen(program, PROGRAM_BYTES));
        if (alike > 1)
            strbuf_addf(out, " %u", alike);
        named += alike;
    }
    if (named < count)
        strbuf_addf(out, "%s%u more", named ? ", and " : "", count - named);
}
