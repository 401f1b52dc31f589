/* Wrote tests/golden/profile-v*: as packed, as recorded, and as unpacked. Run it only for a new
 * version of the format, under new names: old golden files stay. (Of version 1 there are only the
 * first two.) */
#include <stdio.h>
#include "sample.h"

int main(int argc, char **argv)
{
    if (argc != 4) {
        fputs("Usage: make_golden PACKED PLAIN UNPACKED\n", stderr);
        return 2;
    }
    if (sample_file(argv[1], true) || sample_file(argv[2], false) ||
        profile_unpack(argv[1], argv[3])) {
        fprintf(stderr, "%s\n", profile_error());
        return 1;
    }
    return 0;
}
