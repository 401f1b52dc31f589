// truth: sick
// what: the state of resolving a URN owns a reply that its destructor does not free
// real: Squid before 4.15, CVE-2021-28651: the URN parser leaks at each request
// expect: leak-lost leak-growth
// wrapper: xcalloc memAllocate
#include "truth.h"

NOINLINE static void *xcalloc(size_t count, size_t size)
{
    void *block = calloc(count, size);
    if (!block)
        abort();
    return block;
}

struct Reply {
    char text[900];
};

struct UrnState {
    Reply *reply = nullptr;
    char *host = nullptr;
    NOINLINE void setUriResFromRequest(int i)
    {
        host = static_cast<char *>(xcalloc(1, 120));
        snprintf(host, 120, "urn.host.%d", i);
    }
    NOINLINE void createReply(int i)
    {
        reply = static_cast<Reply *>(xcalloc(1, sizeof *reply)); // guilty: createReply
        reply->text[i % 900] = 1;
    }
    NOINLINE ~UrnState()
    {
        free(host);
    }
};

NOINLINE static void urnStart(int i)
{
    UrnState state;
    state.setUriResFromRequest(i);
    state.createReply(i);
    use(&state);
}

int main()
{
    for (int i = 0; i < 10000; i++) {
        urnStart(i);
        pace(i, 20);
    }
}
