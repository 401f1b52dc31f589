// lost_cxx CASE: as lost.c, what C++ makes of pointers.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#define APART __attribute__((noinline, noclone))

void *place;

APART static void scrub()
{
    volatile char frame[16384];
    for (size_t i = 0; i < sizeof frame; i++)
        frame[i] = 0;
}

struct Counted { // with a destructor: new Counted[n] keeps n in front
    ~Counted()
    {
        place = nullptr;
    }
    long value[3];
};
struct First {
    virtual ~First()
    {
    }
    long first = 1;
};
struct Second {
    virtual ~Second()
    {
    }
    long second = 2;
};
struct Both : First, Second {
    long both = 3;
};
struct Link {
    std::shared_ptr<Link> next;
    long value = 0;
};

APART static void array_with_count()
{
    place = new Counted[7];
}
APART static void array_lost()
{
    std::memset(static_cast<void *>(new Counted[7]), 0, 7 * sizeof(Counted));
}
APART static void second_base()
{
    place = static_cast<Second *>(new Both);
}
APART static void vector_of_strings()
{
    auto *all = new std::vector<std::string>;
    for (int i = 0; i < 20; i++)
        all->push_back(std::string(40 + i, 'x'));
    place = all;
}
APART static void vector_of_strings_lost()
{
    auto *all = new std::vector<std::string>;
    all->reserve(20);
    for (int i = 0; i < 20; i++)
        all->push_back(std::string(40 + i, 'x'));
}
APART static void shared_ring()
{
    auto first = std::make_shared<Link>(), second = std::make_shared<Link>();
    first->next = second;
    second->next = first;
}
APART static void released()
{
    std::unique_ptr<Link>(new Link).release();
}
static std::map<int, std::string> names;
APART static void map_of_strings()
{
    for (int i = 0; i < 50; i++)
        names[i] = std::string(60, 'y');
}
std::list<long> *numbers;
APART static void list_lost()
{
    numbers = new std::list<long>;
    for (int i = 0; i < 10; i++)
        numbers->push_back(i);
    numbers = nullptr;
}

static const struct {
    const char *name;
    void (*run)();
} cases[] = {
#define CASE(name)                                                                                 \
    {                                                                                              \
#name, name                                                                                \
    }
    CASE(array_with_count),
    CASE(array_lost),
    CASE(second_base),
    CASE(vector_of_strings),
    CASE(vector_of_strings_lost),
    CASE(shared_ring),
    CASE(released),
    CASE(map_of_strings),
    CASE(list_lost),
};

int main(int count, char **words)
{
    for (auto &each : cases)
        if (count > 1 && !std::strcmp(words[1], each.name)) {
            each.run();
            scrub();
            std::quick_exit(0); // destructors of variables do not run
        }
    for (auto &each : cases)
        std::puts(each.name);
    return 2;
}
