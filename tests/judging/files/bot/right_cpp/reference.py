import torch


def ref_kernel(data):
    data, output = data
    output[...] = data.sum(dim=1)
    return output


def generate_input(rows: int, columns: int, seed: int):
    torch.manual_seed(seed)
    return torch.rand(rows, columns, device="cuda"), torch.empty(rows, device="cuda")


def check_implementation(data, output):
    wanted = ref_kernel(data)
    good = torch.allclose(output, wanted, rtol=1e-3)
    return good, "" if good else "the sums differ"
