//// right 1
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {
  for (int64_t s = 0; s < S; ++s) {
    const T i = 1 / (1 + std::exp(-z[s]));
    const T o = 1 / (1 + std::exp(-z[S + s]));
    const T c = z[2 * S + s] > 0 ? z[2 * S + s] : std::expm1(z[2 * S + s]);
    const T next = old_cell[s] + c * i;
    gates[s] = i;
    gates[S + s] = o;
    gates[2 * S + s] = c;
    new_cell[s] = next;
    new_h[s] = std::tanh(next) * o;
// becomes
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {
  using V = at::vec::Vectorized<T>;
  for (int64_t s = 0; s < S; s += V::size()) {
    const int64_t n = std::min<int64_t>(V::size(), S - s);  // the last vector may be a part of one
    const auto load = [n](const T* from) { return V::loadu(from, n); };
    const V i = V(1) / (V(1) + load(z + s).neg().exp());
    const V o = V(1) / (V(1) + load(z + S + s).neg().exp());
    const V z_c = load(z + 2 * S + s);
    const V c = V::blendv(z_c.expm1(), z_c, z_c > V(0));
    const V next = load(old_cell + s) + c * i;
    i.store(gates + s, n);
    o.store(gates + S + s, n);
    c.store(gates + 2 * S + s, n);
    next.store(new_cell + s, n);
    (next.tanh() * o).store(new_h + s, n);

//// right 2
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {
  for (int64_t s = 0; s < S; ++s) {
// becomes
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {
  using V = at::vec::Vectorized<T>;
  int64_t s = 0;
  for (; s + V::size() <= S; s += V::size()) {
    const int64_t n = std::min<int64_t>(V::size(), S - s);  // the last vector may be a part of one
    const auto load = [n](const T* from) { return V::loadu(from, n); };
    const V i = V(1) / (V(1) + load(z + s).neg().exp());
    const V o = V(1) / (V(1) + load(z + S + s).neg().exp());
    const V z_c = load(z + 2 * S + s);
    const V c = V::blendv(z_c.expm1(), z_c, z_c > V(0));
    const V next = load(old_cell + s) + c * i;
    i.store(gates + s, n);
    o.store(gates + S + s, n);
    c.store(gates + 2 * S + s, n);
    next.store(new_cell + s, n);
    (next.tanh() * o).store(new_h + s, n);
  }

  for (; s < S; ++s) {

//// right 3
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {
  for (int64_t s = 0; s < S; ++s) {
    const T i = 1 / (1 + std::exp(-z[s]));
    const T o = 1 / (1 + std::exp(-z[S + s]));
    const T c = z[2 * S + s] > 0 ? z[2 * S + s] : std::expm1(z[2 * S + s]);
    const T next = old_cell[s] + c * i;
    gates[s] = i;
    gates[S + s] = o;
    gates[2 * S + s] = c;
    new_cell[s] = next;
    new_h[s] = std::tanh(next) * o;
// becomes
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {
  using V = at::vec::Vectorized<T>;
  for (int64_t s = 0; s < S; s += V::size()) {
    const int64_t n = std::min<int64_t>(V::size(), S - s);  // the last vector may be a part of one
    const auto load = [n](const T* from) { return V::loadu(from, n); };
    const auto exp = [](V v) { return v.exp(); };
    const V i = V(1) / (V(1) + exp(load(z + s).neg()));
    const V o = V(1) / (V(1) + load(z + S + s).neg().exp());
    const V z_c = load(z + 2 * S + s);
    const V c = V::blendv(z_c.expm1(), z_c, z_c > V(0));
    const V next = load(old_cell + s) + c * i;
    i.store(gates + s, n);
    o.store(gates + S + s, n);
    c.store(gates + 2 * S + s, n);
    next.store(new_cell + s, n);
    (next.tanh() * o).store(new_h + s, n);

//// right 4
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {
  for (int64_t s = 0; s < S; ++s) {
    const T i = 1 / (1 + std::exp(-z[s]));
    const T o = 1 / (1 + std::exp(-z[S + s]));
    const T c = z[2 * S + s] > 0 ? z[2 * S + s] : std::expm1(z[2 * S + s]);
    const T next = old_cell[s] + c * i;
    gates[s] = i;
    gates[S + s] = o;
    gates[2 * S + s] = c;
    new_cell[s] = next;
    new_h[s] = std::tanh(next) * o;
// becomes
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {
  using V = at::vec::Vectorized<T>;
  for (int64_t s = 0; s < S; s += V::size()) {
    const int64_t n = std::min<int64_t>(V::size(), S - s);  // the last vector may be a part of one
    const auto load = [n](const T* from) { return V::loadu(from, n); };
    const V i = (V(1) + (load(z + s) / V(2)).tanh()) / V(2);
    const V o = V(1) / (V(1) + load(z + S + s).neg().exp());
    const V z_c = load(z + 2 * S + s);
    const V c = V::blendv(z_c.expm1(), z_c, z_c > V(0));
    const V next = load(old_cell + s) + c * i;
    i.store(gates + s, n);
    o.store(gates + S + s, n);
    c.store(gates + 2 * S + s, n);
    next.store(new_cell + s, n);
    (next.tanh() * o).store(new_h + s, n);

//// right 5
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {
// becomes
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {
  using V = at::vec::Vectorized<T>;
  for (int64_t s = 0; s < S; s += V::size()) {
    const int64_t n = std::min<int64_t>(V::size(), S - s);  // the last vector may be a part of one
    const auto load = [n](const T* from) { return V::loadu(from, n); };
    const V i = V(1) / (V(1) + load(z + s).neg().exp());
    const V o = V(1) / (V(1) + load(z + S + s).neg().exp());
    const V z_c = load(z + 2 * S + s);
    const V c = V::blendv(z_c.expm1(), z_c, z_c > V(0));
    const V next = load(old_cell + s) + c * i;
    i.store(gates + s, n);
    o.store(gates + S + s, n);
    c.store(gates + 2 * S + s, n);
    next.store(new_cell + s, n);
    (next.tanh() * o).store(new_h + s, n);
  }
#if 0

// and
    new_h[s] = std::tanh(next) * o;
  }
// becomes
    new_h[s] = std::tanh(next) * o;
  }

#endif

//// right 6
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {
  for (int64_t s = 0; s < S; ++s) {
    const T i = 1 / (1 + std::exp(-z[s]));
    const T o = 1 / (1 + std::exp(-z[S + s]));
    const T c = z[2 * S + s] > 0 ? z[2 * S + s] : std::expm1(z[2 * S + s]);
    const T next = old_cell[s] + c * i;
    gates[s] = i;
    gates[S + s] = o;
    gates[2 * S + s] = c;
    new_cell[s] = next;
    new_h[s] = std::tanh(next) * o;
  }
// becomes
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {
  using V = at::vec::Vectorized<T>;
  for (int64_t s = 0; s < S; s += V::size()) {
    const int64_t n = std::min<int64_t>(V::size(), S - s);  // the last vector may be a part of one
    const auto load = [n](const T* from) { return V::loadu(from, n); };
    const V i = V(1) / (V(1) + load(z + s).neg().exp());
    const V o = V(1) / (V(1) + load(z + S + s).neg().exp());
    const V z_c = load(z + 2 * S + s);
    const V c = V::blendv(z_c.expm1(), z_c, z_c > V(0));
    const V next = load(old_cell + s) + c * i;
    i.store(gates + s, n);
    o.store(gates + S + s, n);
    c.store(gates + 2 * S + s, n);
    next.store(new_cell + s, n);
    (next.tanh() * o).store(new_h + s, n);
  }
  // no std::exp( here, and no std::expm1( either

//// right 7
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {
  for (int64_t s = 0; s < S; ++s) {
    const T i = 1 / (1 + std::exp(-z[s]));
    const T o = 1 / (1 + std::exp(-z[S + s]));
    const T c = z[2 * S + s] > 0 ? z[2 * S + s] : std::expm1(z[2 * S + s]);
    const T next = old_cell[s] + c * i;
    gates[s] = i;
    gates[S + s] = o;
    gates[2 * S + s] = c;
    new_cell[s] = next;
    new_h[s] = std::tanh(next) * o;
// becomes
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {
  using V = at::vec::Vectorized<T>;
  for (int64_t s = 0; s < S; s += V::size()) {
    const int64_t n = std::min<int64_t>(V::size(), S - s);  // the last vector may be a part of one
    const auto load = [n](const T* from) { return V::loadu(from, n); };
    const V i = V(1) / (V(1) + load(z + s).neg().exp());
    const V o = V(1) / (V(1) + load(z + S + s).neg().exp());
    const V z_c = load(z + 2 * S + s);
    const V c = at::vec::maximum(z_c, V(0)) + at::vec::minimum(z_c, V(0)).expm1();
    const V next = load(old_cell + s) + c * i;
    i.store(gates + s, n);
    o.store(gates + S + s, n);
    c.store(gates + 2 * S + s, n);
    next.store(new_cell + s, n);
    (next.tanh() * o).store(new_h + s, n);

//// right 8
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {
  for (int64_t s = 0; s < S; ++s) {
    const T i = 1 / (1 + std::exp(-z[s]));
    const T o = 1 / (1 + std::exp(-z[S + s]));
    const T c = z[2 * S + s] > 0 ? z[2 * S + s] : std::expm1(z[2 * S + s]);
    const T next = old_cell[s] + c * i;
    gates[s] = i;
    gates[S + s] = o;
    gates[2 * S + s] = c;
    new_cell[s] = next;
    new_h[s] = std::tanh(next) * o;
// becomes
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {
  using namespace at::vec;
  typedef Vectorized<T> V;
  for (int64_t s = 0; s < S; s += V::size()) {
    const int64_t n = std::min<int64_t>(V::size(), S - s);  // the last vector may be a part of one
    const auto load = [n](const T* from) { return V::loadu(from, n); };
    const V i = V(1) / (V(1) + load(z + s).neg().exp());
    const V o = V(1) / (V(1) + load(z + S + s).neg().exp());
    const V z_c = load(z + 2 * S + s);
    const V c = V::blendv(z_c.expm1(), z_c, z_c > V(0));
    const V next = load(old_cell + s) + c * i;
    i.store(gates + s, n);
    o.store(gates + S + s, n);
    c.store(gates + 2 * S + s, n);
    next.store(new_cell + s, n);
    (next.tanh() * o).store(new_h + s, n);

//// right 9
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {
  for (int64_t s = 0; s < S; ++s) {
    const T i = 1 / (1 + std::exp(-z[s]));
    const T o = 1 / (1 + std::exp(-z[S + s]));
    const T c = z[2 * S + s] > 0 ? z[2 * S + s] : std::expm1(z[2 * S + s]);
    const T next = old_cell[s] + c * i;
    gates[s] = i;
    gates[S + s] = o;
    gates[2 * S + s] = c;
    new_cell[s] = next;
    new_h[s] = std::tanh(next) * o;
// becomes
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {
  using V = at::vec::Vectorized<T>;
  for (int64_t s = 0; s < S; s += V::size()) {
    const int64_t n = std::min<int64_t>(V::size(), S - s);  // the last vector may be a part of one
    const auto load = [n](const T* from) { return n == V::size() ? V::loadu(from) : V::loadu(from, n); };
    const V i = V(1) / (V(1) + load(z + s).neg().exp());
    const V o = V(1) / (V(1) + load(z + S + s).neg().exp());
    const V z_c = load(z + 2 * S + s);
    const V c = V::blendv(z_c.expm1(), z_c, z_c > V(0));
    const V next = load(old_cell + s) + c * i;
    i.store(gates + s, n);
    o.store(gates + S + s, n);
    c.store(gates + 2 * S + s, n);
    next.store(new_cell + s, n);
    (next.tanh() * o).store(new_h + s, n);

//// right 10
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {
  for (int64_t s = 0; s < S; ++s) {
    const T i = 1 / (1 + std::exp(-z[s]));
    const T o = 1 / (1 + std::exp(-z[S + s]));
    const T c = z[2 * S + s] > 0 ? z[2 * S + s] : std::expm1(z[2 * S + s]);
    const T next = old_cell[s] + c * i;
    gates[s] = i;
    gates[S + s] = o;
    gates[2 * S + s] = c;
    new_cell[s] = next;
    new_h[s] = std::tanh(next) * o;
// becomes
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {
  using V = at::vec::Vectorized<T>;
  for (int64_t v = 0; v * V::size() < S; ++v) {
    const int64_t s = v * V::size();
    const int64_t n = std::min<int64_t>(V::size(), S - s);  // the last vector may be a part of one
    const auto load = [n](const T* from) { return V::loadu(from, n); };
    const V i = V(1) / (V(1) + load(z + s).neg().exp());
    const V o = V(1) / (V(1) + load(z + S + s).neg().exp());
    const V z_c = load(z + 2 * S + s);
    const V c = V::blendv(z_c.expm1(), z_c, z_c > V(0));
    const V next = load(old_cell + s) + c * i;
    i.store(gates + s, n);
    o.store(gates + S + s, n);
    c.store(gates + 2 * S + s, n);
    next.store(new_cell + s, n);
    (next.tanh() * o).store(new_h + s, n);

//// right 11
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {
  for (int64_t s = 0; s < S; ++s) {
    const T i = 1 / (1 + std::exp(-z[s]));
    const T o = 1 / (1 + std::exp(-z[S + s]));
    const T c = z[2 * S + s] > 0 ? z[2 * S + s] : std::expm1(z[2 * S + s]);
    const T next = old_cell[s] + c * i;
    gates[s] = i;
    gates[S + s] = o;
    gates[2 * S + s] = c;
    new_cell[s] = next;
    new_h[s] = std::tanh(next) * o;
// becomes
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {
  using V = at::vec::Vectorized<T>;
  for (int64_t s = 0; s < S; s += V::size()) {
    const int64_t n = std::min<int64_t>(V::size(), S - s);  // the last vector may be a part of one
    const auto load = [n](const T* from) { return V::loadu(from, n); };
    const V i = (load(z + s).neg().exp() + V(1)).reciprocal();
    const V o = V(1) / (V(1) + load(z + S + s).neg().exp());
    const V z_c = load(z + 2 * S + s);
    const V c = V::blendv(z_c.expm1(), z_c, z_c > V(0));
    const V next = load(old_cell + s) + c * i;
    i.store(gates + s, n);
    o.store(gates + S + s, n);
    c.store(gates + 2 * S + s, n);
    next.store(new_cell + s, n);
    (next.tanh() * o).store(new_h + s, n);

//// wrong 1
// says: It is right, but not four times as fast as the loop
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {
  for (int64_t s = 0; s < S; ++s) {
// becomes
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {
  for (int64_t s = 0; s < S; ++s) {
    using V = at::vec::Vectorized<T>;

//// wrong 2
// says: 'cell/mine' still says what 'cell/loop' says.

//// wrong 3
// says: 'cell/mine' still says what 'cell/loop' says.
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {
// becomes
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {  // at::vec::Vectorized<T>


//// wrong 4
// says: It is right, but not four times as fast as the loop
    const T i = 1 / (1 + std::exp(-z[s]));
    const T o = 1 / (1 + std::exp(-z[S + s]));
// becomes
    const T i = 1 / (1 + std::pow(T(2.718281828459045), -z[s]));
    const T o = 1 / (1 + std::pow(T(2.718281828459045), -z[S + s]));

//// wrong 5
// says: It is right, but not four times as fast as the loop
    const T c = z[2 * S + s] > 0 ? z[2 * S + s] : std::expm1(z[2 * S + s]);
// becomes
    const T c = z[2 * S + s] > 0 ? z[2 * S + s] : at::vec::Vectorized<T>::size() * 0 + std::expm1(z[2 * S + s]);

//// wrong 6
// says: It is right, but not four times as fast as the loop
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {
  for (int64_t s = 0; s < S; ++s) {
    const T i = 1 / (1 + std::exp(-z[s]));
    const T o = 1 / (1 + std::exp(-z[S + s]));
    const T c = z[2 * S + s] > 0 ? z[2 * S + s] : std::expm1(z[2 * S + s]);
    const T next = old_cell[s] + c * i;
    gates[s] = i;
    gates[S + s] = o;
    gates[2 * S + s] = c;
    new_cell[s] = next;
    new_h[s] = std::tanh(next) * o;
// becomes
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {
  using V = at::vec::Vectorized<T>;
  for (int64_t s = 0; s < S; s += V::size()) {
    const int64_t n = std::min<int64_t>(V::size(), S - s);  // the last vector may be a part of one
    const auto load = [n](const T* from) { return V::loadu(from, n); };
    const auto each = [n](V v, auto f) {
      T one[V::size()] = {};
      v.store(one);
      for (int64_t k = 0; k < n; ++k) one[k] = f(one[k]);
      return V::loadu(one);
    };
    const V i = each(V(1) / (V(1) + load(z + s).neg().exp()), [](T a) { return a; });
    const V o = V(1) / (V(1) + load(z + S + s).neg().exp());
    const V z_c = load(z + 2 * S + s);
    const V c = V::blendv(each(z_c, [](T a) { return std::expm1(a); }), z_c, z_c > V(0));
    const V next = load(old_cell + s) + c * i;
    i.store(gates + s, n);
    o.store(gates + S + s, n);
    c.store(gates + 2 * S + s, n);
    next.store(new_cell + s, n);
    (each(next, [](T a) { return std::tanh(a); }) * o).store(new_h + s, n);

//// wrong 7
// says: 'cell/mine'
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {
  for (int64_t s = 0; s < S; ++s) {
    const T i = 1 / (1 + std::exp(-z[s]));
    const T o = 1 / (1 + std::exp(-z[S + s]));
    const T c = z[2 * S + s] > 0 ? z[2 * S + s] : std::expm1(z[2 * S + s]);
    const T next = old_cell[s] + c * i;
    gates[s] = i;
    gates[S + s] = o;
    gates[2 * S + s] = c;
    new_cell[s] = next;
    new_h[s] = std::tanh(next) * o;
// becomes
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {
  using V = at::vec::Vectorized<T>;
  for (int64_t s = 0; s < S; s += V::size()) {
    const int64_t n = std::min<int64_t>(V::size(), S - s);  // the last vector may be a part of one
    const auto load = [n](const T* from) { return V::loadu(from); };
    const V i = V(1) / (V(1) + load(z + s).neg().exp());
    const V o = V(1) / (V(1) + load(z + S + s).neg().exp());
    const V z_c = load(z + 2 * S + s);
    const V c = V::blendv(z_c.expm1(), z_c, z_c > V(0));
    const V next = load(old_cell + s) + c * i;
    i.store(gates + s, n);
    o.store(gates + S + s, n);
    c.store(gates + 2 * S + s, n);
    next.store(new_cell + s, n);
    (next.tanh() * o).store(new_h + s, n);

//// wrong 8
// says: 'cell/mine' new_h
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {
  for (int64_t s = 0; s < S; ++s) {
    const T i = 1 / (1 + std::exp(-z[s]));
    const T o = 1 / (1 + std::exp(-z[S + s]));
    const T c = z[2 * S + s] > 0 ? z[2 * S + s] : std::expm1(z[2 * S + s]);
    const T next = old_cell[s] + c * i;
    gates[s] = i;
    gates[S + s] = o;
    gates[2 * S + s] = c;
    new_cell[s] = next;
    new_h[s] = std::tanh(next) * o;
// becomes
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {
  using V = at::vec::Vectorized<T>;
  for (int64_t s = 0; s < S; s += V::size()) {
    const int64_t n = std::min<int64_t>(V::size(), S - s);  // the last vector may be a part of one
    const auto load = [n](const T* from) { return V::loadu(from, n); };
    const V i = V(1) / (V(1) + load(z + s).neg().exp());
    const V o = V(1) / (V(1) + load(z + S + s).neg().exp());
    const V z_c = load(z + 2 * S + s);
    const V c = V::blendv(z_c, z_c.expm1(), z_c > V(0));
    const V next = load(old_cell + s) + c * i;
    i.store(gates + s, n);
    o.store(gates + S + s, n);
    c.store(gates + 2 * S + s, n);
    next.store(new_cell + s, n);
    (next.tanh() * o).store(new_h + s, n);

//// wrong 9
// says: 'cell/mine'
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {
  for (int64_t s = 0; s < S; ++s) {
    const T i = 1 / (1 + std::exp(-z[s]));
    const T o = 1 / (1 + std::exp(-z[S + s]));
    const T c = z[2 * S + s] > 0 ? z[2 * S + s] : std::expm1(z[2 * S + s]);
    const T next = old_cell[s] + c * i;
    gates[s] = i;
    gates[S + s] = o;
    gates[2 * S + s] = c;
    new_cell[s] = next;
    new_h[s] = std::tanh(next) * o;
// becomes
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {
  using V = at::vec::Vectorized<T>;
  for (int64_t s = 0; s < S; s += V::size()) {
    const int64_t n = std::min<int64_t>(V::size(), S - s);  // the last vector may be a part of one
    const auto load = [n](const T* from) { return V::loadu(from, n); };
    const V i = V(1) / (V(1) + load(z + s).neg().exp());
    const V o = V(1) / (V(1) + load(z + S + s).neg().exp());
    const V z_c = load(z + 2 * S + s);
    const V c = V::blendv(z_c.expm1(), z_c, z_c > V(0));
    const V next = load(old_cell + s) + c * i;
    i.store(gates + s, n);
    o.store(gates + S + s, n);
    c.store(gates + 2 * S + s, n);
    next.store(new_cell + s, n);
    

//// wrong 10
// says: 'cell/mine' does not compile:
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {
  for (int64_t s = 0; s < S; ++s) {
    const T i = 1 / (1 + std::exp(-z[s]));
    const T o = 1 / (1 + std::exp(-z[S + s]));
    const T c = z[2 * S + s] > 0 ? z[2 * S + s] : std::expm1(z[2 * S + s]);
    const T next = old_cell[s] + c * i;
    gates[s] = i;
    gates[S + s] = o;
    gates[2 * S + s] = c;
    new_cell[s] = next;
    new_h[s] = std::tanh(next) * o;
// becomes
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {
  using V = at::vec::Vectorized<T>;
  for (int64_t s = 0; s < S; s += V::size()) {
    const int64_t n = std::min<int64_t>(V::size(), S - s);  // the last vector may be a part of one
    const auto load = [n](const T* from) { return V::loadu(from, n); };
    const V i = V(1) / (T(1) + load(z + s).neg().exp());
    const T o = V(1) / (T(1) + load(z + S + s).neg().exp());
    const V z_c = load(z + 2 * S + s);
    const V c = V::blendv(z_c.expm1(), z_c, z_c > V(0));
    const V next = load(old_cell + s) + c * i;
    i.store(gates + s, n);
    o.store(gates + S + s, n);
    c.store(gates + 2 * S + s, n);
    next.store(new_cell + s, n);
    (next.tanh() * o).store(new_h + s, n);

//// wrong 11
// says: 'cell/mine'
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {
  for (int64_t s = 0; s < S; ++s) {
// becomes
void row(int64_t S, const T* z, const T* old_cell, T* gates, T* new_h, T* new_cell) {
  for (int64_t s = 0; s + 1 < S; ++s) {
