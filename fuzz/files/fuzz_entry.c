/* Any bytes as a process's entry in a job's directory: refused, or an entry that comes back from
 * its own text the same. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "jobdir/entry.h"
#include "fuzz.h"

static void check(const struct entry *entry)
{
    must(entry->job && !strchr(entry->job, '/') && entry->profile && !strchr(entry->profile, '/'));
    must(!entry->trace || !strchr(entry->trace, '/'));
    must(entry->pid > 0 && entry->rank >= -1 && entry->rank <= INT32_MAX);
    must(entry->ranks == -1 || entry->rank < entry->ranks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct entry entry, again;
    struct strbuf text = STRBUF_INIT, second = STRBUF_INIT;
    char *bytes = malloc(size ? size : 1); /* its own block, so that sanitizers see its ends */
    if (size)
        memcpy(bytes, data, size);
    if (entry_parse(&entry, bytes, size) == 0) {
        check(&entry);
        entry_format(&entry, &text);
        must(entry_parse(&again, text.data, text.length) == 0);
        entry_format(&again, &second);
        must(strcmp(text.data, second.data) == 0);
        entry_release(&again);
    }
    entry_release(&entry);
    strbuf_release(&text);
    strbuf_release(&second);
    free(bytes);
    return 0;
}
