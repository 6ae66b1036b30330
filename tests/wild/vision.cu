// Images and boxes: pooling, convolution, upsampling, nms, distances between points.

//// max_pool2d_cuda
// name: "max_pool"
// reference: torch.nn.functional.max_pool2d
// inputs: (seeded(2, 3, 11, 13), 3, 2)
// wrong: ("ow * s + j", "ow + j")
torch::Tensor max_pool2d_cuda(torch::Tensor input, int kernel_size, int stride);

//// cuda_sources

#include <torch/extension.h>
__global__ void max_pool2d_kernel(const float* in, float* out, int H, int W, int OH, int OW, int k, int s, int total) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= total) return;
    int ow = idx % OW, oh = (idx / OW) % OH, nc = idx / (OW * OH);
    float best = -INFINITY;
    for (int i = 0; i < k; i++)
        for (int j = 0; j < k; j++)
            best = fmaxf(best, in[(nc * H + oh * s + i) * W + ow * s + j]);
    out[idx] = best;
}
torch::Tensor max_pool2d_cuda(torch::Tensor input, int kernel_size, int stride) {
    const int N = input.size(0), C = input.size(1), H = input.size(2), W = input.size(3);
    const int OH = (H - kernel_size) / stride + 1, OW = (W - kernel_size) / stride + 1;
    auto out = torch::empty({N, C, OH, OW}, input.options());
    const int total = out.numel();
    max_pool2d_kernel<<<(total + 255) / 256, 256>>>(
        input.data_ptr<float>(), out.data_ptr<float>(), H, W, OH, OW, kernel_size, stride, total);
    return out;
}

//// conv1d_valid
// name: "conv1d"
// reference: lambda x, w: torch.nn.functional.conv1d(x[None, None], w[None, None])[0, 0]
// inputs: (seeded(17), seeded(3))
// wrong: ("xa[i + k]", "xa[i + K - 1 - k]")

#include <torch/extension.h>
torch::Tensor conv1d_valid(torch::Tensor x, torch::Tensor w) {
  const auto N = x.size(0), K = w.size(0);
  auto y = torch::zeros({N - K + 1}, x.options());
  auto xa = x.accessor<float, 1>();
  auto wa = w.accessor<float, 1>();
  auto ya = y.accessor<float, 1>();
  for (int64_t i = 0; i < N - K + 1; ++i)
    for (int64_t k = 0; k < K; ++k) ya[i] += xa[i + k] * wa[k];
  return y;
}

//// upsample_nearest
// name: "upsample"
// reference: lambda x, scale: x.repeat_interleave(scale, 1).repeat_interleave(scale, 2)
// inputs: (seeded(3, 5, 7), 2)
// wrong: ("w / s", "w % W")
torch::Tensor upsample_nearest(torch::Tensor x, int64_t scale);

//// cuda_sources

template <typename scalar_t>
__global__ void upsample_kernel(const scalar_t* x, scalar_t* y, int H, int W, int s, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i >= n) return;
  int w = i % (W * s), h = (i / (W * s)) % (H * s);
  int64_t c = i / ((int64_t)W * s * H * s);
  y[i] = x[(c * H + h / s) * W + w / s];
}
torch::Tensor upsample_nearest(torch::Tensor x, int64_t scale) {
  auto y = torch::empty({x.size(0), x.size(1) * scale, x.size(2) * scale}, x.options());
  const int64_t n = y.numel();
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "upsample_nearest", ([&] {
    upsample_kernel<scalar_t><<<(n + 255) / 256, 256>>>(
        x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), x.size(1), x.size(2), scale, n);
  }));
  return y;
}

//// box_iou
// reference: iou
// inputs: (boxes(5), boxes(7, 3))
// wrong: ("(q[3] - q[1]) - s)", "(q[3] - q[1]))")
torch::Tensor box_iou(torch::Tensor a, torch::Tensor b);

//// cuda_sources

__global__ void iou_kernel(const float* a, const float* b, float* out, int n, int m) {
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y;
  if (j >= m) return;
  const float* p = a + 4 * i;
  const float* q = b + 4 * j;
  float w = fmaxf(fminf(p[2], q[2]) - fmaxf(p[0], q[0]), 0.f);
  float h = fmaxf(fminf(p[3], q[3]) - fmaxf(p[1], q[1]), 0.f);
  float s = w * h;
  out[i * m + j] = s / ((p[2] - p[0]) * (p[3] - p[1]) + (q[2] - q[0]) * (q[3] - q[1]) - s);
}
torch::Tensor box_iou(torch::Tensor a, torch::Tensor b) {
  auto out = torch::empty({a.size(0), b.size(0)}, a.options());
  dim3 grid((b.size(0) + 63) / 64, a.size(0));
  iou_kernel<<<grid, 64>>>(a.data_ptr<float>(), b.data_ptr<float>(), out.data_ptr<float>(), a.size(0), b.size(0));
  return out;
}

//// nms
// reference: keep
// inputs: (boxes(9), seeded(9), 0.3)
// wrong: ("int64_t _j = _i + 1", "int64_t _j = _i + 2")

#include <torch/extension.h>
#include <algorithm>

at::Tensor nms(const at::Tensor& dets, const at::Tensor& scores, const double threshold) {
  auto x1_t = dets.select(1, 0).contiguous();
  auto y1_t = dets.select(1, 1).contiguous();
  auto x2_t = dets.select(1, 2).contiguous();
  auto y2_t = dets.select(1, 3).contiguous();
  at::Tensor areas_t = (x2_t - x1_t) * (y2_t - y1_t);
  auto order_t = std::get<1>(scores.sort(true, 0, true));
  auto ndets = dets.size(0);
  at::Tensor suppressed_t = at::zeros({ndets}, dets.options().dtype(at::kByte));
  at::Tensor keep_t = at::zeros({ndets}, order_t.options());
  auto suppressed = suppressed_t.data_ptr<uint8_t>();
  auto keep = keep_t.data_ptr<int64_t>();
  auto order = order_t.data_ptr<int64_t>();
  auto x1 = x1_t.data_ptr<float>(), y1 = y1_t.data_ptr<float>(), x2 = x2_t.data_ptr<float>(), y2 = y2_t.data_ptr<float>();
  auto areas = areas_t.data_ptr<float>();
  int64_t num_to_keep = 0;
  for (int64_t _i = 0; _i < ndets; _i++) {
    auto i = order[_i];
    if (suppressed[i] == 1) continue;
    keep[num_to_keep++] = i;
    for (int64_t _j = _i + 1; _j < ndets; _j++) {
      auto j = order[_j];
      if (suppressed[j] == 1) continue;
      auto w = std::max(0.f, std::min(x2[i], x2[j]) - std::max(x1[i], x1[j]));
      auto h = std::max(0.f, std::min(y2[i], y2[j]) - std::max(y1[i], y1[j]));
      auto inter = w * h;
      if (inter / (areas[i] + areas[j] - inter) > threshold) suppressed[j] = 1;
    }
  }
  return keep_t.narrow(0, 0, num_to_keep);
}

//// chamfer_forward
// name: "chamfer"
// functions: ["chamfer_nearest"]
// reference: nearest
// inputs: (seeded(7, 3), seeded(5, 3))
// wrong: ("z * z", "z")
std::vector<torch::Tensor> chamfer_nearest(torch::Tensor xyz1, torch::Tensor xyz2);

//// cuda_sources

#include <torch/extension.h>
__global__ void nearest_kernel(const float* a, const float* b, float* dist, int* idx, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float best = INFINITY;
  int which = 0;
  for (int j = 0; j < m; ++j) {
    float x = a[3 * i] - b[3 * j], y = a[3 * i + 1] - b[3 * j + 1], z = a[3 * i + 2] - b[3 * j + 2];
    float d = x * x + y * y + z * z;
    if (d < best) { best = d; which = j; }
  }
  dist[i] = best;
  idx[i] = which;
}
std::vector<torch::Tensor> chamfer_nearest(torch::Tensor xyz1, torch::Tensor xyz2) {
  const int n = xyz1.size(0), m = xyz2.size(0);
  auto dist = torch::zeros({n}, xyz1.options());
  auto idx = torch::zeros({n}, xyz1.options().dtype(torch::kInt32));
  nearest_kernel<<<(n + 63) / 64, 64>>>(xyz1.data_ptr<float>(), xyz2.data_ptr<float>(), dist.data_ptr<float>(), idx.data_ptr<int>(), n, m);
  return {dist, idx};
}

//// roi_max
// reference: lambda image, rois: torch.stack([image[:, y1:y2 + 1, x1:x2 + 1].amax((1, 2)) for y1, x1, y2, x2 in rois.tolist()])
// inputs: rois
// wrong: ("box[r][3] + 1", "box[r][3]")
// shim: 4

#include <torch/extension.h>
// The largest value within each box, given as rows of (y1, x1, y2, x2) in pixels.
torch::Tensor roi_max(torch::Tensor image, torch::Tensor rois) {
  const auto C = image.size(0), R = rois.size(0);
  auto out = torch::empty({R, C}, image.options());
  auto box = rois.accessor<int64_t, 2>();
  for (int64_t r = 0; r < R; ++r)
    out[r] = image.slice(1, box[r][0], box[r][2] + 1).slice(2, box[r][1], box[r][3] + 1).amax({1, 2});
  return out;
}

//// roi_align_forward
// name: "roi_align"
// functions: ["roi_align_forward", "roi_align_backward"]
// reference: sample
// inputs: (seeded(2, 9, 11), torch.cat([seeded(3, 2).abs(), seeded(3, 2).abs() + 3], 1), 2)
// wrong: ("out[i] * fy * fx", "out[i] * fy")

#include <torch/extension.h>
torch::Tensor roi_align_forward(torch::Tensor image, torch::Tensor rois, int64_t pooled);
torch::Tensor roi_align_backward(torch::Tensor grad_out, torch::Tensor image, torch::Tensor rois, int64_t pooled);

//// cuda_sources

// One thread for each value; forward reads the four pixels around it, backward adds to them. Boxes are (x1, y1, x2, y2).
template <bool kBackward>
__global__ void roi_kernel(float* image, const float* rois, float* out, int C, int H, int W, int P, int total) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= total) return;
  const int px = i % P, py = i / P % P, c = i / P / P % C, r = i / P / P / C;
  const float* box = rois + 4 * r;
  const float x = fminf(fmaxf(box[0] + (px + 0.5f) * fmaxf(box[2] - box[0], 1.f) / P, 0.f), W - 1.f);
  const float y = fminf(fmaxf(box[1] + (py + 0.5f) * fmaxf(box[3] - box[1], 1.f) / P, 0.f), H - 1.f);
  const int x0 = (int)x, y0 = (int)y, x1 = min(x0 + 1, W - 1), y1 = min(y0 + 1, H - 1);
  const float fx = x - x0, fy = y - y0;
  float* p = image + c * H * W;
  if (kBackward) {
    atomicAdd(p + y0 * W + x0, out[i] * (1 - fy) * (1 - fx));
    atomicAdd(p + y0 * W + x1, out[i] * (1 - fy) * fx);
    atomicAdd(p + y1 * W + x0, out[i] * fy * (1 - fx));
    atomicAdd(p + y1 * W + x1, out[i] * fy * fx);
  } else {
    out[i] = (1 - fy) * ((1 - fx) * p[y0 * W + x0] + fx * p[y0 * W + x1]) + fy * ((1 - fx) * p[y1 * W + x0] + fx * p[y1 * W + x1]);
  }
}
torch::Tensor roi_align_forward(torch::Tensor image, torch::Tensor rois, int64_t pooled) {
  const int C = image.size(0), H = image.size(1), W = image.size(2), P = pooled;
  auto out = torch::empty({rois.size(0), C, P, P}, image.options());
  const int total = out.numel();
  roi_kernel<false><<<(total + 127) / 128, 128>>>(
      image.data_ptr<float>(), rois.data_ptr<float>(), out.data_ptr<float>(), C, H, W, P, total);
  return out;
}
torch::Tensor roi_align_backward(torch::Tensor grad_out, torch::Tensor image, torch::Tensor rois, int64_t pooled) {
  const int C = image.size(0), H = image.size(1), W = image.size(2), P = pooled;
  auto grad_image = torch::zeros_like(image);
  const int total = grad_out.numel();
  roi_kernel<true><<<(total + 127) / 128, 128>>>(
      grad_image.data_ptr<float>(), rois.data_ptr<float>(), grad_out.data_ptr<float>(), C, H, W, P, total);
  return grad_image;
}
