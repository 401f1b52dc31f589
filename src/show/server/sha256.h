/* SHA-256 (FIPS 180-4): a page's policy names its one script by it. */
#ifndef TIDEMARK_SERVER_SHA256_H
#define TIDEMARK_SERVER_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32 };
void sha256(const void *bytes, size_t count, uint8_t digest[SHA256_BYTES]);

#endif
