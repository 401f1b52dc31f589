/* What is made of calls' results by constructors, inlined and called, also of classes that look like their
 * base. */
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <memory>
#include <vector>
#define APART __attribute__((noinline, noclone))
namespace ns
{
struct Point {
    double x, y, z;
    Point(double a) : x(a), y(a), z(0)
    {
    }
};
struct Name {
    std::string text;
    int number;
    APART Name(const char *t, int n);
};
APART Name::Name(const char *t, int n) : text(t), number(n)
{
}
struct Base {
    virtual ~Base()
    {
    }
    long a = 1;
};
struct Derived : Base {
    long b = 2;
    Derived()
    {
        b = 3;
    }
};
struct Same : Base {
    Same()
    {
        a = 9;
    }
};
struct Plain {
    int a[6];
};
struct Shape {
    virtual ~Shape()
    {
    }
};
struct Circle : Shape {
    double radius;
    char color = 1;
    int count = 2;
    Circle(double r) : radius(r)
    {
    }
};
struct Node {
    std::string path;
    long bits;
    void *edge = nullptr;
    int id = -1, users = 0;
    Node(const std::string &of, long with) : path(of), bits(with)
    {
    }
};
} // namespace ns
void *kept[64];
int count;
APART void keep(void *p)
{
    kept[count++ % 64] = p;
}
APART void inlined(double d)
{
    ns::Point *p = new ns::Point(d);
    keep(p);
}
APART void called(int n)
{
    auto *p = new ns::Name("x", n);
    keep(p);
}
APART void as_base()
{
    ns::Base *b = new ns::Derived;
    keep(b);
}
APART void as_same()
{
    ns::Base *b = new ns::Same;
    keep(b);
}
APART void plain()
{
    auto *p = new ns::Plain;
    p->a[0] = 1;
    keep(p);
}
APART void array(int n)
{
    int *p = new int[n];
    p[0] = 1;
    keep(p);
}
APART void unique()
{
    auto p = std::unique_ptr<ns::Point>(new ns::Point(2));
    keep(p.release());
}
/* The constructor's instructions stand between those of the vector and those of the loop. */
APART void mixed()
{
    std::vector<std::unique_ptr<ns::Shape>> shapes;
    shapes.reserve(8);
    for (int i = 0; i < 5; i++)
        shapes.emplace_back(new ns::Circle(i));
    for (auto &shape : shapes)
        keep(shape.release());
}
/* A text is made between the allocation and the constructor, in two ways, one of which comes back. */
APART ns::Node *beside(const char *text, size_t bytes, long bits)
{
    auto *node = new ns::Node(text ? std::string(text, bytes) : std::string(), bits);
    keep(node);
    return node;
}
struct Apple {
    long seeds[8];
    APART Apple(long n)
    {
        seeds[0] = seeds[7] = n;
    }
};
struct Berry {
    long stones[8];
    Berry(long n)
    {
        stones[1] = n;
        stones[2] = 3 * n;
    }
};
/* No type is certain: one way calls a constructor, the other has one inlined. */
APART void one_of_two(int kind)
{
    void *block = malloc(64);
    if (!block)
        return;
    if (kind > 3)
        keep(new (block) Apple(kind));
    else
        keep(new (block) Berry(5 * kind));
}
int main()
{
    for (int i = 0; i < 5; i++) {
        one_of_two(i);
        inlined(i);
        beside(i % 2 ? "a text that is not short" : nullptr, 20, i);
        called(i);
        as_base();
        as_same();
        plain();
        array(7 + i);
        unique();
    }
    mixed();
    printf("%d\n", count);
}
