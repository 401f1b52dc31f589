// What `make demo` lets the compiler chew on: a few pages of templates that make cc1plus allocate a
// great deal. Built to be compiled, though it also runs:
//
//   tidemark record g++ -std=c++17 -O2 -c examples/heavy.cpp -o /dev/null
#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

// ---- Expression templates: a whole formula is one type, evaluated in one loop ----

template <class E>
struct Expression {
    const E &self() const { return static_cast<const E &>(*this); }
};

template <std::size_t N>
struct Vector : Expression<Vector<N>> {
    std::array<double, N> value{};

    Vector() = default;
    explicit Vector(double start) { std::iota(value.begin(), value.end(), start); }
    template <class E>
    Vector(const Expression<E> &expression)
    {
        for (std::size_t i = 0; i < N; i++)
            value[i] = expression.self()[i];
    }
    double operator[](std::size_t i) const { return value[i]; }
    double sum() const { return std::accumulate(value.begin(), value.end(), 0.0); }
};

template <class L, class R, class Op>
struct Binary : Expression<Binary<L, R, Op>> {
    const L &left;
    const R &right;
    Binary(const L &l, const R &r) : left(l), right(r) {}
    double operator[](std::size_t i) const { return Op{}(left[i], right[i]); }
};

#define TIDEMARK_OPERATOR(symbol, functor)                                                         \
    template <class L, class R>                                                                    \
    auto operator symbol(const Expression<L> &l, const Expression<R> &r)                           \
    {                                                                                              \
        return Binary<L, R, functor<double>>(l.self(), r.self());                                  \
    }
TIDEMARK_OPERATOR(+, std::plus)
TIDEMARK_OPERATOR(-, std::minus)
TIDEMARK_OPERATOR(*, std::multiplies)

template <std::size_t N>
double formula()
{
    Vector<N> a(1), b(2), c(3);
    Vector<N> d = a * b + c - a;
    Vector<N> e = (d - b) * (a + c) + d * d - (b - c) * (a - d);
    Vector<N> f = e * (a + b * (c + d * (a - b * (c - d)))) - e * e;
    return f.sum();
}

template <std::size_t... N>
double formulas(std::index_sequence<N...>)
{
    return (formula<N + 1>() + ... + 0.0);
}

// ---- A variant of many shapes, visited in pairs: one function for every pair of them ----

template <int Corners>
struct Polygon {
    std::array<double, Corners + 3> side{};
    std::string name = "polygon " + std::to_string(Corners + 3);
    double measure() const { return std::accumulate(side.begin(), side.end(), 1.0 * Corners); }
};

template <class Sequence>
struct ShapeOf;
template <int... I>
struct ShapeOf<std::integer_sequence<int, I...>> {
    using type = std::variant<Polygon<I>...>;
    static std::vector<type> all() { return {type(Polygon<I>{})...}; }
};

using Shapes = ShapeOf<std::make_integer_sequence<int, 14>>;

double collide(const Shapes::type &one, const Shapes::type &other)
{
    return std::visit(
        [](const auto &a, const auto &b) {
            return a.side.size() > b.side.size() ? a.measure() * b.measure() : b.measure() - a.measure();
        },
        one, other);
}

// ---- Tuples of tuples, built and flattened at compile time ----

template <int Depth>
auto nest()
{
    if constexpr (Depth == 0)
        return std::make_tuple(1, 2.0, std::string("leaf"));
    else
        return std::tuple_cat(std::make_tuple(Depth, std::to_string(Depth)), nest<Depth - 1>());
}

template <class Tuple>
std::size_t weigh(const Tuple &tuple)
{
    return std::apply([](const auto &...part) { return (sizeof(part) + ... + 0); }, tuple);
}

template <int... Depth>
std::size_t weigh_all(std::integer_sequence<int, Depth...>)
{
    return (weigh(nest<Depth>()) + ... + 0);
}

// ---- Tables computed while compiling ----

template <std::size_t N>
constexpr std::array<unsigned, N> primes()
{
    std::array<unsigned, N> found{};
    std::size_t count = 0;
    for (unsigned candidate = 2; count < N; candidate++) {
        bool prime = true;
        for (unsigned divisor = 2; divisor * divisor <= candidate && prime; divisor++)
            prime = candidate % divisor != 0;
        if (prime)
            found[count++] = candidate;
    }
    return found;
}
constexpr auto table = primes<600>();
static_assert(table.back() == 4409);

// ---- Containers of containers: every level is another family of instantiations ----

template <int Tag>
struct Key {
    int value;
    bool operator<(const Key &other) const { return value < other.value; }
};

template <int Tag>
std::size_t index_words(const std::string &text)
{
    static const std::regex word("([A-Za-z]+)|([0-9]{1,4})");
    std::map<Key<Tag>, std::set<std::string>> by_length;
    std::unordered_map<std::string, std::vector<std::optional<Key<Tag>>>> by_name;
    for (std::sregex_iterator at(text.begin(), text.end(), word), end; at != end; ++at) {
        by_length[{int(at->length())}].insert(at->str());
        by_name[at->str()].push_back(Key<Tag>{int(at->position())});
    }
    std::function<std::size_t(std::size_t)> twice = [&](std::size_t n) { return 2 * n + Tag; };
    return twice(by_length.size()) + by_name.size();
}

template <int... Tag>
std::size_t index_all(const std::string &text, std::integer_sequence<int, Tag...>)
{
    return (index_words<Tag>(text) + ... + 0);
}

int main()
{
    double touched = 0;
    for (const auto &one : Shapes::all())
        for (const auto &other : Shapes::all())
            touched += collide(one, other);
    std::printf("%g %g %zu %zu\n", formulas(std::make_index_sequence<8>()), touched,
                weigh_all(std::make_integer_sequence<int, 12>()),
                index_all("a tidemark is the line that high water leaves, 1 of 2 a day",
                          std::make_integer_sequence<int, 6>()));
}
