"""Remember a bit: a small sequence task, and an LLTM that learns it.

Each sequence has T pairs (value, mark). The first value is -1 or 1 and its mark is 1; the values after it are noise, and
their marks are 0. Wanted is the first value, after the last pair. To answer 0 each time gives a mean squared error of 1.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

import lltm_inline as li

#: Mean squared error of the best answer that does not look at the sequence.
GUESS = 1.0


def draw(generator: torch.Generator, B: int, T: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Draw sequences (T, B, 2) and what is wanted of them (B, 1)."""
    values = torch.randn(T, B, generator=generator, dtype=torch.float64)
    values[0] = 2.0 * torch.randint(2, (B,), generator=generator) - 1
    marks = torch.zeros(T, B, dtype=torch.float64)
    marks[0] = 1
    return torch.stack([values, marks], dim=2).to(dtype), values[0][:, None].to(dtype)


class Reader(torch.nn.Module):
    """An LLTM that reads a sequence, and a linear layer that reads its last state.

    Args:
        kernel: of op `lltm`.
        S: size of the state.
        dtype: of the parameters.
    """

    def __init__(self, kernel: str | li.Kernel, S: int, dtype: torch.dtype) -> None:
        super().__init__()
        self.cell = li.nn.LLTM(2, S, kernel, dtype=dtype)
        self.readout = torch.nn.Linear(S, 1, dtype=dtype)

    def forward(self, sequence: Tensor) -> Tensor:
        """Read (T, B, 2) and answer (B, 1)."""
        h = sequence.new_zeros(sequence.shape[1], self.cell.state_size)
        state = (h, h)
        for pair in sequence:
            state = self.cell(pair, state)
        return self.readout(state[0])


@dataclass
class Training:
    """What training with one kernel gave: after each step the loss, and the seconds that the step took."""

    kernel: str
    model: Reader
    optimizer: torch.optim.Optimizer
    losses: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def step(self, sequence: Tensor, wanted: Tensor) -> None:
        """Take one step and note its loss and time."""
        start = time.perf_counter()
        self.optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.mse_loss(self.model(sequence), wanted)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.losses.append(loss.item())
        self.seconds.append(time.perf_counter() - start)


def train(
    kernels: Sequence[str | li.Kernel],
    steps: int,
    *,
    B: int = 64,
    T: int = 16,
    S: int = 64,
    dtype: torch.dtype = torch.float32,
    seed: int = 2019,
) -> list[Training]:
    """Train one model with each kernel: the same first weights, the same batches, and turns within each step.

    Args:
        kernels: labels, of op `lltm`.
        steps: number of optimiser steps.
        B: sequences in a batch.
        T: length of a sequence.
        S: size of the state.
        dtype: of everything.
        seed: of weights and batches.

    Returns:
        One `Training` for each kernel.
    """
    runs = [_start(kernel, S, dtype, seed) for kernel in kernels]
    generator = torch.Generator().manual_seed(seed)
    warm = draw(torch.Generator().manual_seed(seed), B, T, dtype)
    for kernel in kernels:  # a model that is thrown away builds the kernel, and pays for what PyTorch makes ready once
        trial = _start(kernel, S, dtype, seed)
        for _ in range(3):
            trial.step(*warm)
    for number in range(steps):
        batch = draw(generator, B, T, dtype)
        turn = number % len(runs)
        for run in (*runs[turn:], *runs[:turn]):  # each kernel is first, second, third alike
            run.step(*batch)
    return runs


def _start(kernel: str | li.Kernel, S: int, dtype: torch.dtype, seed: int) -> Training:
    torch.manual_seed(seed)
    model = Reader(kernel, S, dtype)
    return Training(model.cell.kernel.label, model, torch.optim.Adam(model.parameters(), lr=1e-3))
