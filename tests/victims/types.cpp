// types: makes known numbers of things of known types, each in a function that is named after the
// type. All but `freed` stay alive to the end.
#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

#define APART __attribute__((noinline, noclone))

struct Plain {
    long value[3];
};
struct Shape {
    virtual ~Shape()
    {
    }
    long area = 1;
};
struct Circle : Shape {
    long radius[2] = {2, 3};
};
struct Owner { // whose constructor allocates
    char *memory = new char[100];
};
namespace deep
{
template <typename T> struct Box {
    virtual ~Box()
    {
    }
    T inside[4] = {};
};
} // namespace deep

void *kept[4096];
static size_t kept_count;

template <typename T> static T *keep(T *thing)
{
    kept[kept_count++] = thing;
    return thing;
}

APART static void make_vector_of_double()
{
    keep(new std::vector<double>())->reserve(1000);
}

APART static void make_list_of_plain()
{
    auto *list = keep(new std::list<Plain>());
    for (int i = 0; i < 100; i++)
        list->push_back(Plain());
}

APART static void make_circle()
{
    for (int i = 0; i < 50; i++)
        keep(new Circle());
}

APART static void make_box()
{
    for (int i = 0; i < 20; i++)
        keep(new deep::Box<int>());
}

APART static void make_shared_shape()
{
    for (int i = 0; i < 30; i++)
        keep(new std::shared_ptr<Shape>(std::make_shared<Shape>()));
}

APART static void make_unique_owner()
{
    for (int i = 0; i < 10; i++)
        keep(std::make_unique<Owner>().release());
}

APART static void make_string()
{
    keep(new std::string(1000, 'x'));
}

APART static void make_freed_circle() // one call path: its type is known by those that live
{
    for (int i = 0; i < 40; i++) {
        Shape *shape = new Circle();
        if (i % 2)
            delete shape;
        else
            keep(shape);
    }
}

// ---- What has no type ----

APART static void make_mixed()
{
    for (int i = 0; i < 40; i++) {
        void *memory = malloc(sizeof(Circle));
        if (i % 2)
            keep(new (memory) Circle());
        else
            keep(new (memory) Shape());
    }
}

APART static void make_bytes()
{
    for (int i = 0; i < 40; i++)
        memset(keep(static_cast<char *>(malloc(64))), 'b', 64);
}

APART static void make_leftovers() // what an array of shapes leaves behind is no shape
{
    auto *shapes = new Circle[64];
    kept[0] = shapes; // so that it is made
    delete[] shapes;
    for (int i = 0; i < 32; i++)
        static_cast<char *>(keep(malloc(sizeof(Circle))))[0] = 'x';
}

int main()
{
    kept_count = 1;
    make_vector_of_double();
    make_list_of_plain();
    make_circle();
    make_box();
    make_shared_shape();
    make_unique_owner();
    make_string();
    make_freed_circle();
    make_mixed();
    make_bytes();
    make_leftovers();
    return 0;
}
