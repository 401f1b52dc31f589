/* truth: sick
 * what: each renegotiation adds the OCSP responder ids of the client to the session's list
 * real: OpenSSL before 1.1.0a, CVE-2016-6304: ids of an earlier handshake are kept, growth without bound
 * expect: leak-lost leak-growth grew-until-teardown
 * wrapper: CRYPTO_malloc OPENSSL_malloc
 * small: yes */
#include "truth.h"

struct responder {
    struct responder *next;
    unsigned char id[2000];
};

static struct responder *session_ids;

NOINLINE static void *CRYPTO_malloc(size_t size)
{
    void *block = malloc(size);
    if (!block)
        abort();
    return block;
}

NOINLINE static void ocsp_ids_parse(const unsigned char *hello)
{
    struct responder *id = CRYPTO_malloc(sizeof *id); /* guilty: ocsp_ids_parse */
    memcpy(id->id, hello, sizeof id->id);
    id->next = session_ids;
    session_ids = id;
}

NOINLINE static void handshake(int i)
{
    unsigned char *hello = CRYPTO_malloc(2000);
    memset(hello, i, 2000);
    ocsp_ids_parse(hello);
    free(hello);
}

int main(void)
{
    for (int i = 0; i < 6000; i++) {
        handshake(i);
        pace(i, 8);
    }
    return session_ids == NULL;
}
