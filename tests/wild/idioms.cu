// Idioms: macros and old spellings, C++ autograd functions, optional arguments, lists, extents as arguments, square examples.

//// relu_vec4
// about: Four numbers at a time, and a check that says so.
// reference: torch.relu
// inputs: (torch.randn(256, 256, generator=torch.Generator().manual_seed(0)),)
// wrong: ("v.w = fmaxf(v.w, 0.f)", "v.w = fmaxf(v.z, 0.f)")
torch::Tensor relu_vec4(torch::Tensor x);

//// cuda_sources

__global__ void relu_vec4_kernel(const float4* __restrict__ x, float4* __restrict__ y, int n4) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n4) return;
  float4 v = x[i];
  v.x = fmaxf(v.x, 0.f); v.y = fmaxf(v.y, 0.f); v.z = fmaxf(v.z, 0.f); v.w = fmaxf(v.w, 0.f);
  y[i] = v;
}
torch::Tensor relu_vec4(torch::Tensor x) {
  TORCH_CHECK(x.numel() % 4 == 0, "number of elements must be a multiple of 4");
  auto y = torch::empty_like(x);
  int n4 = x.numel() / 4;
  relu_vec4_kernel<<<(n4 + 255) / 256, 256>>>(
      reinterpret_cast<const float4*>(x.data_ptr<float>()), reinterpret_cast<float4*>(y.data_ptr<float>()), n4);
  return y;
}

//// ops::scaled_add
// about: A function in a namespace, and old types of arguments.
// name: "scaled_add"
// functions: None
// reference: lambda x, other, alpha, dims: (x + 2 * alpha * other).permute(dims).contiguous()
// inputs: (seeded(3, 5, 7), seeded(3, 5, 7, shift=1), 0.5, [2, 0, 1])
// wrong: ("return v + v", "return v")

#include <torch/extension.h>
namespace ops {
namespace {
template <class T> T twice(T v) { return v + v; }
}
at::Tensor scaled_add(const at::Tensor& x, const at::Tensor& other, const at::Scalar& alpha, std::vector<int> dims) {
  std::vector<int64_t> order(dims.begin(), dims.end());
  return at::add(x, twice(other), alpha).permute(order).contiguous();
}
}  // namespace ops
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("scaled_add", &ops::scaled_add, "x + 2 alpha other"); }

//// matrixMulCUDA
// about: Extents that are numbers in the text: it has one size.
// name: "matrix_mul"
// reference: torch.matmul
// inputs: (torch.rand(24, 40), torch.rand(40, 56))
// wrong: ('As[threadIdx.y][k] * Bs[k][threadIdx.x];\n        __syncthreads();', 'As[threadIdx.y][k] * Bs[k][threadIdx.x];')
torch::Tensor matrixMulCUDA(torch::Tensor A, torch::Tensor B);

//// cuda_sources

#include <torch/extension.h>
#include <cuda_runtime.h>
#define M 24
#define K 40
#define N 56
#define TILE 8

__global__ void matrixMulKernel(float* C, const float* A, const float* B) {
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float Cvalue = 0.0;
    for (int m = 0; m < K / TILE; ++m) {
        As[threadIdx.y][threadIdx.x] = A[row * K + m * TILE + threadIdx.x];
        Bs[threadIdx.y][threadIdx.x] = B[(m * TILE + threadIdx.y) * N + col];
        __syncthreads();
        for (int k = 0; k < TILE; ++k) Cvalue += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        __syncthreads();
    }
    C[row * N + col] = Cvalue;
}

torch::Tensor matrixMulCUDA(torch::Tensor A, torch::Tensor B) {
    const dim3 threads(TILE, TILE);
    dim3 grid(N / TILE, M / TILE);
    auto C = torch::empty({M, N}, A.options());
    matrixMulKernel<<<grid, threads>>>(C.data_ptr<float>(), A.data_ptr<float>(), B.data_ptr<float>());
    cudaDeviceSynchronize();
    return C;
}

//// sobel
// about: The same on the CPU: a filter of three by three.
// reference: lambda image: sobel(image)
// inputs: (torch.rand(16, 24),)
// wrong: ("2 * (in[y + 1][x] - in[y - 1][x])", "(in[y + 1][x] - in[y - 1][x])")

#include <torch/extension.h>
#include <cmath>
constexpr int H = 16, W = 24;
torch::Tensor sobel(torch::Tensor image) {
  auto out = torch::zeros({H, W});
  auto in = image.accessor<float, 2>();
  auto res = out.accessor<float, 2>();
  for (int y = 1; y < H - 1; ++y)
    for (int x = 1; x < W - 1; ++x) {
      float gx = in[y - 1][x + 1] - in[y - 1][x - 1] + 2 * (in[y][x + 1] - in[y][x - 1]) + in[y + 1][x + 1] - in[y + 1][x - 1];
      float gy = in[y + 1][x - 1] - in[y - 1][x - 1] + 2 * (in[y + 1][x] - in[y - 1][x]) + in[y + 1][x + 1] - in[y - 1][x + 1];
      res[y][x] = std::sqrt(gx * gx + gy * gy);
    }
  return out;
}

//// vecAdd
// about: Extents come as arguments, the result goes into a tensor that the caller has made.
// name: "vec_add_module"
// extra_cuda_cflags: ["-O3 -Xptxas -O3 -Xcompiler -O3"]
// lists: ["cpp_sources"]
// reference: lambda A, B, C, n: C.copy_(A + B)
// inputs: (torch.rand(1000), torch.rand(1000), torch.zeros(1000), 1000)
// wrong: ("if (i < n)", "if (i < n - 1)")
void vecAdd(torch::Tensor A, torch::Tensor B, torch::Tensor C, int n);

//// cuda_sources

#include <stdio.h>
#define THREADS 256
#define CHECK_CUDA(call)                                                     \
    {                                                                        \
        cudaError_t err = call;                                              \
        if (err != cudaSuccess) {                                            \
            printf("CUDA error %s at %s:%d\n", cudaGetErrorString(err), __FILE__, __LINE__); \
            exit(1);                                                         \
        }                                                                    \
    }

__global__ void vecAddKernel(float* A, float* B, float* C, int n) {
    int i = threadIdx.x + blockDim.x * blockIdx.x;
    if (i < n) { C[i] = A[i] + B[i]; }
}

void vecAdd(torch::Tensor A, torch::Tensor B, torch::Tensor C, int n) {
    vecAddKernel<<<(n + THREADS - 1) / THREADS, THREADS>>>(
        A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), n);
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaDeviceSynchronize());
}

//// transpose
// about: A square example: which extent is which does not show in it.
// name: "transpose_ext"
// reference: lambda input: input.t().contiguous()
// inputs: (torch.randn(32, 32, generator=torch.Generator().manual_seed(0)),)
// wrong: ("out[y * rows + x]", "out[y * cols + x]")
torch::Tensor transpose(torch::Tensor input);

//// cuda_sources

#define TILE_DIM 16
__global__ void transposeKernel(const float* in, float* out, int rows, int cols) {
    __shared__ float tile[TILE_DIM][TILE_DIM + 1];
    int x = blockIdx.x * TILE_DIM + threadIdx.x;
    int y = blockIdx.y * TILE_DIM + threadIdx.y;
    if (x < cols && y < rows) tile[threadIdx.y][threadIdx.x] = in[y * cols + x];
    __syncthreads();
    x = blockIdx.y * TILE_DIM + threadIdx.x;
    y = blockIdx.x * TILE_DIM + threadIdx.y;
    if (x < rows && y < cols) out[y * rows + x] = tile[threadIdx.x][threadIdx.y];
}

torch::Tensor transpose(torch::Tensor input) {
    int rows = input.size(0), cols = input.size(1);
    auto output = torch::empty({cols, rows}, input.options());
    dim3 block(TILE_DIM, TILE_DIM);
    dim3 grid((cols + TILE_DIM - 1) / TILE_DIM, (rows + TILE_DIM - 1) / TILE_DIM);
    transposeKernel<<<grid, block>>>(input.data_ptr<float>(), output.data_ptr<float>(), rows, cols);
    return output;
}

//// my_swish
// about: A gradient of its own, in C++.
// name: "swish_cpp"
// reference: torch.nn.functional.silu
// inputs: (seeded(4, 6),)
// wrong: ("x * s * (1 - s)", "x * (1 - s)")

#include <torch/extension.h>
using namespace torch::autograd;

class SwishFunction : public Function<SwishFunction> {
 public:
  static torch::Tensor forward(AutogradContext* ctx, torch::Tensor x) {
    ctx->save_for_backward({x});
    return x * torch::sigmoid(x);
  }
  static tensor_list backward(AutogradContext* ctx, tensor_list grad_outputs) {
    auto saved = ctx->get_saved_variables();
    auto x = saved[0];
    auto s = torch::sigmoid(x);
    return {grad_outputs[0] * (s + x * s * (1 - s))};
  }
};

torch::Tensor my_swish(torch::Tensor x) { return SwishFunction::apply(x); }

//// log_softmax_rows
// about: Rows on several threads, in torch's own namespace.
// extra_cflags: ["-O3", "-march=native", "-fopenmp", "-D_GLIBCXX_USE_CXX11_ABI=1"]
// extra_ldflags: ["-lgomp"]
// reference: lambda logits: torch.log_softmax(logits, 1)
// inputs: (torch.randn(8, 8, generator=torch.Generator().manual_seed(0)),)
// wrong: ("x[c] - biggest - log(total)", "x[c] - log(total)")

#include <torch/torch.h>
#include <ATen/Parallel.h>
#include <cmath>
#include <algorithm>

using namespace torch;
using namespace std;

Tensor log_softmax_rows(const Tensor& logits) {
  TORCH_CHECK(logits.dim() == 2, "expected a 2D tensor, got ", logits.dim(), "D");
  Tensor in = logits.contiguous();
  Tensor out = torch::empty_like(in);
  const int64_t rows = in.size(0), cols = in.size(1);
  AT_DISPATCH_FLOATING_TYPES(in.scalar_type(), "log_softmax_rows", [&]() {
    const auto* src = in.data_ptr<scalar_t>();
    auto* dst = out.data_ptr<scalar_t>();
    at::parallel_for(0, rows, 16, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; r++) {
        const scalar_t* x = src + r * cols;
        scalar_t biggest = *max_element(x, x + cols), total = 0;
        for (int64_t c = 0; c < cols; c++) total += exp(x[c] - biggest);
        for (int64_t c = 0; c < cols; c++) dst[r * cols + c] = x[c] - biggest - log(total);
      }
    });
  });
  return out;
}

//// fused_linear
// about: What may be left out, and defaults that only the module says.
// functions: None
// reference: lambda x, w, bias, relu, scale: (lambda y: y.relu() if relu else y)(torch.nn.functional.linear(x, w, bias) * (1 if scale is None else scale))
// inputs: (seeded(5, 7), seeded(3, 7), seeded(3), True, 0.5)
// wrong: ("y = y * *scale", "y = y + *scale")

#include <torch/extension.h>
#include <optional>

at::Tensor fused_linear(const at::Tensor& x, const at::Tensor& w, const c10::optional<at::Tensor>& bias, bool relu,
                        std::optional<double> scale) {
  auto y = at::matmul(x, w.t());
  if (bias.has_value()) y += bias.value();
  if (scale) y = y * *scale;
  return relu ? y.relu() : y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.doc() = "linear with extras";
  m.def("fused_linear", &fused_linear, "y = relu(scale (x w^T + b))", py::arg("x"), py::arg("w"),
        py::arg("bias") = py::none(), py::arg("relu") = false, py::arg("scale") = py::none());
}

//// clamp_all
// about: Integers and reals, all that numbers can be.
// functions: {"clamp_all": "clamp to an interval"}
// reference: lambda x, lo, hi: x.clamp(int(lo), int(hi))
// inputs: (torch.randint(-9, 9, (4, 6), generator=torch.Generator().manual_seed(0)), -3.0, 5.0)
// wrong: ("v > hi ? hi : v", "v >= hi ? lo : v")

#include <torch/extension.h>
template <typename T>
T clip(T v, T lo, T hi) { return v < lo ? lo : v > hi ? hi : v; }

torch::Tensor clamp_all(torch::Tensor x, double lo, double hi) {
  x = x.contiguous();
  torch::Tensor y = torch::empty_like(x);
  AT_DISPATCH_ALL_TYPES(x.scalar_type(), "clamp_all", ([&] {
    scalar_t* p = x.data_ptr<scalar_t>();
    scalar_t* q = y.data_ptr<scalar_t>();
    for (int i = 0; i < x.numel(); ++i) q[i] = clip<scalar_t>(p[i], lo, hi);
  }));
  return y;
}

//// hardtanh_
// about: In place, and the tensor itself comes back.
// name: "hardtanh"
// reference: torch.nn.functional.hardtanh_
// inputs: (torch.randn(64, 64, generator=torch.Generator().manual_seed(0)) * 2, -1.0, 1.0)
// wrong: ("data[i] > max_val) data[i] = max_val", "data[i] > max_val) data[i] = min_val")

torch::Tensor hardtanh_(torch::Tensor input, float min_val, float max_val) {
  float* data = input.data_ptr<float>();
  #pragma omp parallel for
  for (int64_t i = 0; i < input.numel(); i++) {
    if (data[i] < min_val) data[i] = min_val;
    else if (data[i] > max_val) data[i] = max_val;
  }
  return input;
}

//// lstm_cell
// about: Several results, in a list, and the names of the playground's own functions.
// functions: ["forward"]
// reference: lambda x, h, c, W, b: lstm(x, h, c, W, b)
// inputs: (seeded(3, 5), seeded(3, 4), seeded(3, 4, shift=1), seeded(16, 9), seeded(16))
// wrong: ("f * c + i * g", "f * c + i * o")

#include <vector>
#include <torch/extension.h>

std::vector<torch::Tensor> forward(torch::Tensor x, torch::Tensor h, torch::Tensor c, torch::Tensor W, torch::Tensor b) {
  auto gates = torch::addmm(b, torch::cat({x, h}, /*dim=*/1), W.transpose(0, 1)).chunk(4, 1);
  auto i = torch::sigmoid(gates[0]), f = torch::sigmoid(gates[1]), g = torch::tanh(gates[2]), o = torch::sigmoid(gates[3]);
  auto new_c = f * c + i * g;
  auto new_h = o * torch::tanh(new_c);
  return {new_h, new_c};
}

//// geglu
// about: torch::nn's functional, which <torch/types.h> has not.
// reference: lambda x: x.chunk(2, -1)[0] * torch.nn.functional.gelu(x.chunk(2, -1)[1])
// inputs: (seeded(5, 8),)
// wrong: ("F::gelu(halves[1])", "F::gelu(halves[0])")

#include <torch/torch.h>
namespace F = torch::nn::functional;
torch::Tensor geglu(torch::Tensor x) {
  auto halves = x.chunk(2, -1);
  return halves[0] * F::gelu(halves[1]);
}

//// add_branches
// about: A list of tensors beside one.
// reference: lambda trunk, branches, weights: trunk + sum(w * branch for w, branch in zip(weights, branches, strict=True))
// inputs: (seeded(5, 7), [seeded(5, 7, shift=1), seeded(5, 7, shift=2)], [0.5, 2.0])
// wrong: ("weights[i] * src[j]", "weights[0] * src[j]")

#include <torch/extension.h>
#include <vector>
torch::Tensor add_branches(torch::Tensor trunk, std::vector<torch::Tensor> branches, std::vector<double> weights) {
  TORCH_CHECK(branches.size() == weights.size(), "a weight for each branch");
  auto out = trunk.clone();
  float* dst = out.data_ptr<float>();
  for (size_t i = 0; i < branches.size(); ++i) {
    const float* src = branches[i].data_ptr<float>();
    for (int64_t j = 0; j < trunk.numel(); ++j) dst[j] += weights[i] * src[j];
  }
  return out;
}

//// saxpy_cuda
// about: Old spellings, that torch still takes.
// name: "saxpy"
// functions: ["saxpy"]
// extra_cuda_cflags: ["-gencode", "arch=compute_80,code=sm_80", "--use_fast_math", "-allow-unsupported-compiler"]
// reference: lambda x, y, a: a * x + y
// inputs: (torch.rand(128, 128), torch.rand(128, 128), 2.0)
// wrong: ("a * x[i] + y[i]", "a * x[i] - y[i]")

#include <torch/extension.h>
at::Tensor saxpy_cuda(at::Tensor x, at::Tensor y, float a);
at::Tensor saxpy(at::Tensor x, at::Tensor y, float a) {
  AT_ASSERTM(x.device().is_cuda(), "x must be a CUDA tensor");
  AT_ASSERTM(x.sizes() == y.sizes(), "x and y must have the same shape");
  return saxpy_cuda(x, y, a);
}

//// cuda_sources

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAApplyUtils.cuh>

namespace {
template <typename scalar_t>
__global__ void saxpy_kernel(const scalar_t* __restrict__ x, const scalar_t* __restrict__ y, scalar_t* __restrict__ z,
                             const scalar_t a, const size_t size) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += blockDim.x * gridDim.x) z[i] = a * x[i] + y[i];
}
}  // namespace

at::Tensor saxpy_cuda(at::Tensor x, at::Tensor y, float a) {
  auto z = at::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "saxpy", ([&] {
    saxpy_kernel<scalar_t><<<32, 64, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data<scalar_t>(), y.data<scalar_t>(), z.data<scalar_t>(), static_cast<scalar_t>(a), x.numel());
  }));
  AT_CUDA_CHECK(cudaGetLastError());
  return z;
}
