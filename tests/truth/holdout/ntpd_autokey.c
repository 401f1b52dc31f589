/* truth: sick
 * what: each crypto association packet leaves the extension field behind that was verified
 * real: ntpd before 4.2.8p4, CVE-2015-7701: memory leak in CRYPTO_ASSOC
 * expect: leak-lost leak-growth
 * wrapper: emalloc ereallocz
 * run: service idle 0.4; ask 5000; idle 0.8 */
#include "truth.h"

NOINLINE static void *ereallocz(void *block, size_t size)
{
    block = realloc(block, size);
    if (!block)
        exit(1);
    memset(block, 0, size);
    return block;
}

NOINLINE static void *emalloc(size_t size)
{
    char *block = ereallocz(NULL, size);
    block[0] = 1;
    return block;
}

NOINLINE static void crypto_assoc(const char *packet)
{
    char *value = emalloc(220); /* guilty: crypto_assoc */
    snprintf(value, 220, "%s", packet);
    use(value);
}

NOINLINE static void clock_filter(const char *packet)
{
    char *sample = emalloc(64);
    snprintf(sample, 64, "%.50s", packet);
    use(sample);
    free(sample);
}

int main(void)
{
    char line[200];
    while (fgets(line, sizeof line, stdin)) {
        clock_filter(line);
        crypto_assoc(line);
    }
    return 0;
}
