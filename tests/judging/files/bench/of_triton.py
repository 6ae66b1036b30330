# verdict: refused
# says: triton_of_somebody
import torch
import torch.nn as nn
import triton_of_somebody


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)


class ModelNew(nn.Module):
    def forward(self, x):
        return triton_of_somebody.relu(x)


def get_inputs():
    return [torch.randn(7, 5)]
