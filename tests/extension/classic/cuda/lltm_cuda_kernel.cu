#include <torch/extension.h>

#include <cuda.h>
#include <cuda_runtime.h>

#include <vector>

namespace {

template <typename scalar_t>
__device__ __forceinline__ scalar_t sigmoid(scalar_t z) {
  return scalar_t(1) / (scalar_t(1) + exp(-z));
}

template <typename scalar_t>
__device__ __forceinline__ scalar_t elu(scalar_t z) {
  return z > 0 ? z : expm1(z);
}

template <typename scalar_t>
__global__ void forward_kernel(
    const scalar_t* __restrict__ gates, const scalar_t* __restrict__ old_cell, scalar_t* __restrict__ new_h,
    scalar_t* __restrict__ new_cell, scalar_t* __restrict__ input_gate, scalar_t* __restrict__ output_gate,
    scalar_t* __restrict__ candidate_cell, size_t state_size) {
  const size_t column = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  const size_t index = blockIdx.y * state_size + column;
  const size_t row = blockIdx.y * (state_size * 3);
  if (column < state_size) {
    input_gate[index] = sigmoid(gates[row + column]);
    output_gate[index] = sigmoid(gates[row + column + state_size]);
    candidate_cell[index] = elu(gates[row + column + 2 * state_size]);
    new_cell[index] = old_cell[index] + candidate_cell[index] * input_gate[index];
    new_h[index] = tanh(new_cell[index]) * output_gate[index];
  }
}

template <typename scalar_t>
__global__ void backward_kernel(
    scalar_t* __restrict__ d_old_cell, scalar_t* __restrict__ d_gates, const scalar_t* __restrict__ grad_h,
    const scalar_t* __restrict__ grad_cell, const scalar_t* __restrict__ new_cell, const scalar_t* __restrict__ input_gate,
    const scalar_t* __restrict__ output_gate, const scalar_t* __restrict__ candidate_cell, size_t state_size) {
  const size_t column = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  const size_t index = blockIdx.y * state_size + column;
  const size_t row = blockIdx.y * (state_size * 3);
  if (column < state_size) {
    const scalar_t i = input_gate[index], o = output_gate[index], c = candidate_cell[index];
    const scalar_t t = tanh(new_cell[index]);
    const scalar_t d_cell = grad_cell[index] + grad_h[index] * o * (1 - t * t);
    d_old_cell[index] = d_cell;
    d_gates[row + column] = d_cell * c * i * (1 - i);
    d_gates[row + column + state_size] = grad_h[index] * t * o * (1 - o);
    d_gates[row + column + 2 * state_size] = d_cell * i * (c > 0 ? scalar_t(1) : c + 1);
  }
}

}  // namespace

std::vector<torch::Tensor> lltm_cuda_forward(
    torch::Tensor input, torch::Tensor weights, torch::Tensor bias, torch::Tensor old_h, torch::Tensor old_cell) {
  auto X = torch::cat({old_h, input}, /*dim=*/1);
  auto gates = torch::addmm(bias, X, weights.transpose(0, 1));

  const auto batch_size = old_cell.size(0);
  const auto state_size = old_cell.size(1);

  auto new_h = torch::zeros_like(old_cell);
  auto new_cell = torch::zeros_like(old_cell);
  auto input_gate = torch::zeros_like(old_cell);
  auto output_gate = torch::zeros_like(old_cell);
  auto candidate_cell = torch::zeros_like(old_cell);

  const int threads = 1024;
  const dim3 blocks((state_size + threads - 1) / threads, batch_size);
  if (new_cell.numel() > 0) {  // a grid of no blocks would be an error
    AT_DISPATCH_FLOATING_TYPES(gates.scalar_type(), "lltm_forward_cuda", ([&] {
      forward_kernel<scalar_t><<<blocks, threads>>>(
          gates.data_ptr<scalar_t>(), old_cell.data_ptr<scalar_t>(), new_h.data_ptr<scalar_t>(), new_cell.data_ptr<scalar_t>(),
          input_gate.data_ptr<scalar_t>(), output_gate.data_ptr<scalar_t>(), candidate_cell.data_ptr<scalar_t>(), state_size);
    }));
  }

  return {new_h, new_cell, input_gate, output_gate, candidate_cell, X, gates};
}

std::vector<torch::Tensor> lltm_cuda_backward(
    torch::Tensor grad_h, torch::Tensor grad_cell, torch::Tensor new_cell, torch::Tensor input_gate, torch::Tensor output_gate,
    torch::Tensor candidate_cell, torch::Tensor X, torch::Tensor gates, torch::Tensor weights) {
  auto d_old_cell = torch::zeros_like(new_cell);
  auto d_gates = torch::zeros_like(gates);

  const auto batch_size = new_cell.size(0);
  const auto state_size = new_cell.size(1);

  const int threads = 1024;
  const dim3 blocks((state_size + threads - 1) / threads, batch_size);
  if (new_cell.numel() > 0) {
    AT_DISPATCH_FLOATING_TYPES(gates.scalar_type(), "lltm_backward_cuda", ([&] {
      backward_kernel<scalar_t><<<blocks, threads>>>(
          d_old_cell.data_ptr<scalar_t>(), d_gates.data_ptr<scalar_t>(), grad_h.data_ptr<scalar_t>(),
          grad_cell.data_ptr<scalar_t>(), new_cell.data_ptr<scalar_t>(), input_gate.data_ptr<scalar_t>(),
          output_gate.data_ptr<scalar_t>(), candidate_cell.data_ptr<scalar_t>(), state_size);
    }));
  }

  auto d_weights = d_gates.t().mm(X);
  auto d_bias = d_gates.sum(/*dim=*/0, /*keepdim=*/true);

  auto d_X = d_gates.mm(weights);
  auto d_old_h = d_X.slice(/*dim=*/1, 0, state_size);
  auto d_input = d_X.slice(/*dim=*/1, state_size);

  return {d_old_h, d_input, d_weights, d_bias, d_old_cell, d_gates};
}
