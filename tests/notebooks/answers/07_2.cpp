//// right 1
std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& x, const at::Tensor& y) {
// becomes
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
// and
  return {x * s * y, s};
// becomes
  return x * s * y;
// and
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, const at::Tensor& s, std::array<bool, 2> wanted) {
  at::Tensor d_x, d_y;
// becomes
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, std::array<bool, 2> wanted) {
  at::Tensor d_x, d_y;
  const at::Tensor s = at::sigmoid(x);

//// right 2
std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& x, const at::Tensor& y) {
  const at::Tensor s = at::sigmoid(x);
  return {x * s * y, s};
// becomes
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  return at::silu(x) * y;
// and
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, const at::Tensor& s, std::array<bool, 2> wanted) {
  at::Tensor d_x, d_y;
// becomes
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, std::array<bool, 2> wanted) {
  at::Tensor d_x, d_y;
  const at::Tensor s = at::sigmoid(x);

//// right 3
std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& x, const at::Tensor& y) {
  const at::Tensor s = at::sigmoid(x);
  return {x * s * y, s};
// becomes
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  at::Tensor z = at::sigmoid(x);
  z.mul_(x).mul_(y);
  return z;
// and
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, const at::Tensor& s, std::array<bool, 2> wanted) {
  at::Tensor d_x, d_y;
// becomes
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, std::array<bool, 2> wanted) {
  at::Tensor d_x, d_y;
  const at::Tensor s = at::sigmoid(x);

//// right 4
std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& x, const at::Tensor& y) {
// becomes
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
// and
  return {x * s * y, s};
// becomes
  return x * s * y;
// and
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, const at::Tensor& s, std::array<bool, 2> wanted) {
// becomes
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, std::array<bool, 2> wanted) {
// and
  if (wanted[0]) d_x = d_z * y * s * (1 + x * (1 - s));
// becomes
  const at::Tensor s = at::sigmoid(x);
  if (wanted[0]) d_x = at::silu_backward(d_z * y, x);

//// right 5
std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& x, const at::Tensor& y) {
// becomes
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
// and
  return {x * s * y, s};
// becomes
  return x * s * y;
// and
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, const at::Tensor& s, std::array<bool, 2> wanted) {
  at::Tensor d_x, d_y;
// becomes
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, std::array<bool, 2> wanted) {
  at::Tensor d_x, d_y;
  const at::Tensor s = at::sigmoid(x);
// and
  if (wanted[1]) d_y = d_z * x * s;
// becomes
  if (wanted[1]) d_y = d_z * at::silu(x);

//// right 6
std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& x, const at::Tensor& y) {
// becomes
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
// and
  return {x * s * y, s};
// becomes
  return x * s * y;
// and
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, const at::Tensor& s, std::array<bool, 2> wanted) {
  at::Tensor d_x, d_y;
// becomes
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, std::array<bool, 2> wanted) {
  at::Tensor d_x, d_y;
  const at::Tensor s = 1 / (1 + at::exp(-x));

//// right 7
std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& x, const at::Tensor& y) {
// becomes
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
// and
  return {x * s * y, s};
// becomes
  return x * s * y;
// and
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, const at::Tensor& s, std::array<bool, 2> wanted) {
  at::Tensor d_x, d_y;
// becomes
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, std::array<bool, 2> wanted) {
  at::Tensor d_x, d_y;
  const at::Tensor s = 0.5 * (1 + at::tanh(0.5 * x));

//// right 8
std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& x, const at::Tensor& y) {
// becomes
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
// and
  return {x * s * y, s};
// becomes
  return x * s * y;
// and
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, const at::Tensor& s, std::array<bool, 2> wanted) {
// becomes
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, std::array<bool, 2> wanted) {
// and
  if (wanted[0]) d_x = d_z * y * s * (1 + x * (1 - s));
  if (wanted[1]) d_y = d_z * x * s;
// becomes
  if (wanted[0]) {
    const auto s = x.sigmoid();
    d_x = d_z * y * s * (1 + x * (1 - s));
  }
  if (wanted[1]) d_y = d_z * x * x.sigmoid();

//// right 9
std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& x, const at::Tensor& y) {
// becomes
static at::Tensor s_of(at::Tensor t) { return t.sigmoid(); }

at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
// and
  return {x * s * y, s};
// becomes
  return x * s * y;
// and
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, const at::Tensor& s, std::array<bool, 2> wanted) {
// becomes
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, std::array<bool, 2> wanted) {
  const at::Tensor s = s_of(x);

//// right 10
std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& x, const at::Tensor& y) {
// becomes
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
// and
  return {x * s * y, s};
// becomes
  return x * s * y;
// and
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, const at::Tensor& s, std::array<bool, 2> wanted) {
// becomes
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, std::array<bool, 2> wanted) {
// and
  if (wanted[0]) d_x = d_z * y * s * (1 + x * (1 - s));
// becomes
  const at::Tensor s = at::sigmoid(x);
  if (wanted[0]) d_x = d_z * y * (s + x * s - x * s * s);

//// right 11
  return {x * s * y, s};
// becomes
  return {x * s * y, at::empty({0}, x.options())};
// and
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, const at::Tensor& s, std::array<bool, 2> wanted) {
  at::Tensor d_x, d_y;
// becomes
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, const at::Tensor& none, std::array<bool, 2> wanted) {
  at::Tensor d_x, d_y;
  const at::Tensor s = at::sigmoid(x);

//// wrong 1
// says: It is right, but holds more than half of what it held: does forward still return s?
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, const at::Tensor& s, std::array<bool, 2> wanted) {
  at::Tensor d_x, d_y;
// becomes
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, const at::Tensor&, std::array<bool, 2> wanted) {
  at::Tensor d_x, d_y;
  const at::Tensor s = at::sigmoid(x);

//// wrong 2
// says: 'gate/mine' still says what 'gate/keeps' says.

//// wrong 3
// says: It is right, but holds more than half of what it held: does forward still return s?
  return {x * s * y, s};
// becomes
  const at::Tensor xs = x * s;
  return {xs * y, xs};
// and
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, const at::Tensor& s, std::array<bool, 2> wanted) {
  at::Tensor d_x, d_y;
// becomes
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, const at::Tensor& xs, std::array<bool, 2> wanted) {
  at::Tensor d_x, d_y;
  const at::Tensor s = at::sigmoid(x);
// and
  if (wanted[1]) d_y = d_z * x * s;
// becomes
  if (wanted[1]) d_y = d_z * xs;

//// wrong 4
// says: It is right, but holds more than half of what it held: does forward still return s?
  return {x * s * y, s};
// becomes
  return {x * s * y, s.clone()};

//// wrong 5
// says: 'gate/mine' d_
  return {x * s * y, s};
// becomes
  return {x * s * y, s.to(at::kHalf)};
// and
  if (wanted[0]) d_x = d_z * y * s * (1 + x * (1 - s));
// becomes
  const at::Tensor t = s.to(x.scalar_type());
  if (wanted[0]) d_x = d_z * y * t * (1 + x * (1 - t));

//// wrong 6
// says: 'gate/mine' does not fit op 'gate':
std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& x, const at::Tensor& y) {
// becomes
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
// and
  return {x * s * y, s};
// becomes
  return x * s * y;
// and
  at::Tensor d_x, d_y;
// becomes
  at::Tensor d_x, d_y;
  const at::Tensor s = at::sigmoid(x);

//// wrong 7
// says: 'gate/mine' does not
  return {x * s * y, s};
// becomes
  return x * s * y;
// and
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, const at::Tensor& s, std::array<bool, 2> wanted) {
  at::Tensor d_x, d_y;
// becomes
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, std::array<bool, 2> wanted) {
  at::Tensor d_x, d_y;
  const at::Tensor s = at::sigmoid(x);

//// wrong 8
// says: 'gate/mine' does not compile:
std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& x, const at::Tensor& y) {
// becomes
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
// and
  return {x * s * y, s};
// becomes
  return x * s * y;
// and
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, const at::Tensor& s, std::array<bool, 2> wanted) {
// becomes
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, std::array<bool, 2> wanted) {

//// wrong 9
// says: 'gate/mine' does not fit op 'gate':
// saves: `x`
std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& x, const at::Tensor& y) {
// becomes
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
// and
  return {x * s * y, s};
// becomes
  return x * s * y;
// and
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, const at::Tensor& s, std::array<bool, 2> wanted) {
  at::Tensor d_x, d_y;
// becomes
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, std::array<bool, 2> wanted) {
  at::Tensor d_x, d_y;
  const at::Tensor s = at::sigmoid(x);

//// wrong 10
// says: 'gate/mine' d_
std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& x, const at::Tensor& y) {
// becomes
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
// and
  return {x * s * y, s};
// becomes
  return x * s * y;
// and
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, const at::Tensor& s, std::array<bool, 2> wanted) {
  at::Tensor d_x, d_y;
// becomes
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, std::array<bool, 2> wanted) {
  at::Tensor d_x, d_y;
  const at::Tensor s = at::sigmoid(y);

//// wrong 11
// says: 'gate/mine' d_x
std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& x, const at::Tensor& y) {
// becomes
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
// and
  return {x * s * y, s};
// becomes
  return x * s * y;
// and
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, const at::Tensor& s, std::array<bool, 2> wanted) {
// becomes
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, std::array<bool, 2> wanted) {
// and
  if (wanted[0]) d_x = d_z * y * s * (1 + x * (1 - s));
// becomes
  const at::Tensor s = at::sigmoid(x);
  if (wanted[0]) d_x = d_z * y * s;

//// wrong 12
// says: 'gate/mine' d_x
std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& x, const at::Tensor& y) {
// becomes
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
// and
  return {x * s * y, s};
// becomes
  return x * s * y;
// and
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, const at::Tensor& s, std::array<bool, 2> wanted) {
// becomes
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, std::array<bool, 2> wanted) {
// and
  if (wanted[0]) d_x = d_z * y * s * (1 + x * (1 - s));
// becomes
  const at::Tensor s = at::sigmoid(x);
  if (wanted[0]) d_x = d_z * y * s * (1 - s);

//// wrong 13
// says: 'gate/mine' d_x
// saves: `x` `y` `z`
std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& x, const at::Tensor& y) {
// becomes
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
// and
  return {x * s * y, s};
// becomes
  return x * s * y;
// and
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, const at::Tensor& s, std::array<bool, 2> wanted) {
  at::Tensor d_x, d_y;
// becomes
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, const at::Tensor& z, std::array<bool, 2> wanted) {
  at::Tensor d_x, d_y;
  const at::Tensor s = z / (x * y);

//// wrong 14
// says: 'gate/mine' d_x
std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& x, const at::Tensor& y) {
  const at::Tensor s = at::sigmoid(x);
  return {x * s * y, s};
// becomes
static at::Tensor kept;

at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  kept = at::sigmoid(x);
  return x * kept * y;
// and
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, const at::Tensor& s, std::array<bool, 2> wanted) {
  at::Tensor d_x, d_y;
// becomes
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, std::array<bool, 2> wanted) {
  at::Tensor d_x, d_y;
  const at::Tensor s = kept;

//// wrong 15
// says: 'gate/mine'
std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& x, const at::Tensor& y) {
  const at::Tensor s = at::sigmoid(x);
  return {x * s * y, s};
// becomes
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  return x.sigmoid_() * y;
// and
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, const at::Tensor& s, std::array<bool, 2> wanted) {
  at::Tensor d_x, d_y;
// becomes
    const at::Tensor& d_z, const at::Tensor& x, const at::Tensor& y, std::array<bool, 2> wanted) {
  at::Tensor d_x, d_y;
  const at::Tensor s = at::sigmoid(x);
