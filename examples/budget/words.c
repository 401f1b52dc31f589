/* Counts the different words of a file. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct words {
    char **words;
    size_t count, capacity;
};

static void add_word(struct words *to, const char *word)
{
    for (size_t i = 0; i < to->count; i++)
        if (!strcmp(to->words[i], word))
            return;
    if (to->count == to->capacity) {
        to->capacity = to->capacity ? 2 * to->capacity : 16;
        to->words = realloc(to->words, to->capacity * sizeof *to->words);
    }
    to->words[to->count++] = strdup(word);
}

int main(int argc, char **argv)
{
    FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
    struct words words = {0};
    char word[100];
    if (!file) {
        fprintf(stderr, "words: give a file that can be read\n");
        return 2;
    }
    while (fscanf(file, "%99s", word) == 1)
        add_word(&words, word);
    fclose(file);
    printf("%zu words\n", words.count);
    for (size_t i = 0; i < words.count; i++)
        free(words.words[i]);
    free(words.words);
    return 0;
}
