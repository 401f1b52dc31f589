/* Wrote tests/golden/profile-v1.tmk and profile-v1.plain.tmk. Run it only for a new version of the
 * format, under a new name: old golden files stay. */
#include <stdio.h>
#include "sample.h"

int main(int argc, char **argv)
{
    if (argc != 3) {
        fputs("Usage: make_golden PACKED PLAIN\n", stderr);
        return 2;
    }
    if (sample_file(argv[1], true) || sample_file(argv[2], false)) {
        fprintf(stderr, "%s\n", profile_error());
        return 1;
    }
    return 0;
}
