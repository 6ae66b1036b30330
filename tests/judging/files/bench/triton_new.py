# verdict: refused
# says: it needs triton_of_somebody
import torch
import torch.nn as nn
import triton_of_somebody


class ModelNew(nn.Module):
    def forward(self, x):
        return x
