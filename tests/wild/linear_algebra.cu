// Matrix products and attention.

//// matmul
// name: "inline_ext"
// extra_cuda_cflags: ["-O2"]
// verbose: False
// reference: torch.mm
// inputs: (seeded(5, 7), seeded(7, 3))
// wrong: ("n[i*w+c]", "n[c*k+i]")
torch::Tensor matmul(torch::Tensor m, torch::Tensor n);

//// cuda_sources

#include <torch/extension.h>
#include <stdio.h>
#include <c10/cuda/CUDAException.h>

#define CHECK_CUDA(x) TORCH_CHECK(x.device().is_cuda(), #x " must be a CUDA tensor")
#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")
#define CHECK_INPUT(x) CHECK_CUDA(x); CHECK_CONTIGUOUS(x)

inline unsigned int cdiv(unsigned int a, unsigned int b) { return (a + b - 1) / b;}

__global__ void matmul_k(float* m, float* n, float* out, int h, int w, int k) {
    int r = blockIdx.y*blockDim.y + threadIdx.y;
    int c = blockIdx.x*blockDim.x + threadIdx.x;

    if (r>=h || c>=w) return;
    float o = 0;
    for (int i = 0; i<k; ++i) o += m[r*k+i] * n[i*w+c];
    out[r*w+c] = o;
}

torch::Tensor matmul(torch::Tensor m, torch::Tensor n) {
    CHECK_INPUT(m); CHECK_INPUT(n);
    int h = m.size(0);
    int w = n.size(1);
    int k = m.size(1);
    TORCH_CHECK(k==n.size(0), "Size mismatch!");
    auto output = torch::zeros({h, w}, m.options());

    dim3 tpb(16,16);
    dim3 blocks(cdiv(w, tpb.x), cdiv(h, tpb.y));
    matmul_k<<<blocks, tpb>>>(
        m.data_ptr<float>(), n.data_ptr<float>(), output.data_ptr<float>(), h, w, k);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return output;
}

//// matmul_dyn
// extra_cuda_cflags: ["-O2"]
// reference: torch.mm
// inputs: (seeded(5, 9), seeded(9, 3))
// wrong: ('ns[tw*i + tc];\n        __syncthreads();', 'ns[tw*i + tc];')
torch::Tensor matmul_dyn(torch::Tensor m, torch::Tensor n);

//// cuda_sources

#include <torch/extension.h>
#include <stdio.h>
#include <c10/cuda/CUDAException.h>

#define CHECK_CUDA(x) TORCH_CHECK(x.device().is_cuda(), #x " must be a CUDA tensor")
#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")
#define CHECK_INPUT(x) CHECK_CUDA(x); CHECK_CONTIGUOUS(x)

inline unsigned int cdiv(unsigned int a, unsigned int b) { return (a + b - 1) / b;}

__global__ void matmul_k(float *m, float *n, float *out, int h, int w, int k, int tw) {
    int tc=threadIdx.x, tr=threadIdx.y;
    int r=blockIdx.y*blockDim.y+tr, c=blockIdx.x*blockDim.x+tc;

    extern __shared__ float ms[];
    float *ns = &ms[tw*tw];

    float p = 0.0f;
    for (int ph = 0; ph < cdiv(k,tw); ++ph) {
        int idx = ph*tw;
        ms[tr*tw + tc] = r<h && idx+tc<k ? m[ tc+idx + r*k ] : 0.0f;
        ns[tr*tw + tc] = c<w && idx+tr<k ? n[(tr+idx)*w + c] : 0.0f;
        __syncthreads();
        for (int i=0; i<tw; ++i) p += ms[tr*tw + i] * ns[tw*i + tc];
        __syncthreads();
    }
    if (r<h && c<w) out[r*w + c] = p;
}

torch::Tensor matmul_dyn(torch::Tensor m, torch::Tensor n) {
    CHECK_INPUT(m); CHECK_INPUT(n);
    int h=m.size(0), w=n.size(1), k=m.size(1);
    TORCH_CHECK(k==n.size(0), "Size mismatch!");
    auto output = torch::zeros({h, w}, m.options());
    const int TW = 8;
    dim3 tpb(TW,TW);
    dim3 blocks(cdiv(w, tpb.x), cdiv(h, tpb.y));
    matmul_k<<<blocks, tpb, TW*TW*2 * sizeof(float)>>>(
        m.data_ptr<float>(), n.data_ptr<float>(), output.data_ptr<float>(), h, w, k, TW);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return output;
}

//// matmul_cpu
// extra_cflags: ["-O3", "-fopenmp"]
// extra_ldflags: ["-fopenmp"]
// reference: lambda A, B: A @ B
// inputs: (seeded(5, 7), seeded(7, 3))
// wrong: ("k < K", "k < K - 1")

#include <torch/extension.h>

torch::Tensor matmul_cpu(torch::Tensor A, torch::Tensor B) {
    const int M = A.size(0), K = A.size(1), N = B.size(1);
    torch::Tensor C = torch::zeros({M, N}, torch::kFloat32);
    auto a = A.accessor<float, 2>(), b = B.accessor<float, 2>(), c = C.accessor<float, 2>();
    #pragma omp parallel for
    for (int i = 0; i < M; i++)
        for (int k = 0; k < K; k++)
            for (int j = 0; j < N; j++)
                c[i][j] += a[i][k] * b[k][j];
    return C;
}

//// linear_relu
// functions: ["linear_relu", "linear_relu_backward"]
// reference: lambda x, weight, bias: torch.relu(torch.nn.functional.linear(x, weight, bias))
// inputs: (seeded(5, 7), seeded(3, 7), seeded(3))
// wrong: ("g.t().mm(x)", "grad.t().mm(x)")

torch::Tensor linear_relu(torch::Tensor x, torch::Tensor weight, torch::Tensor bias) {
  return torch::relu(torch::addmm(bias, x, weight.t()));
}

std::vector<torch::Tensor> linear_relu_backward(torch::Tensor grad, torch::Tensor x, torch::Tensor weight, torch::Tensor out) {
  auto g = grad * (out > 0);
  return {g.mm(weight), g.t().mm(x), g.sum(0)};
}

//// flash_attention
// name: "minimal_attn"
// functions: ["forward"]
// extra_cuda_cflags: ["-O2"]
// reference: lambda Q, K, V: torch.softmax(Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1]), -1) @ V
// inputs: (seeded(2, 3, 11, 5), seeded(2, 3, 11, 5, shift=1), seeded(2, 3, 11, 5, shift=2))
// wrong: ("(__expf(row_m_prev - row_m_new) * row_l_prev)", "row_l_prev")
#include <torch/extension.h>
torch::Tensor forward(torch::Tensor Q, torch::Tensor K, torch::Tensor V);

//// cuda_sources

#include <torch/types.h>
#include <cuda.h>
#include <cuda_runtime.h>

__global__
void forward_kernel(const float* Q, const float* K, const float* V, const int N, const int d,
                    const int Tc, const int Tr, const int Bc, const int Br, const float softmax_scale,
                    float* l, float *m, float* O) {
    int tx = threadIdx.x;
    int bx = blockIdx.x; int by = blockIdx.y;
    int qkv_offset = (bx * gridDim.y * N * d) + (by * N * d);
    int lm_offset = (bx * gridDim.y * N) + (by * N);
    extern __shared__ float sram[];
    int tile_size = Bc * d;
    float* Qi = sram;
    float* Kj = &sram[tile_size];
    float* Vj = &sram[tile_size * 2];
    float* S = &sram[tile_size * 3];

    for (int j = 0; j < Tc; j++) {
        for (int x = 0; x < d; x++) {
            int row = j * Bc + tx;
            Kj[(tx * d) + x] = row < N ? K[qkv_offset + row * d + x] : 0;
            Vj[(tx * d) + x] = row < N ? V[qkv_offset + row * d + x] : 0;
        }
        __syncthreads();
        for (int i = 0; i < Tr; i++)  {
            int q = i * Br + tx;
            if (q < N) {
                for (int x = 0; x < d; x++) Qi[(tx * d) + x] = Q[qkv_offset + q * d + x];
                float row_m_prev = m[lm_offset + q];
                float row_l_prev = l[lm_offset + q];
                float row_m = -INFINITY;
                for (int y = 0; y < Bc && j * Bc + y < N; y++) {
                    float sum = 0;
                    for (int x = 0; x < d; x++) sum += Qi[(tx * d) + x] * Kj[(y * d) + x];
                    sum *= softmax_scale;
                    S[(Bc * tx) + y] = sum;
                    if (sum > row_m) row_m = sum;
                }
                float row_l = 0;
                for (int y = 0; y < Bc && j * Bc + y < N; y++) {
                    S[(Bc * tx) + y] = __expf(S[(Bc * tx) + y] - row_m);
                    row_l += S[(Bc * tx) + y];
                }
                float row_m_new = max(row_m_prev, row_m);
                float row_l_new = (__expf(row_m_prev - row_m_new) * row_l_prev) + (__expf(row_m - row_m_new) * row_l);
                for (int x = 0; x < d; x++) {
                    float pv = 0;
                    for (int y = 0; y < Bc && j * Bc + y < N; y++) pv += S[(Bc * tx) + y] * Vj[(y * d) + x];
                    O[qkv_offset + q * d + x] = (1 / row_l_new) *
                        ((row_l_prev * __expf(row_m_prev - row_m_new) * O[qkv_offset + q * d + x]) + (__expf(row_m - row_m_new) * pv));
                }
                m[lm_offset + q] = row_m_new;
                l[lm_offset + q] = row_l_new;
            }
        }
        __syncthreads();
    }
}

torch::Tensor forward(torch::Tensor Q, torch::Tensor K, torch::Tensor V) {
    const int Bc = 8; const int Br = 8;
    const int B = Q.size(0); const int nh = Q.size(1);
    const int N = Q.size(2); const int d = Q.size(3);
    const int Tc = ceil((float) N / Bc); const int Tr = ceil((float) N / Br);
    const float softmax_scale = 1.0 / sqrt(d);
    auto O = torch::zeros_like(Q);
    auto l = torch::zeros({B, nh, N}, Q.options());
    auto m = torch::full({B, nh, N}, -INFINITY, Q.options());
    const int sram_size = (3 * Bc * d * sizeof(float)) + (Bc * Br * sizeof(float));
    dim3 grid_dim(B, nh);
    dim3 block_dim(Bc);
    forward_kernel<<<grid_dim, block_dim, sram_size>>>(
        Q.data_ptr<float>(), K.data_ptr<float>(), V.data_ptr<float>(),
        N, d, Tc, Tr, Bc, Br, softmax_scale, l.data_ptr<float>(), m.data_ptr<float>(), O.data_ptr<float>());
    return O;
}

//// attention_cpu
// reference: attend
// inputs: (seeded(2, 5, 3), seeded(2, 7, 3), seeded(2, 7, 11), seeded(5, 7), 0.5)
// wrong: ("scores + mask.value()", "scores * mask.value()")

#include <torch/torch.h>
torch::Tensor attention_cpu(torch::Tensor q, torch::Tensor k, torch::Tensor v, c10::optional<torch::Tensor> mask, double scale) {
  auto scores = torch::matmul(q, k.transpose(-2, -1)) * scale;
  if (mask.has_value()) scores = scores + mask.value();
  return torch::matmul(torch::softmax(scores, -1), v);
}

//// outer_sum
// reference: lambda a, b: a[:, None] + b
// inputs: (seeded(5), seeded(7))
// wrong: ("a[i] + b[j]", "a[i] * b[j]")
torch::Tensor outer_sum(torch::Tensor a, torch::Tensor b);

//// cuda_sources

template <typename scalar_t>
__global__ void outer_sum_kernel(
    const torch::PackedTensorAccessor32<scalar_t, 1, torch::RestrictPtrTraits> a,
    const torch::PackedTensorAccessor32<scalar_t, 1, torch::RestrictPtrTraits> b,
    torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits> out) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x;
  const int i = blockIdx.y;
  if (j < b.size(0)) out[i][j] = a[i] + b[j];
}

torch::Tensor outer_sum(torch::Tensor a, torch::Tensor b) {
  auto out = torch::empty({a.size(0), b.size(0)}, a.options());
  const int threads = 64;
  const dim3 blocks((b.size(0) + threads - 1) / threads, a.size(0));
  AT_DISPATCH_FLOATING_TYPES(a.scalar_type(), "outer_sum", ([&] {
    outer_sum_kernel<scalar_t><<<blocks, threads>>>(
        a.packed_accessor32<scalar_t, 1, torch::RestrictPtrTraits>(),
        b.packed_accessor32<scalar_t, 1, torch::RestrictPtrTraits>(),
        out.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>());
  }));
  return out;
}

//// sdpa_forward
// name: "sdpa"
// functions: ["sdpa_forward", "sdpa_backward"]
// reference: lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v)
// inputs: (seeded(2, 3, 5, 4), seeded(2, 3, 7, 4), seeded(2, 3, 7, 11))
// wrong: ("at::matmul(ds.transpose(-2, -1), q)", "at::matmul(dp.transpose(-2, -1), q)")

#include <torch/extension.h>
#include <vector>
// (batch, heads, tokens, features); the weights are kept for backward.
std::vector<at::Tensor> sdpa_forward(at::Tensor q, at::Tensor k, at::Tensor v) {
  const double scale = 1.0 / std::sqrt(q.size(-1));
  auto scores = at::matmul(q, k.transpose(-2, -1)).mul_(scale);
  auto p = at::softmax(scores, -1);
  auto out = at::matmul(p, v);
  return {out, p};
}
std::vector<at::Tensor> sdpa_backward(at::Tensor grad_out, at::Tensor q, at::Tensor k, at::Tensor v, at::Tensor p) {
  const double scale = 1.0 / std::sqrt(q.size(-1));
  auto grad_v = at::matmul(p.transpose(-2, -1), grad_out);
  auto dp = at::matmul(grad_out, v.transpose(-2, -1));
  auto ds = p * (dp - (dp * p).sum(-1, true)) * scale;
  auto grad_q = at::matmul(ds, k);
  auto grad_k = at::matmul(ds.transpose(-2, -1), q);
  return {grad_q, grad_k, grad_v};
}
