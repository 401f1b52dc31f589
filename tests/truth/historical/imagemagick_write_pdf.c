/* truth: sick
 * what: the table of cross references is not freed if a page cannot be written
 * real: ImageMagick before 7.0.8-25, CVE-2019-7397: WritePDFImage leaks memory
 * expect: leak-lost leak-growth
 * wrapper: AcquireQuantumMemory AcquireMagickMemory */
#include "truth.h"

NOINLINE static void *AcquireMagickMemory(size_t size)
{
    return malloc(size ? size : 1);
}

NOINLINE static void *AcquireQuantumMemory(size_t count, size_t quantum)
{
    size_t size = count * quantum;
    void *block = AcquireMagickMemory(size);
    if (!block)
        abort();
    return block;
}

NOINLINE static void *RelinquishMagickMemory(void *block)
{
    free(block);
    return NULL;
}

NOINLINE static int WritePage(int i)
{
    unsigned char *pixels = AcquireQuantumMemory(60, 40);
    memset(pixels, i, 2400);
    use(pixels);
    RelinquishMagickMemory(pixels);
    return i % 2;
}

NOINLINE static int WritePDFImage(int i)
{
    long *xref = AcquireQuantumMemory(256, sizeof *xref); /* guilty: WritePDFImage */
    xref[i % 256] = i;
    use(xref);
    if (!WritePage(i))
        return 0;
    RelinquishMagickMemory(xref);
    return 1;
}

int main(void)
{
    int written = 0;
    for (int i = 0; i < 5000; i++) {
        written += WritePDFImage(i);
        pace(i, 10);
    }
    printf("%d\n", written);
    return 0;
}
