// filled: vectors, strings and hash tables that are more or less full, each kind made in a function of its
// own. Prints what each has: FUNCTION BLOCKS BYTES USED, by the containers' own words.
#include <cstdio>
#include <cstring>
#include <string>
#include <unistd.h>
#include <unordered_map>
#include <vector>

#define APART __attribute__((noinline, noclone))

static std::vector<double> *sparse[1000];
static std::vector<int> *full[100];
static std::vector<char> *grown[50];
static std::string *texts[200];
static std::unordered_map<int, long> *tables[20];
static struct window {
    char *begin, *cursor, *end;
} * buffers[20];

struct sums {
    size_t blocks, bytes, used;
};

static void tell(const char *name, struct sums sums)
{
    std::printf("%s %zu %zu %zu\n", name, sums.blocks, sums.bytes, sums.used);
}

template <typename T> static void add(struct sums &sums, const std::vector<T> &vector)
{
    sums.blocks++;
    sums.bytes += vector.capacity() * sizeof(T);
    sums.used += vector.size() * sizeof(T);
}

APART static void make_sparse()
{
    struct sums sums = {};
    for (int i = 0; i < 1000; i++) {
        sparse[i] = new std::vector<double>();
        sparse[i]->reserve(100);
        sparse[i]->resize(size_t(i) % 21);
        add(sums, *sparse[i]);
    }
    tell("make_sparse", sums);
}

APART static void make_full()
{
    struct sums sums = {};
    for (auto &vector : full) {
        vector = new std::vector<int>(1000, 7);
        add(sums, *vector);
    }
    tell("make_full", sums);
}

APART static void make_grown()
{
    struct sums sums = {};
    for (int i = 0; i < 50; i++) {
        grown[i] = new std::vector<char>();
        for (int k = 0; k < 70 + i; k++)
            grown[i]->push_back(char(k));
        add(sums, *grown[i]);
    }
    tell("make_grown", sums);
}

APART static void make_texts()
{
    struct sums sums = {};
    for (int i = 0; i < 200; i++) {
        texts[i] = new std::string();
        texts[i]->reserve(300);
        texts[i]->append(size_t(i), 'x');
        sums.blocks++;
        sums.bytes += texts[i]->capacity() + 1;
        sums.used += texts[i]->size() + 1;
    }
    tell("make_texts", sums);
}

APART static void make_tables()
{
    struct sums sums = {};
    for (int i = 0; i < 20; i++) {
        tables[i] = new std::unordered_map<int, long>();
        tables[i]->reserve(1000);
        for (int k = 0; k < 100 * i; k++)
            (*tables[i])[k] = k;
        size_t buckets = tables[i]->bucket_count(), count = tables[i]->size();
        sums.blocks++;
        sums.bytes += buckets * sizeof(void *);
        sums.used += (count < buckets ? count : buckets) * sizeof(void *);
    }
    tell("make_tables", sums);
}

// Nobody's vectors, but they look like some.
APART static void make_buffers()
{
    struct sums sums = {};
    for (auto &buffer : buffers) {
        buffer = new window();
        buffer->begin = static_cast<char *>(std::malloc(4096));
        buffer->cursor = buffer->begin + 96;
        buffer->end = buffer->begin + 4096;
        sums.blocks++;
        sums.bytes += 4096;
        sums.used += 96;
    }
    tell("make_buffers", sums);
}

// Numbers that fit nothing, beside pointers.
APART static void make_pairs()
{
    struct pair {
        size_t number;
        void *block;
        size_t other;
    };
    static pair *pairs[100];
    for (size_t i = 0; i < 100; i++) {
        pairs[i] = new pair{i + 1, std::calloc(i + 1, 48), i / 2};
        static_cast<void **>(pairs[i]->block)[0] = pairs[i];
    }
}

int main(int argc, char **)
{
    make_sparse();
    make_full();
    make_grown();
    make_texts();
    make_tables();
    make_buffers();
    make_pairs();
    if (argc > 1)
        std::printf("pid %d\n", int(getpid()));
    std::fflush(stdout);
    if (argc > 1)
        (void)!read(0, sparse[0], 1);
    return 0;
}
