// truth: healthy
// what: a result is built all through the run, written, and freed: that is what the program is for
#include "truth.h"
#include <memory>
#include <vector>

struct Row {
    char text[400];
};

int main()
{
    std::vector<std::unique_ptr<Row>> result;
    for (int i = 0; i < 3000; i++) {
        result.push_back(std::make_unique<Row>());
        memset(result.back()->text, 'a' + i % 26, sizeof(Row));
        pace(i, 12);
    }
    FILE *out = fopen("/dev/null", "w");
    for (int round = 0; round < 200; round++) {
        for (auto &row : result)
            fwrite(row->text, 1, sizeof(Row), out);
        pause_ms(1);
    }
    fclose(out);
}
