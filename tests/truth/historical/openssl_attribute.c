/* truth: sick
 * what: a malformed attribute leaves the value behind that was decoded before it
 * real: OpenSSL before 1.0.2e, CVE-2015-3195: the decoder of X509_ATTRIBUTE leaks on bad input
 * expect: leak-lost leak-growth
 * wrapper: CRYPTO_malloc asn1_string_new */
#include "truth.h"

struct string {
    int length;
    unsigned char data[500];
};

struct attribute {
    struct string *object, *value;
};

NOINLINE static void *CRYPTO_malloc(size_t size)
{
    void *block = malloc(size);
    if (!block)
        abort();
    return block;
}

NOINLINE static struct string *asn1_string_new(int length)
{
    struct string *string = CRYPTO_malloc(sizeof *string);
    string->length = length;
    return string;
}

NOINLINE static int attribute_decode(struct attribute *attribute, int i)
{
    attribute->object = asn1_string_new(i);
    attribute->value = asn1_string_new(i + 1); /* guilty: attribute_decode */
    use(attribute->value);
    if (i % 3 == 0) {
        free(attribute->object); /* and not the value */
        return -1;
    }
    return 0;
}

int main(void)
{
    for (int i = 0; i < 15000; i++) {
        struct attribute attribute;
        if (!attribute_decode(&attribute, i)) {
            free(attribute.object);
            free(attribute.value);
        }
        pace(i, 30);
    }
    return 0;
}
