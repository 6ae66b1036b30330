import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, kernel_size: int, stride: int):
        super().__init__()
        self.pool = nn.MaxPool2d(kernel_size, stride=stride)

    def forward(self, x):
        return self.pool(x)


batch_size: int = 32
channels = 8 * 8
height = width = 512
kernel_size, stride = 3, 2


def get_inputs():
    return [torch.rand(batch_size, channels, height, width)]


def get_init_inputs():
    return [[kernel_size], {"stride": stride}]
