// truth: sick
// what: shapes are deleted through a base without virtual destructor: their points leak
// expect: leak-lost leak-growth
// flags: -O1 -Wno-delete-non-virtual-dtor
#include "truth.h"
#include <vector>

struct Shape {
    int kind = 0;
};

struct Polygon : Shape {
    std::vector<double> points;
    NOINLINE explicit Polygon(int n)
    {
        points.resize(n); // guilty: Polygon::Polygon
        use(points.data());
    }
};

NOINLINE static void draw(Shape *shape)
{
    use(shape);
    delete shape;
}

int main()
{
    for (int i = 0; i < 8000; i++) {
        draw(new Polygon(60 + i % 10));
        pace(i, 20);
    }
}
