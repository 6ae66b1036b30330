import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features, outputs):
        super().__init__()
        self.linear = nn.Linear(features, outputs)

    def forward(self, x):
        return self.linear(x)


batch_size = 512
features = 2**10
outputs = 48


def get_inputs():
    return [torch.rand(batch_size, features)]


def get_init_inputs():
    return [features, outputs]
