import sys
from pathlib import Path

source = Path("submission.cu").read_text()
assert len(sys.argv) > 1, "give an identifier"
Path("submission.py").write_text(f'''import torch
from torch.utils.cpp_extension import load_inline

cuda_source = """
{source}
"""

cuda_module = load_inline(
    name="submission_{sys.argv[1]}",
    cpp_sources="#include <torch/extension.h>\\ntorch::Tensor histogram_kernel(torch::Tensor data, int num_bins);",
    cuda_sources=cuda_source,
    functions=["histogram_kernel"],
    verbose=True,
)


def custom_kernel(data):
    array, num_bins = data
    if array.dtype != torch.int32:
        array = array.to(torch.int32)
    if not array.is_cuda:
        array = array.cuda()
    return cuda_module.histogram_kernel(array, num_bins)
''')
