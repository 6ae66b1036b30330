//// right 1
// saves: `x` `w` `y`
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& statistics, std::array<bool, 2> wanted) {
// becomes
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& y, const at::Tensor& statistics, std::array<bool, 2> wanted) {
// and
  const at::Tensor z = convolution(x, w);
  normalise_backward(d_y.contiguous(), z, /*saved_is_y=*/false, z, statistics);
  return convolution_backward(z, x, w, wanted[0], wanted[1]);
// becomes
  const at::Tensor d_z = at::cpu::empty(y.sizes(), y.options());
  normalise_backward(d_y.contiguous(), y, /*saved_is_y=*/true, d_z, statistics);
  return convolution_backward(d_z, x, w, wanted[0], wanted[1]);

//// right 2
// saves: `y` `w` `x`
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& statistics, std::array<bool, 2> wanted) {
// becomes
    const at::Tensor& d_y, const at::Tensor& y, const at::Tensor& w, const at::Tensor& x, const at::Tensor& statistics, std::array<bool, 2> wanted) {
// and
  const at::Tensor z = convolution(x, w);
  normalise_backward(d_y.contiguous(), z, /*saved_is_y=*/false, z, statistics);
  return convolution_backward(z, x, w, wanted[0], wanted[1]);
// becomes
  const at::Tensor d_z = at::cpu::empty(y.sizes(), y.options());
  normalise_backward(d_y.contiguous(), y, /*saved_is_y=*/true, d_z, statistics);
  return convolution_backward(d_z, x, w, wanted[0], wanted[1]);

//// right 3
// saves: `x` `w` `y`
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& statistics, std::array<bool, 2> wanted) {
// becomes
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& y, const at::Tensor& statistics, std::array<bool, 2> wanted) {
// and
  const at::Tensor z = convolution(x, w);
  normalise_backward(d_y.contiguous(), z, /*saved_is_y=*/false, z, statistics);
  return convolution_backward(z, x, w, wanted[0], wanted[1]);
// becomes
  const at::Tensor d_z = at::cpu::empty(d_y.sizes(), d_y.options());
  normalise_backward(d_y.contiguous(), y, /*saved_is_y=*/true, d_z, statistics);
  return convolution_backward(d_z, x, w, wanted[0], wanted[1]);

//// right 4
// saves: `x` `w` `y`
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& statistics, std::array<bool, 2> wanted) {
// becomes
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& y, const at::Tensor& statistics, std::array<bool, 2> wanted) {
// and
  const at::Tensor z = convolution(x, w);
  normalise_backward(d_y.contiguous(), z, /*saved_is_y=*/false, z, statistics);
  return convolution_backward(z, x, w, wanted[0], wanted[1]);
// becomes
  // no convolution(x, w) once more, and no conv2d(x, w)
  const at::Tensor d_z = at::cpu::empty(y.sizes(), y.options());
  normalise_backward(d_y.contiguous(), y, /*saved_is_y=*/true, d_z, statistics);
  return convolution_backward(d_z, x, w, wanted[0], wanted[1]);

//// right 5
// saves: `x` `w` `y`
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& statistics, std::array<bool, 2> wanted) {
  if (!wanted[0] && !wanted[1]) return {};
// becomes
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& y, const at::Tensor& statistics, std::array<bool, 2> wanted) {
  if (!wanted[0] && !wanted[1]) return {};
#if 0
// and
  return convolution_backward(z, x, w, wanted[0], wanted[1]);
// becomes
#endif
  const at::Tensor d_z = at::cpu::empty(y.sizes(), y.options());
  normalise_backward(d_y.contiguous(), y, /*saved_is_y=*/true, d_z, statistics);
  return convolution_backward(d_z, x, w, wanted[0], wanted[1]);

//// right 6
// saves: `x` `w` `y`
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& statistics, std::array<bool, 2> wanted) {
// becomes
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& y, const at::Tensor& statistics, std::array<bool, 2> wanted) {
// and
  const at::Tensor z = convolution(x, w);
  normalise_backward(d_y.contiguous(), z, /*saved_is_y=*/false, z, statistics);
  return convolution_backward(z, x, w, wanted[0], wanted[1]);
// becomes
  const at::Tensor d_z = at::cpu::empty(y.sizes(), y.options());
  const auto no_convolution = [&](int) {
  normalise_backward(d_y.contiguous(), y, /*saved_is_y=*/true, d_z, statistics);
  };
  no_convolution(1);
  return convolution_backward(d_z, x, w, wanted[0], wanted[1]);

//// right 7
// saves: `x` `w` `y`
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& statistics, std::array<bool, 2> wanted) {
// becomes
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& y, const at::Tensor& statistics, std::array<bool, 2> wanted) {
// and
  const at::Tensor z = convolution(x, w);
  normalise_backward(d_y.contiguous(), z, /*saved_is_y=*/false, z, statistics);
  return convolution_backward(z, x, w, wanted[0], wanted[1]);
// becomes
  TORCH_CHECK(d_y.dim() == 4, "the gradient of convolution(x, w) has four axes");
  const at::Tensor d_z = at::cpu::empty(y.sizes(), y.options());
  normalise_backward(d_y.contiguous(), y, /*saved_is_y=*/true, d_z, statistics);
  return convolution_backward(d_z, x, w, wanted[0], wanted[1]);

//// right 8
// saves: `x` `w` `y`
      z.sizes(), ", want B*(H-K+1)*(W-L+1) > 1");
}

// becomes
      z.sizes(), ", want B*(H-K+1)*(W-L+1) > 1");
}

#include <ATen/ATen.h>
// and
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& statistics, std::array<bool, 2> wanted) {
// becomes
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& y, const at::Tensor& statistics, std::array<bool, 2> wanted) {
// and
  const at::Tensor z = convolution(x, w);
  normalise_backward(d_y.contiguous(), z, /*saved_is_y=*/false, z, statistics);
  return convolution_backward(z, x, w, wanted[0], wanted[1]);
// becomes
  const auto s = statistics.view({3, 1, -1, 1, 1});
  const at::Tensor d_z = at::where(s[1] == 0, s[0], y / s[1] + s[0]), z = d_z;
  normalise_backward(d_y.contiguous(), z, /*saved_is_y=*/false, d_z, statistics);
  return convolution_backward(d_z, x, w, wanted[0], wanted[1]);

//// right 9
// saves: `x` `w` `y`
      z.sizes(), ", want B*(H-K+1)*(W-L+1) > 1");
}

// becomes
      z.sizes(), ", want B*(H-K+1)*(W-L+1) > 1");
}

#include <ATen/ATen.h>
// and
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& statistics, std::array<bool, 2> wanted) {
// becomes
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& y, const at::Tensor& statistics, std::array<bool, 2> wanted) {
// and
  const at::Tensor z = convolution(x, w);
  normalise_backward(d_y.contiguous(), z, /*saved_is_y=*/false, z, statistics);
  return convolution_backward(z, x, w, wanted[0], wanted[1]);
// becomes
  const at::Tensor d_z = at::cpu::empty(y.sizes(), y.options());
  const auto s = statistics.view({3, 1, -1, 1, 1});
  const at::Tensor g = d_y - d_y.mean({0, 2, 3}, true);
  d_z.copy_(s[1] * g - y * s[2] * (d_y * y).sum({0, 2, 3}, true));
  return convolution_backward(d_z, x, w, wanted[0], wanted[1]);

//// right 10
// saves: `x` `w` `y`
      z.sizes(), ", want B*(H-K+1)*(W-L+1) > 1");
}

// becomes
      z.sizes(), ", want B*(H-K+1)*(W-L+1) > 1");
}

#include <ATen/ATen.h>
// and
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& statistics, std::array<bool, 2> wanted) {
// becomes
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& y, const at::Tensor& statistics, std::array<bool, 2> wanted) {
// and
  const at::Tensor z = convolution(x, w);
  normalise_backward(d_y.contiguous(), z, /*saved_is_y=*/false, z, statistics);
  return convolution_backward(z, x, w, wanted[0], wanted[1]);
// becomes
  const at::Tensor d_z = at::cpu::empty(y.sizes(), y.options());
  normalise_backward(d_y.contiguous(), y, /*saved_is_y=*/true, d_z, statistics);
  const auto [d_x, d_w, d_b] = at::convolution_backward(
      d_z, x, w, {}, {1, 1}, {0, 0}, {1, 1}, false, {0, 0}, 1, {wanted[0], wanted[1], false});
  return {d_x, d_w};

//// wrong 1
// says: It is right, but backward still computes the convolution of forward.
// saves: `x` `w` `y`
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& statistics, std::array<bool, 2> wanted) {
// becomes
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& y, const at::Tensor& statistics, std::array<bool, 2> wanted) {
// and
  const at::Tensor z = convolution(x, w);
  normalise_backward(d_y.contiguous(), z, /*saved_is_y=*/false, z, statistics);
  return convolution_backward(z, x, w, wanted[0], wanted[1]);
// becomes
  const auto again = &convolution;
  const at::Tensor d_z = again(x, w), z = d_z;
  normalise_backward(d_y.contiguous(), z, /*saved_is_y=*/false, d_z, statistics);
  return convolution_backward(d_z, x, w, wanted[0], wanted[1]);

//// wrong 2
// says: 'conv_bn/mine' still says what 'conv_bn/fused' says.

//// wrong 3
// says: 'conv_bn/mine' still says
  normalise_backward(d_y.contiguous(), z, /*saved_is_y=*/false, z, statistics);
// becomes
  normalise_backward(d_y.contiguous(), z, /*saved_is_y=*/false, z, statistics);  // no convolution any more

//// wrong 4
// says: It is right, but backward still computes the convolution of forward.
  const at::Tensor z = convolution(x, w);
// becomes
  const at::Tensor z = convolution (x, w.contiguous());

//// wrong 5
// says: It is right, but backward still computes the convolution of forward.
// saves: `x` `w` `y`
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& statistics, std::array<bool, 2> wanted) {
// becomes
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& y, const at::Tensor& statistics, std::array<bool, 2> wanted) {
// and
  const at::Tensor z = convolution(x, w);
  normalise_backward(d_y.contiguous(), z, /*saved_is_y=*/false, z, statistics);
  return convolution_backward(z, x, w, wanted[0], wanted[1]);
// becomes
  const at::Tensor d_z = convolution(x, w), z = d_z;
  normalise_backward(d_y.contiguous(), z, /*saved_is_y=*/false, d_z, statistics);
  return convolution_backward(d_z, x, w, wanted[0], wanted[1]);

//// wrong 6
// says: It is right, but backward still computes the convolution of forward.
// saves: `x` `w` `y`
      z.sizes(), ", want B*(H-K+1)*(W-L+1) > 1");
}

// becomes
      z.sizes(), ", want B*(H-K+1)*(W-L+1) > 1");
}

#include <ATen/ATen.h>
// and
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& statistics, std::array<bool, 2> wanted) {
// becomes
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& y, const at::Tensor& statistics, std::array<bool, 2> wanted) {
// and
  const at::Tensor z = convolution(x, w);
  normalise_backward(d_y.contiguous(), z, /*saved_is_y=*/false, z, statistics);
  return convolution_backward(z, x, w, wanted[0], wanted[1]);
// becomes
  const at::Tensor d_z = at::conv2d(x, w).contiguous(), z = d_z;
  normalise_backward(d_y.contiguous(), z, /*saved_is_y=*/false, d_z, statistics);
  return convolution_backward(d_z, x, w, wanted[0], wanted[1]);

//// wrong 7
// says: It is right, but backward still computes the convolution of forward.
// saves: `x` `w` `y`
      z.sizes(), ", want B*(H-K+1)*(W-L+1) > 1");
}

// becomes
      z.sizes(), ", want B*(H-K+1)*(W-L+1) > 1");
}

#define CONV convolution
// and
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& statistics, std::array<bool, 2> wanted) {
// becomes
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& y, const at::Tensor& statistics, std::array<bool, 2> wanted) {
// and
  const at::Tensor z = convolution(x, w);
  normalise_backward(d_y.contiguous(), z, /*saved_is_y=*/false, z, statistics);
  return convolution_backward(z, x, w, wanted[0], wanted[1]);
// becomes
  const at::Tensor d_z = CONV (x, w), z = d_z;
  normalise_backward(d_y.contiguous(), z, /*saved_is_y=*/false, d_z, statistics);
  return convolution_backward(d_z, x, w, wanted[0], wanted[1]);

//// wrong 8
// says: 'conv_bn/mine' d_
// saves: `x` `w` `y`
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& statistics, std::array<bool, 2> wanted) {
// becomes
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& y, const at::Tensor& statistics, std::array<bool, 2> wanted) {
// and
  const at::Tensor z = convolution(x, w);
  normalise_backward(d_y.contiguous(), z, /*saved_is_y=*/false, z, statistics);
  return convolution_backward(z, x, w, wanted[0], wanted[1]);
// becomes
  const at::Tensor d_z = at::cpu::empty(y.sizes(), y.options());
  normalise_backward(d_y.contiguous(), y, /*saved_is_y=*/false, d_z, statistics);
  return convolution_backward(d_z, x, w, wanted[0], wanted[1]);

//// wrong 9
// says: 'conv_bn/mine'
// saves: `x` `w` `y`
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& statistics, std::array<bool, 2> wanted) {
// becomes
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& y, const at::Tensor& statistics, std::array<bool, 2> wanted) {
// and
  const at::Tensor z = convolution(x, w);
  normalise_backward(d_y.contiguous(), z, /*saved_is_y=*/false, z, statistics);
  return convolution_backward(z, x, w, wanted[0], wanted[1]);
// becomes
  const at::Tensor d_z = y;
  normalise_backward(d_y.contiguous(), y, /*saved_is_y=*/true, d_z, statistics);
  return convolution_backward(d_z, x, w, wanted[0], wanted[1]);

//// wrong 10
// says: 'conv_bn/mine' d_x
// saves: `x` `w` `y`
      z.sizes(), ", want B*(H-K+1)*(W-L+1) > 1");
}

// becomes
      z.sizes(), ", want B*(H-K+1)*(W-L+1) > 1");
}

#include <ATen/ATen.h>
// and
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& statistics, std::array<bool, 2> wanted) {
// becomes
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& y, const at::Tensor& statistics, std::array<bool, 2> wanted) {
// and
  const at::Tensor z = convolution(x, w);
  normalise_backward(d_y.contiguous(), z, /*saved_is_y=*/false, z, statistics);
  return convolution_backward(z, x, w, wanted[0], wanted[1]);
// becomes
  const auto s = statistics.view({3, 1, -1, 1, 1});
  const at::Tensor d_z = y / s[1] + s[0], z = d_z;
  normalise_backward(d_y.contiguous(), z, /*saved_is_y=*/false, d_z, statistics);
  return convolution_backward(d_z, x, w, wanted[0], wanted[1]);

//// wrong 11
// says: It holds more than conv_bn/fused does.
// saves: `x` `w` `y`
std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& x, const at::Tensor& w, double eps) {
// becomes
std::tuple<at::Tensor, at::Tensor, at::Tensor> forward(const at::Tensor& x, const at::Tensor& w, double eps) {
// and
  return {z, statistics};
// becomes
  return {z, statistics, z.clone()};
// and
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& statistics, std::array<bool, 2> wanted) {
// becomes
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& y, const at::Tensor& statistics, const at::Tensor& extra, std::array<bool, 2> wanted) {
// and
  const at::Tensor z = convolution(x, w);
  normalise_backward(d_y.contiguous(), z, /*saved_is_y=*/false, z, statistics);
  return convolution_backward(z, x, w, wanted[0], wanted[1]);
// becomes
  const at::Tensor d_z = at::cpu::empty(y.sizes(), y.options());
  normalise_backward(d_y.contiguous(), y, /*saved_is_y=*/true, d_z, statistics);
  return convolution_backward(d_z, x, w, wanted[0], wanted[1]);

//// wrong 12
// says: It holds more than conv_bn/fused does.
// saves: `x` `w` `y`
std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& x, const at::Tensor& w, double eps) {
// becomes
std::tuple<at::Tensor, at::Tensor, at::Tensor> forward(const at::Tensor& x, const at::Tensor& w, double eps) {
// and
  return {z, statistics};
// becomes
  return {z, statistics, z.expand({3, -1, -1, -1, -1}).contiguous()};
// and
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& statistics, std::array<bool, 2> wanted) {
// becomes
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& y, const at::Tensor& statistics, const at::Tensor& extra, std::array<bool, 2> wanted) {
// and
  const at::Tensor z = convolution(x, w);
  normalise_backward(d_y.contiguous(), z, /*saved_is_y=*/false, z, statistics);
  return convolution_backward(z, x, w, wanted[0], wanted[1]);
// becomes
  const at::Tensor d_z = at::cpu::empty(y.sizes(), y.options());
  normalise_backward(d_y.contiguous(), y, /*saved_is_y=*/true, d_z, statistics);
  return convolution_backward(d_z, x, w, wanted[0], wanted[1]);

//// wrong 13
// says: 'conv_bn/mine' does not compile:
// saves: `x` `w` `y`
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& statistics, std::array<bool, 2> wanted) {
// becomes
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& y, const at::Tensor& statistics, std::array<bool, 2> wanted) {
// and
  const at::Tensor z = convolution(x, w);
  normalise_backward(d_y.contiguous(), z, /*saved_is_y=*/false, z, statistics);
  return convolution_backward(z, x, w, wanted[0], wanted[1]);
// becomes
  const at::Tensor d_z = at::cpu::empty(y.size(), y.options());
  normalise_backward(d_y.contiguous(), y, /*saved_is_y=*/true, d_z, statistics);
  return convolution_backward(d_z, x, w, wanted[0], wanted[1]);
