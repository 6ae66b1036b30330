"""Mistakes that do not disturb each other: all of them are compiled as one text, so that each costs next to nothing."""

from __future__ import annotations

from tests.build.mistakes import ATEN

HEAD = """#include <tuple>
#include <vector>
struct Pair { float a, b; };
struct Gate { float open(float v) { return v; } };
"""
#: A line, and words that the help for it must hold.
LINES: tuple[tuple[str, str], ...] = (
    ("int raised(int n) { raise ValueError; return n; }", "no raise"),
    ("int without_condition(int n) { if (n) { return 1; } else if { return 2; } return 3; }", "takes a condition"),
    ("int brackets_ahead() { float[3] v; return 0; }", "float v[3]"),
    ("int digit_ahead() { int 2x = 3; return 0; }", "does not begin with a digit"),
    ("int size_of() { return sizeof float; }", "sizeof(float)"),
    ("int values_of_a_number() { int v = {1, 2, 3}; return v; }", "Braces hold the values of an array"),
    ('float infinite() { return float("inf"); }', "INFINITY"),
    ("int leaves() { goto done; return 0; }", "no 'done:'"),
    ("int braces_compared(std::vector<int> v) { return v == {1, 2}; }", "Braces alone have no type"),
    ("int taken_from_values() { auto v[] = {1, 2}; return v[0]; }", "An array does not take its type"),
    ("int behind_void(void* p) { return *p; }", "static_cast<float*>(p)"),
    ("float const_alone(float x) const { return x; }", "has no const behind its ( )"),
    ("int without_length() { float v[]; return 0; }", "float a[8]"),
    ("int length_of_float(float n) { float v[n]; return 0; }", "static_cast<int64_t>(v)"),
    ("void deleted(float x) { delete x; }", "came from new"),
    ("float two_points() { return 1.0.5; }", "A number has one point"),
    ("float without_exponent() { return 1e; }", "as in 1e-5f"),
    ("int octal() { return 09; }", "without the 0"),
    ("#define TYPED(float x) ((x) * 2)", "names without types"),
    ("#include vector", "#include <vector>"),
    ("float own_object(float x) { return this->x; }", "Only a method of a struct"),
    ("int twice(int n) { switch (n) { case 1: return 1; case 1: return 2; } return 0; }", "in the switch already"),
    ("int unknown_case(int n, int m) { switch (n) { case m: return 1; } return 0; }", "compare with if"),
    ("int nothing_given() { void f(); int n = f(); return n; }", "it returns nothing"),
    ("float called(std::vector<float> v) { return v(0); }", "An element is taken with [ ]"),
    ("float called_object(Pair p) { return p(0); }", "operator()"),
    ("float by_result(float x); int by_result(float x);", "not only in what they return"),
    ("int stars(int n) { return *n; }", "Only a pointer"),
    ("int no_constant() { static_assert(sizeof(int) == 3); return 0; }", "does not hold"),
    ("float of_two_kinds(bool b, Pair p, float x) { return b ? p : x; }", "Both values of a choice"),
    ("void counted(Pair p) { p++; }", "There is no ++"),
    ("int of_pointer(float* p) { return (int)p; }", "p[i] or *p"),
    ("int suffixed() { return 2f; }", "1.0f"),
    ("struct Open { float a; float b; }; float near_miss(Open o) { return o.c; }", "'Open' has a, b"),
    ("namespace at { struct A; } int unknown_of_at() { return at::get_num_threads(); }", "<ATen/Parallel.h>"),
    ("void over(float); void over(double); void both_fit() { over(1); }", "Several functions fit equally well"),
    ("auto unseen(int n) { return [](int m) { return n + m; }; }", "[&]"),
    ("float said_twice(float x = 1); float said_twice(float x = 1) { return x; }", "stands once only"),
    ("float& lasting() { float x = 1; return x; }", "dies with the function"),
    ("float power_of_element(float* v) { return v[0] ** 2; }", "std::pow(a, b)"),
    ("float negative_power(float v) { return v ** -1; }", "std::pow(a, b)"),
    ("int whole { 1e4 };", "this is 10000"),
    ("float two_results(float x) { return [](float v) { if (v > 0) return 1; return v; }(x); }", "-> float"),
    ("float not_seen(const float* p) { auto f = [](int i) { return p[i]; }; return f(0); }", "begins here does not see 'p'"),
    ("float by_variable(std::tuple<float, float> t, int i) { return std::get<i>(t); }", "i is a variable"),
    ("template <class T> struct Unsaid { T a; } int behind_struct(int n) { return n; }", "'};'"),
    ("template <class T> struct Called { T operator()(T v) { return v; } }; float as_const(const Called<float> c) { return c(1); }",
     "write const behind its ( )"),
    ("float arrow(float x) { auto f = (float y) => y * 2; return f(x); }", "[&](float y)"),
    ("function float word_ahead(float x) { return x; }", "no 'function' ahead"),
    ("public float of_java(float x) { return x; }", "'public:' has a line of its own"),
    ("float of_python(float x) { try { return x; } except (...) { return 0; } }", "catch (const std::exception& e)"),
    ("float not_greater(float x) { return x !> 0; }", "C++ writes <=, not !>"),
    ("float converted(float x) { return (float x) * 2; }", "float(x)"),
    ("float no_type(float x) { unsigned float y = x; return y; }", "make no type"),
    ("int named_by_colon(int n) { return named_by_colon(count: n); }", "no named arguments"),
    ("float elements(std::vector<float> v) { for (auto one in v) { } return 0; }", "for (const auto& one : v)"),
    ("void no_member(std::vector<float> v) { v.sort(); }", "std::sort(v.begin(), v.end())"),
    ("float largest(std::vector<float> v) { return v.max(); }", "std::max_element"),
    ("float part(std::vector<float> v) { return v[0:2]; }", "v.begin() + a"),
    ("void arithmetic(std::vector<float> v) { v += 1.0f; }", "go through its elements"),
    ("struct Begun { float a; Begun(float v) : a(v), b(v) {} };", "no member 'b'"),
    ("float plain(float x) { return x->y; }", "has no members"),
    ('int of_text(int n) { n = "3"; return n; }', "A text is no number"),
    ("float of_script(float x) { return Math.sqrt(x); }", "of another language"),
    ("int ahead_of_both(int n) { return n + later; }", "Nothing called 'later'"),
    ("int behind_both(int later) { return later; }", ""),
)  # fmt: skip

#: The same for tensors.
HEAD_OF_TENSORS = ATEN
LINES_OF_TENSORS: tuple[tuple[str, str], ...] = (
    ("double number(const at::Tensor& x) { const double v = x.max().item(); return v; }", ".item<double>()"),
    ("float any_number(at::Scalar s) { float v = s; return v; }", "s.to<float>()"),
    ("at::Tensor of_two_extents(at::Tensor x, const int64_t n) { return x.reshape(n, n); }", ".reshape({n, n})"),
    ("void rows(at::Tensor x) { int64_t n, m = x.sizes(); }", "int64_t n = x.size(0), m = x.size(1)"),
    ("float gone(at::Tensor x) { auto a = x.exp().accessor<float, 1>(); return a[0]; }", "does not keep its tensor"),
    ("float deeper(at::Tensor x) { auto a = x.accessor<float, 1>(); return a[0][1]; }", "has 1 dimension, and line"),
    ("at::Tensor row(at::Tensor x) { auto a = x.accessor<float, 2>(); return a[0]; }", "is no tensor"),
    ("at::Tensor first(at::Tensor x) { at::Tensor m, i = x.max(1); return m; }", "takes them apart"),
    ("at::Tensor sized(at::Tensor x) { return at::Tensor(2, 3); }", "at::empty({rows, columns}"),
    ("void sets(at::Tensor x) { x.requires_grad = true; }", "requires_grad_(true)"),
    ("void comma_of_types() { TORCH_CHECK(std::is_same_v<float, int> && true, 1); }", "put ( ) around the whole"),
    ("at::Tensor parts(at::Tensor x) { auto [m, i] = x.max(); return m; }", "This is one tensor"),
)  # fmt: skip
