/* The memory of a prediction model: 26 MB, of which a short block touches little. It is mapped, not
 * allocated, so that what is not touched costs nothing: calloc() would clear all of it wherever the
 * C library has memory of that size left. It ends at a page that nobody may touch. */
#include "trace/prediction.h"

#include <sys/mman.h>
#include <unistd.h>

static size_t prediction_page(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Of the pages before that last one. */
static size_t prediction_pages_bytes(void)
{
    return (sizeof(struct prediction) + prediction_page() - 1) & ~(prediction_page() - 1);
}

struct prediction *prediction_make(void)
{
    size_t bytes = prediction_pages_bytes(), all = bytes + prediction_page();
    char *pages = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (pages == MAP_FAILED)
        return NULL;
    if (mprotect(pages + bytes, prediction_page(), PROT_NONE)) {
        munmap(pages, all);
        return NULL;
    }
    return (struct prediction *)(pages + bytes - sizeof(struct prediction));
}

void prediction_free(struct prediction *model)
{
    size_t bytes = prediction_pages_bytes();

    if (model)
        munmap((char *)model + sizeof *model - bytes, bytes + prediction_page());
}
