/* Canaries (hard.h). The last 8 bytes of a block hold its size, mixed with the block's address and
 * a secret. Up to 64 bytes of the padding hold one known byte. A free computes both again and
 * aborts when they differ. */
#include "bfm/hard.h"
#include <string.h>
#include "bfm/chunk.h"
#include "bfm/bfm_options.h"
#include "bfm/os.h"

/* At most so many bytes of padding are verified: all of it, except in mappings of their own. */
enum { PADDING = 64, PAD_BYTE = 0xa5 };

size_t hard_extra(void)
{
    return options.canary ? sizeof(uint64_t) : 0;
}

static uint64_t hard_seal_of(const void *block, size_t bytes)
{
    return (((uintptr_t)block ^ bfm_secret) * 0xD6E8FEB86659FD93ull) ^ bytes;
}

static size_t hard_padding_of(size_t usable, size_t bytes)
{
    size_t padding = usable - sizeof(uint64_t) - bytes;

    return padding < PADDING ? padding : PADDING;
}

void hard_seal(void *block, size_t usable, size_t bytes)
{
    uint64_t seal = hard_seal_of(block, bytes);

    if (!options.canary)
        return;
    memset((char *)block + bytes, PAD_BYTE, hard_padding_of(usable, bytes));
    memcpy((char *)block + usable - sizeof seal, &seal, sizeof seal);
}

size_t hard_asked(const void *block, size_t usable)
{
    uint64_t seal, bytes;

    memcpy(&seal, (const char *)block + usable - sizeof seal, sizeof seal);
    bytes = seal ^ hard_seal_of(block, 0);
    return bytes > usable - sizeof seal ? usable : bytes;
}

size_t hard_verify(const void *block, size_t usable)
{
    const unsigned char *at = block;
    uint64_t seal, bytes;

    if (!options.canary)
        return usable;
    memcpy(&seal, at + usable - sizeof seal, sizeof seal);
    bytes = seal ^ hard_seal_of(block, 0);
    if (bytes > usable - sizeof seal)
        os_fatal("what lies behind this block was overwritten", block);
    for (size_t i = 0; i < hard_padding_of(usable, bytes); i++)
        if (at[bytes + i] != PAD_BYTE)
            os_fatal("what lies behind this block was overwritten", block);
    return bytes;
}
