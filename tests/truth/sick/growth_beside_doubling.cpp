// truth: sick
// what: one text grows by 100 bytes at a time, beside many vectors that double
// expect: realloc-constant-growth
#include "truth.h"
#include <vector>

static char *output;
static size_t room, length;

NOINLINE static void output_put(const char *text)
{
    size_t more = strlen(text);
    while (length + more >= room)
        output = static_cast<char *>(realloc(output, room += 100)); // guilty: output_put
    memcpy(output + length, text, more + 1);
    length += more;
}

NOINLINE static size_t words_split(int i)
{
    std::vector<int> words;
    for (int k = 0; k < i % 500; k++)
        words.push_back(k);
    return words.size();
}

int main()
{
    size_t sum = 0;
    for (int i = 0; i < 20000; i++) {
        output_put("a line of the output that is some 60 characters long, or so\n");
        sum += words_split(i);
    }
    printf("%zu\n", sum);
    free(output);
}
