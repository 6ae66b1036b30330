// Elementwise kernels: a thread for each element, or a loop over them.

//// square_matrix
// about: The first kernel of many a GPU course.
// name: "square_matrix_extension"
// with_cuda: True
// extra_cuda_cflags: ["-O2"]
// reference: torch.square
// inputs: (seeded(5, 7),)
// wrong: ("row < height && col < width", "row < height && col < width - 1")
torch::Tensor square_matrix(torch::Tensor matrix);

//// cuda_sources

__global__ void square_matrix_kernel(const float* matrix, float* result, int width, int height) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;

    if (row < height && col < width) {
        int idx = row * width + col;
        result[idx] = matrix[idx] * matrix[idx];
    }
}

torch::Tensor square_matrix(torch::Tensor matrix) {
    const auto height = matrix.size(0);
    const auto width = matrix.size(1);

    auto result = torch::empty_like(matrix);

    dim3 threads_per_block(16, 16);
    dim3 number_of_blocks((width + threads_per_block.x - 1) / threads_per_block.x,
                          (height + threads_per_block.y - 1) / threads_per_block.y);

    square_matrix_kernel<<<number_of_blocks, threads_per_block>>>(
        matrix.data_ptr<float>(), result.data_ptr<float>(), width, height);

    return result;
}

//// elementwise_add_cuda
// about: As generated for benchmarks of generated kernels.
// name: "elementwise_add"
// verbose: True
// extra_cflags: [""]
// extra_ldflags: [""]
// reference: torch.add
// inputs: (seeded(3, 5), seeded(3, 5, shift=1))
// wrong: ("a[idx] + b[idx]", "a[idx] - b[idx]")
torch::Tensor elementwise_add_cuda(torch::Tensor a, torch::Tensor b);

//// cuda_sources

#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void elementwise_add_kernel(const float* a, const float* b, float* out, int size) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < size) {
        out[idx] = a[idx] + b[idx];
    }
}

torch::Tensor elementwise_add_cuda(torch::Tensor a, torch::Tensor b) {
    auto size = a.numel();
    auto out = torch::zeros_like(a);

    const int block_size = 256;
    const int num_blocks = (size + block_size - 1) / block_size;

    elementwise_add_kernel<<<num_blocks, block_size>>>(a.data_ptr<float>(), b.data_ptr<float>(), out.data_ptr<float>(), size);

    return out;
}

//// sin_add
// about: The example of load_inline's own documentation.
// name: "inline_extension"
// reference: lambda x, y: x.sin() + y.sin()
// inputs: (seeded(3, 5), seeded(3, 5, shift=1))
// wrong: ("y.sin()", "y.cos()")

at::Tensor sin_add(at::Tensor x, at::Tensor y) {
  return x.sin() + y.sin();
}

//// my_gelu
// functions: "my_gelu"
// extra_cflags: ["-O3"]
// lists: ["cpp_sources"]
// reference: torch.nn.functional.gelu
// inputs: (seeded(4, 6),)
#include <torch/extension.h>
#include <cmath>

//// cpp_sources

torch::Tensor my_gelu(torch::Tensor x) {
  auto in = x.contiguous();
  auto out = torch::empty_like(in);
  AT_DISPATCH_FLOATING_TYPES(in.scalar_type(), "my_gelu", ([&] {
    const scalar_t* src = in.data_ptr<scalar_t>();
    scalar_t* dst = out.data_ptr<scalar_t>();
    for (int64_t i = 0; i < in.numel(); ++i) {
      const scalar_t v = src[i];
      dst[i] = v * scalar_t(0.5) * (scalar_t(1) + std::erf(v * scalar_t(M_SQRT1_2)));
    }
  }));
  return out;
}

//// leaky_relu_cuda
// name: "leaky"
// lists: ["cpp_sources", "cuda_sources"]
// reference: torch.nn.functional.leaky_relu
// inputs: (seeded(3, 5), 0.1)
torch::Tensor leaky_relu_cuda(torch::Tensor x, float negative_slope);

//// cuda_sources

#include <torch/extension.h>
__global__ void leaky_relu_kernel(const float* __restrict__ x, float* __restrict__ y, float slope, int64_t n) {
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x)
        y[i] = x[i] > 0.f ? x[i] : slope * x[i];
}
torch::Tensor leaky_relu_cuda(torch::Tensor x, float negative_slope) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const int threads = 128;
    const int blocks = std::min<int64_t>((x.numel() + threads - 1) / threads, 1024);
    leaky_relu_kernel<<<blocks, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), negative_slope, x.numel());
    return y;
}

//// fused_bias_tanh
// about: A forward and a backward in CUDA, over several dtypes.
// functions: ["fused_bias_tanh_forward", "fused_bias_tanh_backward"]
// reference: lambda input, bias: torch.tanh(input + bias)
// inputs: (seeded(5, 7), seeded(7))
// wrong: ("grad_input.sum(0)}", "grad_input.mean(0)}")

#include <torch/extension.h>
torch::Tensor fused_bias_tanh_forward(torch::Tensor input, torch::Tensor bias);
std::vector<torch::Tensor> fused_bias_tanh_backward(torch::Tensor grad_output, torch::Tensor output);

//// cuda_sources

#include <torch/extension.h>
#include <cuda.h>
#include <cuda_runtime.h>
#include <vector>

#define CHECK_CUDA(x) TORCH_CHECK(x.device().is_cuda(), #x " must be a CUDA tensor")
#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")
#define CHECK_INPUT(x) CHECK_CUDA(x); CHECK_CONTIGUOUS(x)

template <typename scalar_t>
__global__ void bias_tanh_kernel(const scalar_t* __restrict__ input, const scalar_t* __restrict__ bias,
                                 scalar_t* __restrict__ output, size_t n, size_t columns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) output[i] = tanh(input[i] + bias[i % columns]);
}

template <typename scalar_t>
__global__ void bias_tanh_backward_kernel(const scalar_t* __restrict__ grad_output, const scalar_t* __restrict__ output,
                                          scalar_t* __restrict__ grad_input, size_t n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) grad_input[i] = grad_output[i] * (1 - output[i] * output[i]);
}

torch::Tensor fused_bias_tanh_forward(torch::Tensor input, torch::Tensor bias) {
  CHECK_INPUT(input);
  CHECK_INPUT(bias);
  auto output = torch::zeros_like(input);
  const int threads = 1024;
  const dim3 blocks((input.numel() + threads - 1) / threads);
  AT_DISPATCH_FLOATING_TYPES(input.scalar_type(), "fused_bias_tanh_forward", ([&] {
    bias_tanh_kernel<scalar_t><<<blocks, threads>>>(
        input.data_ptr<scalar_t>(), bias.data_ptr<scalar_t>(), output.data_ptr<scalar_t>(), input.numel(), input.size(1));
  }));
  return output;
}

std::vector<torch::Tensor> fused_bias_tanh_backward(torch::Tensor grad_output, torch::Tensor output) {
  CHECK_INPUT(grad_output);
  CHECK_INPUT(output);
  auto grad_input = torch::zeros_like(output);
  const int threads = 1024;
  const dim3 blocks((output.numel() + threads - 1) / threads);
  AT_DISPATCH_FLOATING_TYPES(output.scalar_type(), "fused_bias_tanh_backward", ([&] {
    bias_tanh_backward_kernel<scalar_t><<<blocks, threads>>>(
        grad_output.data_ptr<scalar_t>(), output.data_ptr<scalar_t>(), grad_input.data_ptr<scalar_t>(), output.numel());
  }));
  return {grad_input, grad_input.sum(0)};
}

//// silu_and_mul
// about: An out-parameter, as serving engines have it: halves of a row, one gates the other.
// name: "activation"
// reference: lambda out, input: torch.nn.functional.silu(input.chunk(2, -1)[0]) * input.chunk(2, -1)[1]
// inputs: (torch.empty(3, 5), seeded(3, 10))
// wrong: ("silu(x) * y", "silu(y) * x")
void silu_and_mul(torch::Tensor& out, torch::Tensor& input);

//// cuda_sources

#include <torch/all.h>
#include <c10/cuda/CUDAGuard.h>
#include <ATen/cuda/CUDAContext.h>

template <typename T>
__device__ __forceinline__ T silu(const T& x) {
  return (T)(((float)x) / (1.0f + expf((float)-x)));
}

__global__ void act_and_mul_kernel(float* __restrict__ out, const float* __restrict__ input, const int d) {
  const int64_t token_idx = blockIdx.x;
  for (int64_t idx = threadIdx.x; idx < d; idx += blockDim.x) {
    const float x = __ldg(&input[token_idx * 2 * d + idx]);
    const float y = __ldg(&input[token_idx * 2 * d + d + idx]);
    out[token_idx * d + idx] = silu(x) * y;
  }
}

void silu_and_mul(torch::Tensor& out, torch::Tensor& input) {
  int d = input.size(-1) / 2;
  int64_t num_tokens = input.numel() / input.size(-1);
  dim3 grid(num_tokens);
  dim3 block(std::min(d, 64));
  const at::cuda::OptionalCUDAGuard device_guard(device_of(input));
  const cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  act_and_mul_kernel<<<grid, block, 0, stream>>>(out.data_ptr<float>(), input.data_ptr<float>(), d);
}

//// rgb_to_grayscale
// name: "rgb_to_grayscale_extension"
// with_cuda: True
// extra_cuda_cflags: ["-O2"]
// reference: lambda image: (0.21 * image[..., :1].float() + 0.71 * image[..., 1:2].float() + 0.07 * image[..., 2:].float()).to(torch.uint8)
// inputs: ((seeded(4, 6, 3) * 40 + 128).clamp(0, 255).to(torch.uint8),)
// wrong: ("inputOffset + 2]", "inputOffset + 1]")
torch::Tensor rgb_to_grayscale(torch::Tensor image);

//// cuda_sources

#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

__global__
void rgb_to_grayscale_kernel(unsigned char* output, unsigned char* input, int width, int height) {
    const int channels = 3;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (col < width && row < height) {
        int outputOffset = row * width + col;
        int inputOffset = (row * width + col) * channels;
        unsigned char r = input[inputOffset + 0];
        unsigned char g = input[inputOffset + 1];
        unsigned char b = input[inputOffset + 2];
        output[outputOffset] = (unsigned char)(0.21f * r + 0.71f * g + 0.07f * b);
    }
}

inline unsigned int cdiv(unsigned int a, unsigned int b) {
    return (a + b - 1) / b;
}

torch::Tensor rgb_to_grayscale(torch::Tensor image) {
    assert(image.dtype() == torch::kByte);
    const auto height = image.size(0);
    const auto width = image.size(1);
    auto result = torch::empty({height, width, 1}, torch::TensorOptions().dtype(torch::kByte).device(image.device()));
    dim3 threads_per_block(16, 16);
    dim3 number_of_blocks(cdiv(width, threads_per_block.x), cdiv(height, threads_per_block.y));
    rgb_to_grayscale_kernel<<<number_of_blocks, threads_per_block, 0, torch::cuda::getCurrentCUDAStream()>>>(
        result.data_ptr<unsigned char>(), image.data_ptr<unsigned char>(), width, height);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return result;
}

//// julia
// about: Generates an image from numbers alone.
// reference: None
// inputs: (4, 5, -0.8, 0.156)
// refused: takes no Tensor

torch::Tensor julia(int64_t height, int64_t width, double cx, double cy) {
  auto image = torch::zeros({height, width});
  auto a = image.accessor<float, 2>();
  for (int64_t y = 0; y < height; y++)
    for (int64_t x = 0; x < width; x++) {
      double zx = 3.0 * x / width - 1.5, zy = 3.0 * y / height - 1.5;
      int n = 0;
      while (zx * zx + zy * zy < 4 && n < 50) { double t = zx * zx - zy * zy + cx; zy = 2 * zx * zy + cy; zx = t; n++; }
      a[y][x] = n;
    }
  return image;
}
