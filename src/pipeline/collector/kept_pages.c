/* Direct-mapped: the page with number n lies in place n % KEPT_PAGES (kept_pages.h). Neighbouring
 * pages, where the types of an interpreter lie, do not push each other out. */
#include "collector/kept_pages.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE_BYTES = 4096 };

/* The place of the page with that number, which is read if it is another's. */
static size_t kept_pages_place(struct kept_pages *kept, const struct block_types_memory *memory,
                               uint64_t number)
{
    size_t place = number % KEPT_PAGES;
    if (kept->number_plus_1[place] == number + 1)
        return place;
    kept->number_plus_1[place] = number + 1;
    kept->got[place] = (uint32_t)memory->read(memory->context, number * PAGE_BYTES,
                                              kept->bytes + place * PAGE_BYTES, PAGE_BYTES);
    return place;
}

size_t kept_pages_read(struct kept_pages *kept, const struct block_types_memory *memory,
                       uint64_t address, void *to, size_t bytes)
{
    size_t done = 0;
    if (!kept->bytes && !(kept->bytes = malloc((size_t)KEPT_PAGES * PAGE_BYTES)))
        return memory->read(memory->context, address, to, bytes);
    while (done < bytes) {
        size_t place = kept_pages_place(kept, memory, (address + done) / PAGE_BYTES);
        size_t from = (address + done) % PAGE_BYTES, wanted = bytes - done;
        size_t there = kept->got[place] > from ? kept->got[place] - from : 0;
        size_t part = wanted < there ? wanted : there;
        memcpy((char *)to + done, kept->bytes + place * PAGE_BYTES + from, part);
        done += part;
        if (part < wanted && from + part < PAGE_BYTES)
            break; /* the page ends here */
    }
    return done;
}

void kept_pages_release(struct kept_pages *kept)
{
    free(kept->bytes);
    kept->bytes = NULL;
}
