/* truth: sick
 * what: the buffer is freed on every way out but that of a bad checksum, one call in twelve
 * expect: leak-lost leak-growth
 * flags: -O2 */
#include "truth.h"

NOINLINE static int packet_read(int i)
{
    unsigned char *buffer = malloc(1500); /* guilty: packet_read */
    memset(buffer, i, 1500);
    use(buffer);
    if (buffer[3] % 12 == 5)
        return -1;
    if (i % 5 == 0) {
        free(buffer);
        return 0;
    }
    int size = buffer[4];
    free(buffer);
    return size;
}

int main(void)
{
    int sum = 0;
    for (int i = 0; i < 30000; i++) {
        sum += packet_read(i);
        pace(i, 60);
    }
    printf("%d\n", sum);
    return 0;
}
