#include <tuple>
#include <vector>
struct Pair { float a, b; };
struct Gate { float open(float v) { return v; } };
int raised(int n) { raise ValueError; return n; }  // help: no raise
int without_condition(int n) { if (n) { return 1; } else if { return 2; } return 3; }  // help: takes a condition
int brackets_ahead() { float[3] v; return 0; }  // help: float v[3]
int digit_ahead() { int 2x = 3; return 0; }  // help: does not begin with a digit
int size_of() { return sizeof float; }  // help: sizeof(float)
int values_of_a_number() { int v = {1, 2, 3}; return v; }  // help: Braces hold the values of an array
float infinite() { return float("inf"); }  // help: INFINITY
int braces_compared(std::vector<int> v) { return v == {1, 2}; }  // help: Braces alone have no type
int behind_void(void* p) { return *p; }  // help: static_cast<float*>(p)
int without_length() { float v[]; return 0; }  // help: float a[8]
int length_of_float(float n) { float v[n]; return 0; }  // help: static_cast<int64_t>(v)
int unknown_case(int n, int m) { switch (n) { case m: return 1; } return 0; }  // help: compare with if
int nothing_given() { void f(); int n = f(); return n; }  // help: it returns nothing
float called(std::vector<float> v) { return v(0); }  // help: An element is taken with [ ]
float called_object(Pair p) { return p(0); }  // help: operator()
int stars(int n) { return *n; }  // help: Only a pointer
float of_two_kinds(bool b, Pair p, float x) { return b ? p : x; }  // help: Both values of a choice
void counted(Pair p) { p++; }  // help: There is no ++
int of_pointer(float* p) { return (int)p; }  // help: p[i] or *p
int suffixed() { return 2f; }  // help: 1.0f
struct Open { float a; float b; }; float near_miss(Open o) { return o.c; }  // help: 'Open' has a, b
namespace at { struct A; } int unknown_of_at() { return at::get_num_threads(); }  // help: <ATen/Parallel.h>
void over(float); void over(double); void both_fit() { over(1); }  // help: Several functions fit equally well
auto unseen(int n) { return [](int m) { return n + m; }; }  // help: [&]
float said_twice(float x = 1); float said_twice(float x = 1) { return x; }  // help: stands once only
float& lasting() { float x = 1; return x; }  // help: dies with the function
float power_of_element(float* v) { return v[0] ** 2; }  // help: std::pow(a, b)
float negative_power(float v) { return v ** -1; }  // help: std::pow(a, b)
int whole { 1e4 };  // help: this is 10000
float two_results(float x) { return [](float v) { if (v > 0) return 1; return v; }(x); }  // help: -> float
float not_seen(const float* p) { auto f = [](int i) { return p[i]; }; return f(0); }  // help: begins here does not see 'p'
float by_variable(std::tuple<float, float> t, int i) { return std::get<i>(t); }  // help: i is a variable
template <class T> struct Unsaid { T a; } int behind_struct(int n) { return n; }  // help: '};'
float arrow(float x) { auto f = (float y) => y * 2; return f(x); }  // help: [&](float y)
function float word_ahead(float x) { return x; }  // help: no 'function' before
public float of_java(float x) { return x; }  // help: 'public:' has a line of its own
float of_python(float x) { try { return x; } except (...) { return 0; } }  // help: catch (const std::exception& e)
float not_greater(float x) { return x !> 0; }  // help: C++ writes <=, not !>
float converted(float x) { return (float x) * 2; }  // help: float(x)
int named_by_colon(int n) { return named_by_colon(count: n); }  // help: no named arguments
float elements(std::vector<float> v) { for (auto one in v) { } return 0; }  // help: for (const auto& one : v)
void no_member(std::vector<float> v) { v.sort(); }  // help: std::sort(v.begin(), v.end())
float largest(std::vector<float> v) { return v.max(); }  // help: std::max_element
float part(std::vector<float> v) { return v[0:2]; }  // help: v.begin() + a
void arithmetic(std::vector<float> v) { v += 1.0f; }  // help: go through its elements
struct Begun { float a; Begun(float v) : a(v), b(v) {} };  // help: no member 'b'
float plain(float x) { return x->y; }  // help: has no members
int of_text(int n) { n = "3"; return n; }  // help: A text is no number
float of_script(float x) { return Math.sqrt(x); }  // help: of another language
int ahead_of_both(int n) { return n + later; }  // help: Nothing called 'later'
int of_items() { for (int i : enumerate(3)) { } return 0; }  // help: 'enumerate' is Python
struct Made { float v; Made(float w) { v = w; } }; Made made() { Made g; return g; }  // help: It is Made(float
template <class T> no_result(T v) { return v; }  // help: the type of what it returns
class Hidden { Hidden(float) {} }; void hidden() { Hidden h(1); }  // help: public:
float of_const(const std::tuple<float, float> t) { return t[0]; }  // help: std::get<0>(t)
int behind_both(int later) { return later; }  // help:
void no_counter(float* p, int n) { for (kk = 0; kk < n; kk++) p[kk] = 2 * p[kk]; }  // help: for (int64_t kk = ...
float unsaid(float x) { auto two = [](float v) { 2 * v; }; float y = two(x); return y; }  // help: The lambda 'two' has no return
float comma_behind(float x) { return comma_behind(x,); }  // help: Take this ',' away
float by_hand(float x) { do { x -= 1; } while (x > 0) return x; }  // help: A ';' is missing
struct Named { float a; float b; }; Named order() { Named g{.c = 1}; return g; }  // help: 'Named' has a, b
struct Node { Node next; float v; };  // help: cannot hold one of itself
struct Two { float a; float a() { return 1; } };  // help: already
struct Plain { float v; }; bool smaller(Plain a, Plain b) { return a < b; }  // help: no < of its own
enum class Tone { LOW, HIGH }; bool low(Tone t) { return t == 0; }  // help: Tone::LOW
float bits(float a, float b) { return (a > 0 && a & b) ? 1 : 0; }  // help: combined by &&
float shifted(float a) { return a << 2; }  // help: whole number
int named_text(int n) { switch (n) { case "a": return 1; } return 0; }  // help: A case names a whole number
float copied(float s) { auto add = [s](float v) { s += v; }; add(1); return s; }  // help: only a copy of 's'
float empty_if(float x) { if (x > 0); return 1; else return 0; }  // help: Take this ';' away
float by_lambda() { float r = [](float z) { return z * 2; }; return r; }  // help: a function without a name
float behind_name(float k) { auto h = [k&](float z) { return z * k; }; return h(1); }  // help: [&k]
float no_brackets() { auto h = (float z) { return z; }; return h(1); }  // help: [&](float z)
float no_braces() { auto h = [](float z) return z; ; return h(1); }  // help: stands in { }
float comma_ahead(float a,) { return a; }  // help: Take the ',' before the ')' away
float set_function() { set_function = 2; return 1; }  // help: nothing is assigned to it
const fixed = 3;  // help: const auto fixed
int walrus(int n) { m := n; return m; }  // help: no ':='
float of_rust() { f32 y = 1; return y; }  // help: 'float'
float of_script_too(std::vector<float> v) { for (float one of v) { } return 0; }  // help: with a colon
bool within(std::vector<int> v, int n) { if (n not in v) return true; return false; }  // help: std::find(
int grouped() { return 1.5ff; }  // help: No number ends with 'ff'
float decimal(float a) { return a * 1,5f; }  // help: 1.5f
int of_matlab(int n) { if (n ~= 0) return 1; return 0; }  // help: writes !=
void dropped(std::vector<float> v) { v.erase(2); }  // help: v.begin() + 2
void put(std::vector<float> v) { v.insert(1.0f); }  // help: v.begin() + i
std::vector<float> of_length() { std::vector<float> v = 3; return v; }  // help: v(n)
void pushed(std::vector<float> v) { v.push(1); }  // help: push_back
std::pair<float, float> three_of_two(float a) { return {a, a, a}; }  // help: holds 2 values
float* without_const(const float* p) { return static_cast<float*>(p); }  // help: does not take the const away
bool over_pointer(const float* p) { return p > 3; }  // help: as in p[i]
float keyed(float w, float eps) { return keyed(w, epsilon=1); }  // help: no named arguments
float hiding(float v) { float keyed = keyed(v, 1); return keyed; }  // help: hides the function of that name
float own_word() { float double = 1; return 0; }  // help: a word of C++
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { }  // help: leave out this block
void asserted(int n) { assert n > 0; }  // help: TORCH_CHECK(
int mode() { enum Mode { Fast, Slow }; return 1; } namespace modes { float k; } float of_modes() { return modes.k; }  // help: modes::k
int digits_apart() { return 1_000; }  // help: 1'000
float of_math(float x) { return math.sqrt(x); }  // help: 'math.' is Python
auto untyped = [](i) { return i; };  // help: Each parameter of a lambda
Pair made_anew() { Pair g = new Pair(); return g; }  // help: none is needed here
float of_pointer_alone(const float* p) { float x = p; return x; }  // help: one element of it
float caret(float x) { return x ^ 2; }  // help: ^ is not a power
float index_with_point(float* v) { return v[1.5]; }  // help: An index is a whole number
float negated(float x) { return ~x; }  // help: the opposite of a condition is !a
int fixed_late(int n) { constexpr int m = n; return m; }  // help: write const
void copies_array() { float a[3]; float b[3]; a = b; }  // help: not assigned or copied as a whole
float no_parentheses { return 1; }  // help: even without parameters
int no_constant() { static_assert(sizeof(int) == 3); return 0; }  // help: does not hold
float upper() { return m_pi; }  // help: 'M_PI'
template <class T> T same(T a, T b) { return a; } float kinds(float x) { return same(x, 1.0); }  // help: one of them with static_cast
void other_pointer(float* a, double* b) { a = b; }  // help: pointers to different types
void checks(int n) { TORCH_CHECK(n > 0, "few"); }  // help: <c10/util/Exception.h>
