"""Batch normalisation with a derivative worked out by hand, in two passes over each channel.

With N = B H W values per channel, s = sqrt(var), and r = 1 / (s + eps):

    forward     mean = 1/N sum x;   var = 1/(N-1) sum (x - mean)^2;   y = (x - mean) r

The backward pass. A single x moves y in three ways: by itself, through the mean and through s. With g = d_y:

    d_x = g r                                       by itself
        - 1/N sum(g r)                              d_mean = -sum(g r);  mean has the derivative 1/N for each x
        + ds/dx d_s,    d_s = -r^2 sum(g (x - mean)) = -r sum(g y)
                        ds/dx = 1/(2s) dvar/dx = 1/(2s) 2 (x - mean) / (N-1) = (y / r) / ((N-1) s)

(The mean in var moves, too, but sum (x - mean) is zero, so that moves nothing.) Put together:

    d_x = r (g - mean of g) - y sum(g y) / ((N-1) s)

Two sums and one sweep; and it is written in y. So y is what this kernel saves, and not x: the next layer keeps its
input, y, in any case, and x, usually the result of a convolution, can be freed. Three numbers are kept per channel:
mean, r, and slope = 1 / ((N-1) s). Where all values are equal s is zero, x - mean is zero, and the last term is
0 times infinity: the slope is set to zero there, as PyTorch's `std` does, or the whole channel would be nan.

What it changes over `batch_norm2d/python`, where each operation reads and writes all images. On images beyond the cache
forward takes a third of its time, forward and backward a sixth; inside it the gain is larger still:

* A channel is read for its sums and is still in the core's own cache when it is read again to be normalised. So a
  thread takes a whole channel, and does both. Only where channels are fewer than threads, or few enough to leave one
  idle, all threads do the sums first and then the rest.
* The variance is accurate. sum x^2 - N mean^2 reads x once, and is garbage in float32 as soon as the mean is a few
  thousand times s, because two large numbers cancel. Here a piece of a plane, small enough for the first-level cache,
  is read twice, for its mean and then for the squares around that; pieces are put together in double:

        sum of squares = sum over pieces of (own sum of squares + n (own mean - mean)^2)

  Pieces are cut and put together in the same way for every number of threads, so results are the same to the bit.
* Sums over four vectors at a time: an addition takes four cycles, and with a single sum the other three go idle.
* Small planes are gathered. With W = H = 1 the values of a channel lie C apart, and a vector holds one. Such images are
  copied to C, B, H, W, in which a channel is one long row, and the result is copied back.

`PIECE` is the number of values in a piece, `GRAIN` how many are worth a thread, `NARROW` the plane that needs no copy.
"""

from __future__ import annotations

from ...model.registry import Kernel

#: Statistics, normalisation and its derivative; `conv_bn` is built of these, too.
PASSES = r"""
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/cpu/vec/vec.h>
#include <ATen/ops/empty_cpu_dispatch.h>

// Sums of what f(i, load) returns, K vectors at a time, over 0 <= i < n; load(p) is the vector at p, zeros behind the end.
template <size_t K, class V, class F> std::array<double, K> sums(int64_t n, const F& f) {
  using T = typename V::value_type;
  constexpr int64_t width = V::size(), strands = 4;  // an addition takes four cycles: four may be under way
  V total[strands][K];
  for (auto& strand : total) std::fill_n(strand, K, V(0));
  const auto whole = [](const T* from) { return V::loadu(from); };
  int64_t i = 0;
  for (; i + strands * width <= n; i += strands * width) {
    for (int64_t u = 0; u < strands; ++u) {
      const std::array<V, K> v = f(i + u * width, whole);
      for (size_t k = 0; k < K; ++k) total[u][k] = total[u][k] + v[k];
    }
  }
  for (; i < n; i += width) {
    const int64_t count = std::min(width, n - i);
    const std::array<V, K> v = f(i, [count](const T* from) { return V::loadu(from, count); });
    for (size_t k = 0; k < K; ++k) total[0][k] = total[0][k] + V::set(V(0), v[k], count);
  }
  std::array<double, K> result{};
  for (size_t k = 0; k < K; ++k) {
    T lanes[width];
    ((total[0][k] + total[1][k]) + (total[2][k] + total[3][k])).store(lanes);
    for (int64_t half = width / 2; half > 0; half /= 2) {
      for (int64_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
    }
    result[k] = lanes[0];
  }
  return result;
}

// Calls f(i, load, store) for 0 <= i < n, a vector at a time; the last one may be a part of one.
template <class V, class F> void each_vector(int64_t n, const F& f) {
  using T = typename V::value_type;
  int64_t i = 0;
  for (; i + V::size() <= n; i += V::size()) {
    f(i, [](const T* from) { return V::loadu(from); }, [](T* to, const V& v) { v.store(to); });
  }
  if (const int64_t rest = n - i; rest > 0) {
    f(i, [rest](const T* from) { return V::loadu(from, rest); }, [rest](T* to, const V& v) { v.store(to, rest); });
  }
}

// A part of one plane: where it starts in the images, how long it is, and two sums over it.
struct Piece {
  int64_t start, n;
  std::array<double, 2> sums;
};

// How B images of C channels are cut into pieces.
struct Cut {
  int64_t B, C, plane;
  explicit Cut(const at::Tensor& x) : B(x.size(0)), C(x.size(1)), plane(x.size(2) * x.size(3)) {}
  int64_t per_plane() const { return (plane + PIECE - 1) / PIECE; }
  int64_t per_channel() const { return B * per_plane(); }
  Piece piece(int64_t c, int64_t number) const {
    const int64_t b = number / per_plane(), first = number % per_plane() * PIECE;
    return {(b * C + c) * plane + first, std::min<int64_t>(PIECE, plane - first), {}};
  }
};

// For each channel: measure(piece) all pieces of it, finish(c, pieces), then change(c, piece) each.
template <class Measure, class Finish, class Change>
void each_channel(const Cut& cut, const Measure& measure, const Finish& finish, const Change& change) {
  const int64_t count = cut.per_channel(), threads = at::get_num_threads();
  const int64_t grain = std::max<int64_t>(1, GRAIN / std::max<int64_t>(1, cut.B * cut.plane));
  if (cut.C >= 4 * threads || cut.C % threads == 0 || grain >= cut.C) {
    at::parallel_for(0, cut.C, grain, [&](int64_t first, int64_t last) {
      std::vector<Piece> pieces(count);
      for (int64_t c = first; c < last; ++c) {
        for (int64_t n = 0; n < count; ++n) {
          pieces[n] = cut.piece(c, n);
          measure(c, pieces[n]);
        }
        finish(c, pieces.data());
        for (const Piece& piece : pieces) change(c, piece);
      }
    });
    return;
  }
  std::vector<Piece> pieces(cut.C * count);
  const auto each_piece = [&](const auto& f) {
    at::parallel_for(0, cut.C * count, std::max<int64_t>(1, GRAIN / std::min<int64_t>(PIECE, cut.plane)),
                     [&](int64_t first, int64_t last) {
                       for (int64_t n = first; n < last; ++n) f(n);
                     });
  };
  each_piece([&](int64_t n) {
    pieces[n] = cut.piece(n / count, n % count);
    measure(n / count, pieces[n]);
  });
  for (int64_t c = 0; c < cut.C; ++c) finish(c, pieces.data() + c * count);
  each_piece([&](int64_t n) { change(n / count, pieces[n]); });
}

// Planes too small for vectors: a channel is brought together, and the batch seen as one image of C large planes. With C = 1
// that is x itself and no copy: nothing may be written into it.
inline bool scattered(const at::Tensor& x) { return x.size(0) > 1 && x.size(2) * x.size(3) < NARROW && x.numel() > 0; }
inline at::Tensor gathered(const at::Tensor& x) { return x.transpose(0, 1).contiguous().view({1, x.size(1), x.size(0), -1}); }
inline void scatter(const at::Tensor& from, const at::Tensor& to) {
  to.copy_(from.view({to.size(1), to.size(0), to.size(2), to.size(3)}).transpose(0, 1));
}

// Writes y = (x - mean) r, also over x itself, and returns mean, r and slope of all channels, (3, C).
at::Tensor normalise(const at::Tensor& x, const at::Tensor& y, double eps) {
  if (scattered(x)) {
    const at::Tensor together = gathered(x), result = at::cpu::empty(together.sizes(), x.options());
    at::Tensor statistics = normalise(together, result, eps);
    scatter(result, y);
    return statistics;
  }
  const Cut cut(x);
  const int64_t N = cut.B * cut.plane, C = cut.C;
  at::Tensor statistics = at::cpu::empty({3, C}, x.options());
  if (N == 0) {
    statistics.zero_();
    return statistics;
  }
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "batch_norm2d", [&] {
    using V = at::vec::Vectorized<scalar_t>;
    const scalar_t* x_p = x.const_data_ptr<scalar_t>();
    scalar_t *y_p = y.mutable_data_ptr<scalar_t>(), *mean_p = statistics.mutable_data_ptr<scalar_t>();
    scalar_t *scale_p = mean_p + C, *slope_p = scale_p + C;
    const auto measure = [=](int64_t, Piece& piece) {
      const scalar_t* values = x_p + piece.start;
      const double sum = sums<1, V>(piece.n, [=](int64_t i, auto load) { return std::array{load(values + i)}; })[0];
      const V mean(sum / piece.n);
      const auto [rest, squares] = sums<2, V>(piece.n, [=](int64_t i, auto load) {
        const V d = load(values + i) - mean;
        return std::array{d, d * d};
      });
      piece.sums = {sum, squares - rest * rest / piece.n};  // the rest is what rounding left of sum (x - mean)
    };
    const auto finish = [=, count = cut.per_channel()](int64_t c, const Piece* pieces) {
      double sum = 0, squares = 0;
      for (int64_t n = 0; n < count; ++n) sum += pieces[n].sums[0];
      const double mean = sum / N;
      for (int64_t n = 0; n < count; ++n) {
        const double away = pieces[n].sums[0] / pieces[n].n - mean;
        squares += pieces[n].sums[1] + pieces[n].n * away * away;
      }
      const double s = std::sqrt(squares / (N - 1));
      mean_p[c] = mean;
      scale_p[c] = 1 / (s + eps);
      slope_p[c] = s > 0 ? 1 / ((N - 1) * s) : 0;
    };
    const auto change = [=](int64_t c, const Piece& piece) {
      const V mean(mean_p[c]), scale(scale_p[c]);
      each_vector<V>(piece.n, [=](int64_t i, auto load, auto store) {
        const int64_t at = piece.start + i;
        store(y_p + at, (load(x_p + at) - mean) * scale);
      });
    };
    each_channel(cut, measure, finish, change);
  });
  return statistics;
}

// Writes d_x = r (g - mean of g) - y slope sum(g y), also over `saved`, which is y, or x from which y follows.
void normalise_backward(
    const at::Tensor& g, const at::Tensor& saved, bool saved_is_y, const at::Tensor& d_x, const at::Tensor& statistics) {
  if (scattered(g)) {
    const at::Tensor together = gathered(g), result = at::cpu::empty(together.sizes(), g.options());
    normalise_backward(together, gathered(saved), saved_is_y, result, statistics);
    return scatter(result, d_x);
  }
  const Cut cut(g);
  const int64_t N = cut.B * cut.plane, C = cut.C;
  if (N == 0) return;
  AT_DISPATCH_FLOATING_TYPES(g.scalar_type(), "batch_norm2d", [&] {
    using V = at::vec::Vectorized<scalar_t>;
    const scalar_t *g_p = g.const_data_ptr<scalar_t>(), *saved_p = saved.const_data_ptr<scalar_t>();
    const scalar_t *mean_p = statistics.const_data_ptr<scalar_t>(), *scale_p = mean_p + C, *slope_p = scale_p + C;
    scalar_t* d_x_p = d_x.mutable_data_ptr<scalar_t>();
    std::vector<std::array<scalar_t, 2>> found(C);  // of each channel: mean of g, slope sum(g y)
    const auto measure = [=](int64_t c, Piece& piece) {
      const scalar_t *gs = g_p + piece.start, *values = saved_p + piece.start;
      const V shift(saved_is_y ? 0 : mean_p[c]), factor(saved_is_y ? 1 : scale_p[c]);
      piece.sums = sums<2, V>(piece.n, [=](int64_t i, auto load) {
        const V g = load(gs + i), y = (load(values + i) - shift) * factor;
        return std::array{g, g * y};
      });
    };
    const auto finish = [&](int64_t c, const Piece* pieces) {
      double sum = 0, product = 0;
      for (int64_t n = 0; n < cut.per_channel(); ++n) {
        sum += pieces[n].sums[0];
        product += pieces[n].sums[1];
      }
      found[c] = {static_cast<scalar_t>(sum / N), static_cast<scalar_t>(product * slope_p[c])};
    };
    const auto change = [=, &found](int64_t c, const Piece& piece) {
      const V shift(saved_is_y ? 0 : mean_p[c]), factor(saved_is_y ? 1 : scale_p[c]);
      const V scale(scale_p[c]), mean(found[c][0]), slope(found[c][1]);
      each_vector<V>(piece.n, [=](int64_t i, auto load, auto store) {
        const int64_t at = piece.start + i;
        const V g = load(g_p + at), y = (load(saved_p + at) - shift) * factor;
        store(d_x_p + at, scale * (g - mean) - y * slope);
      });
    };
    each_channel(cut, measure, finish, change);
  });
}
"""

CPP = (
    PASSES
    + r"""
std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& x, double eps) {
  TORCH_CHECK_VALUE(
      x.size(0) * x.size(2) * x.size(3) != 1, "batch_norm2d: the variance of one value per channel is undefined: x has shape ",
      x.sizes(), ", want B*H*W > 1");
  const at::Tensor rows = x.contiguous();  // kept while in use
  at::Tensor y = at::cpu::empty(x.sizes(), x.options());
  at::Tensor statistics = normalise(rows, y, eps);
  return {y, statistics};
}

at::Tensor backward(
    const at::Tensor& d_y, const at::Tensor& y, const at::Tensor& statistics, std::array<bool, 1> wanted) {
  if (!wanted[0]) return {};
  const at::Tensor d_x = at::cpu::empty(y.sizes(), y.options());
  normalise_backward(d_y.contiguous(), y, /*saved_is_y=*/true, d_x, statistics);  // d_y may be expanded
  return d_x;
}
"""
)

PARAMS = {"PIECE": 4096, "GRAIN": 16384, "NARROW": 64}

KERNEL = Kernel("batch_norm2d/aten", cpp=CPP, params=PARAMS, saves=("y",), doc=__doc__ or "")
