//// right 1

//// right 2
if (B * N > 0) scale
// becomes
if (B * N == 0) return;
  scale

//// right 3
(B * N + 255) / 256, 256
// becomes
(B * N + 63) / 64, dim3(64)

//// right 4
scale<<<
// becomes
scale<T><<<

//// right 5
scale_rows
// becomes
launch

//// right 6
scale<<<
// becomes
{
    const dim3 blocks((B * N + 31) / 32), threads(32);
    scale<<<
// and
(B * N + 255) / 256, 256
// becomes
blocks, threads
// and
B, N);
}
// becomes
B, N);
  }
}

//// right 7
const T* x, const T* w, T* y, int64_t B, int64_t N, cuda
// becomes
T* y, const T* x, const T* w, int64_t B, int64_t N, cuda
// and
x.contiguous(), w.contiguous(), y
// becomes
y, x.contiguous(), w.contiguous()

//// right 8
x.contiguous(), w.contiguous()
// becomes
x_row, w_row
// and
  scale_rows
// becomes
  const at::Tensor x_row = x.contiguous(), w_row = w.contiguous();
  scale_rows

//// right 9
int64_t N, cuda
// becomes
int64_t N, int64_t threads, cuda
// and
(B * N + 255) / 256, 256
// becomes
(B * N + threads - 1) / threads, threads
// and
x.size(1)
// becomes
x.size(1), 96

//// right 10

template <class T>
void
// becomes

// One block for each 256 elements.
template <class T>
void
// and
at::empty(x.sizes(), x.options())
// becomes
at::empty({x.size(0), x.size(1)}, x.options())

//// wrong 1
// says: impossible launch
if (B * N > 0) 
// becomes

//// wrong 2
// says: impossible launch|unwritten
(B * N + 255) / 256
// becomes
B * N / 256

//// wrong 3
// says: strides|differs|WRONG
x.contiguous()
// becomes
x

//// wrong 4
// says: differs|WRONG|out of bounds
x.contiguous(), w.contiguous()
// becomes
w.contiguous(), x.contiguous()

//// wrong 5
// says: unwritten
  scale_rows(x.contiguous(), w.contiguous(), y, x.size(0), x.size(1));

// becomes

//// wrong 6
// says: unwritten|WRONG
x.size(0), x.size(1)
// becomes
x.size(0), 1

//// wrong 7
// says: stream|launch
, cudaStream_t stream
// becomes
// and
, 0, stream
// becomes

//// wrong 8
// says: out of bounds
if (i < B * N) 
// becomes

//// wrong 9
// says: takes 5 arguments, this call gives 4
(x, w, y, B, N)
// becomes
(x, w, B, N)

//// wrong 10
// says: It is right, but the cuda text includes

template
// becomes
#include <ATen/core/Tensor.h>
template
