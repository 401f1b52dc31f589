/* padded_types: structures with holes and padding, ten of each. The program prints what it knows of them by
 * its own offsets: name, size, holes, bytes in them, bytes behind the last member. */
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#define APART __attribute__((noinline, noclone))

struct loose {
    char kind;
    long number;
    short middle;
    int more;
    char last;
};
struct tight {
    long number;
    int more, most;
};
struct outer {
    char kind;
    loose inner; /* its holes are its own */
    short last;
};
struct open_end {
    char kind;
    int count;
    char bytes[];
};
struct bits {
    unsigned first : 3, second : 5;
    char character;
    long number;
    unsigned last : 1;
};
struct empty {};
struct has_empty : empty {
    long number;
    char last;
};
struct shape {
    virtual ~shape();
    virtual double area() const;
    char kind;
};
struct circle : shape { /* lies in the base's padding */
    int radius;
    char last;
    static int count;
    double area() const override;
};
shape::~shape() = default;
double shape::area() const
{
    return 0;
}
double circle::area() const
{
    return radius;
}
int circle::count;

void *kept[1000];
size_t kept_count;

static void keep(void *made)
{
    kept[kept_count++] = made;
}

#define HOLE(type, member, end)                                                                       \
    (offsetof(type, member) > (end) ? (holes++, bytes += offsetof(type, member) - (end)) : 0)
#define END(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

static void tell(const char *name, size_t size, size_t holes, size_t bytes, size_t padding)
{
    printf("%s %zu %zu %zu %zu\n", name, size, holes, bytes, padding);
}

template <class Type> APART static void make()
{
    for (int i = 0; i < 10; i++) {
        Type *made = (Type *)malloc(sizeof(Type) + (sizeof(Type) == sizeof(open_end) ? 5 : 0));
        keep(made);
    }
}

APART static void make_circles()
{
    for (int i = 0; i < 10; i++)
        keep(new circle);
}

int main()
{
    size_t holes = 0, bytes = 0;
    make<loose>(), make<tight>(), make<outer>(), make<open_end>(), make<bits>(), make<has_empty>();
    make_circles();
    HOLE(loose, number, END(loose, kind)), HOLE(loose, middle, END(loose, number));
    HOLE(loose, more, END(loose, middle)), HOLE(loose, last, END(loose, more));
    tell("loose", sizeof(loose), holes, bytes, sizeof(loose) - END(loose, last));
    tell("tight", sizeof(tight), 0, 0, sizeof(tight) - END(tight, most));
    holes = bytes = 0;
    HOLE(outer, inner, END(outer, kind)), HOLE(outer, last, END(outer, inner));
    tell("outer", sizeof(outer), holes, bytes, sizeof(outer) - END(outer, last));
    holes = bytes = 0;
    HOLE(open_end, count, END(open_end, kind));
    HOLE(open_end, bytes, END(open_end, count));
    tell("open_end", sizeof(open_end), holes, bytes, sizeof(open_end) - offsetof(open_end, bytes));
    holes = bytes = 0;
    HOLE(bits, number, END(bits, character));
    tell("bits", sizeof(bits), holes, bytes, sizeof(bits) - END(bits, number) - 1);
    tell("has_empty", sizeof(has_empty), 0, 0, sizeof(has_empty) - END(has_empty, last));
    holes = bytes = 0;
    HOLE(circle, last, END(circle, radius));
    tell("circle", sizeof(circle), holes, bytes, sizeof(circle) - END(circle, last));
    return 0;
}
