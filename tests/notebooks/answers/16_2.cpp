//// right 1
threadIdx.x <= stride
// becomes
threadIdx.x < stride

//// right 2
threadIdx.x <= stride
// becomes
threadIdx.x <= stride - 1

//// right 3
threadIdx.x <= stride
// becomes
int(threadIdx.x) < stride

//// right 4
threadIdx.x <= stride
// becomes
stride > threadIdx.x

//// right 5
threadIdx.x <= stride
// becomes
!(threadIdx.x >= stride)

//// right 6
threadIdx.x <= stride
// becomes
threadIdx.x + stride < 2 * stride

//// right 7
threadIdx.x <= stride
// becomes
threadIdx.x / stride == 0

//// right 8
threadIdx.x <= stride
// becomes
(threadIdx.x & (128 - stride)) == 0

//// right 9
threadIdx.x <= stride
// becomes
threadIdx.x < 64 && threadIdx.x < stride

//// right 10
if (threadIdx.x <= stride) part[threadIdx.x] += part[threadIdx.x + stride];
// becomes
if (threadIdx.x < stride) {
      float other = part[threadIdx.x + stride];
      part[threadIdx.x] += other;
    }

//// wrong 1
// says: 'block_total/
threadIdx.x <= stride
// becomes
threadIdx.x <= stride /* < */

//// wrong 2
// says: 'block_total/
threadIdx.x <= stride
// becomes
threadIdx.x < 64

//// wrong 3
// says: 'block_total/
threadIdx.x <= stride
// becomes
threadIdx.x < stride - 1

//// wrong 4
// says: 'block_total/
threadIdx.x <= stride
// becomes
threadIdx.x < stride / 2

//// wrong 5
// says: 'block_total/
threadIdx.x <= stride
// becomes
threadIdx.x > stride

//// wrong 6
// says: 'block_total/
threadIdx.x <= stride
// becomes
threadIdx.x != stride

//// wrong 7
// says: 'block_total/
threadIdx.x <= stride
// becomes
threadIdx.x < 2 * stride

//// wrong 8
// says: 'block_total/
threadIdx.x <= stride
// becomes
threadIdx.x < stride
// and
    __syncthreads();

// becomes

//// wrong 9
// says: 'block_total/
threadIdx.x <= stride
// becomes
threadIdx.x < stride
// and
stride > 0
// becomes
stride > 1

//// wrong 10
// says: 'block_total/
threadIdx.x <= stride
// becomes
threadIdx.x < stride
// and
int stride = 64
// becomes
int stride = 32
