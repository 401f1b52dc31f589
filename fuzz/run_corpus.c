/* Gives each file named on the command line to a fuzz entry, once: so the corpora are part of the
 * ordinary test run, whatever the compiler. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = NULL;
    size_t size = 0, got;

    if (!file) {
        perror(path);
        return 1;
    }
    do {
        uint8_t *grown = realloc(data, size + 65536);
        if (!grown)
            abort();
        data = grown;
        size += got = fread(data + size, 1, 65536, file);
    } while (got);
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 0;
}

int main(int argc, char **argv)
{
    int failed = argc < 2;

    for (int i = 1; i < argc; i++)
        failed |= run_file(argv[i]);
    printf("%d inputs\n", argc - 1);
    return failed;
}
