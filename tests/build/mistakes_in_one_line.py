"""Mistakes that do not disturb each other: all of them are compiled as one text, so that each costs next to nothing."""

from __future__ import annotations

HEAD = """#include <vector>
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
)  # fmt: skip
