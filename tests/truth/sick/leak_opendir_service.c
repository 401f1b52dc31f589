/* truth: sick
 * what: a service that idles, works and idles leaves a directory open if a request asks for a file that is not there
 * expect: leak-lost leak-growth leak-possible
 * run: service idle 0.6; ask 900; idle 0.8 */
#include "truth.h"
#include <dirent.h>

NOINLINE static int file_find(const char *name)
{
    DIR *directory = opendir("/"); /* guilty: file_find */
    if (!directory)
        return -1;
    for (struct dirent *entry = readdir(directory); entry; entry = readdir(directory))
        if (!strcmp(entry->d_name, name)) {
            closedir(directory);
            return 1;
        }
    return 0; /* and the directory stays open */
}

int main(void)
{
    char line[200];
    int found = 0;
    while (fgets(line, sizeof line, stdin)) {
        char *copy = strdup(line);
        found += file_find(strlen(copy) % 4 ? "no such file" : "tmp");
        free(copy);
    }
    printf("%d\n", found);
    return 0;
}
