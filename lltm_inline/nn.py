"""Modules over a kernel of your choice: the kernel computes, the module keeps the parameters.

Each is a drop-in for the module of plain PyTorch that it is named after: the same parameters, the same names in its
`state_dict`, the same initial values. In addition it has `kernel`, which may be set to another one at any time.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn import Parameter

from .base.arguments import boolean, integer, number, real_dtype, refusal, shown
from .base.device import DEVICES
from .errors import InputError
from .model.registry import Kernel, resolve
from .source.template import devices_of

__all__ = ["LLTM", "ConvBN2d", "GraphConv", "KernelModule", "Linear"]

#: Which extents of a tensor a module prescribes.
ALL, ALL_BUT_FIRST, LAST, CHANNELS = slice(None), slice(1, None), slice(-1, None), slice(1, -2)
#: The most parameters in one extent; a size beyond it is a slip of the keyboard.
_MOST = 2**31 - 1


class ArgumentError(InputError, TypeError):
    """A module's `forward` was given no tensor where it wants one."""


class FitError(InputError, RuntimeError):
    """A tensor does not fit the module: another shape, dtype, device or layout."""


def require(module: str, device: Any, dtype: Any, *, least: int = 0, **extents: Any) -> None:
    """Refuse sizes that are no integers, below `least` or beyond all memory, and where or as what no parameter can be."""
    for name, extent in extents.items():
        integer(name, extent, least=least, most=_MOST, where=module)
    if dtype is not None:
        real_dtype(dtype)
    if device is None or isinstance(device, torch.device):
        return
    try:
        if isinstance(device, bool) or not isinstance(device, str | int):
            raise TypeError
        torch.device(device)
    except (RuntimeError, TypeError, ValueError) as error:
        raise refusal("device", device, "a device such as 'cpu' or 'cuda'", where=module) from error


class KernelModule(torch.nn.Module):
    """What the modules here share: a kernel, built when the module is first called and not when it is made.

    `copy.deepcopy`, `torch.save` and `state_dict` take the kernel along as its text or not at all, never as a library.
    A module of your own names its op, sets `self.kernel`, and calls `self._load(input)` in `forward`.

    Attributes:
        op: name of the op whose kernels fit.
        kernel: may be set to another kernel of the op, or its label, at any time.

    Example:
        >>> class Double(KernelModule):
        ...     op = "linear"
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.kernel = "linear/python"
        ...     def forward(self, input):
        ...         return self._load(input)(input, 2 * torch.eye(input.shape[1]))
        >>> Double()(torch.ones(1, 2))
        tensor([[2., 2.]])
    """

    op: ClassVar[str] = ""
    #: Names of the sizes that `print` shows.
    _sizes: ClassVar[tuple[str, ...]] = ()

    @property
    def kernel(self) -> Kernel:
        """The kernel that computes."""
        return self._kernel

    @kernel.setter
    def kernel(self, kernel: str | Kernel) -> None:
        found = resolve(kernel)
        if found.op != self.op:
            given = f"{found.label!r} is one of op {found.op!r}"
            raise InputError(f"{type(self).__name__} wants a kernel of op {self.op!r}, and {given}")
        self._kernel = found
        self._functions: dict[str, Any] = {}

    def _load(self, input: Tensor) -> Any:
        """Return the kernel's function for the device of `input`; the first call on a device builds it."""
        place = "cuda" if input.is_cuda else "cpu"
        device = next((one for one in devices_of(self._kernel) if DEVICES[one].tensors == place), place)
        if device not in self._functions:
            from .calling import load

            self._functions[device] = load(self._kernel, device=device)
        return self._functions[device]

    def _check(self, name: str, value: Any, like: Tensor, which: slice, extents: tuple[int, ...], shape: str) -> None:
        """Refuse an argument of another kind than the parameter `like`, or of other extents than the module prescribes.

        Kernels check what they are given, too, but against their first argument: their message would name the parameters.
        """
        module = type(self).__name__
        if not isinstance(value, Tensor):
            raise ArgumentError(f"{module}: argument {name!r} must be Tensor, not {type(value).__name__}")
        if value.shape[which] != extents:
            raise FitError(f"{module}: {name} has shape {tuple(value.shape)}, want {shape.format(*extents)}")
        if value.device != like.device:
            raise FitError(f"{module}: {name} is on {value.device}, the parameters are on {like.device}")
        if value.layout != torch.strided:
            raise FitError(f"{module}: {name} is of layout {value.layout}, want a dense tensor: {name}.to_dense()")
        # Autocast brings all to one dtype.
        if value.dtype != like.dtype and not torch.is_autocast_enabled(like.device.type):
            raise FitError(
                f"{module}: {name} is {value.dtype}, the parameters are {like.dtype}: "
                f"convert {name}, or the module with .to(...)"
            )

    def extra_repr(self) -> str:
        """Say what `print` shows between the brackets."""
        sizes = [f"{name}={getattr(self, name)}" for name in self._sizes]
        return ", ".join(filter(None, (super().extra_repr(), *sizes, f"kernel={self.kernel.label!r}")))

    def __getstate__(self) -> dict[str, Any]:
        # A loaded library belongs to this process; a copy finds or builds its own.
        return {**super().__getstate__(), "_functions": {}}


class Linear(KernelModule, torch.nn.Linear):
    """Apply y = input weight^T + bias with a kernel.

    A `torch.nn.Linear` in all but what computes: the same arguments and first values (from the same seed the same
    numbers), the same `state_dict`, and `isinstance(module, torch.nn.Linear)` holds, so that code that initialises or
    counts layers finds it.

    Args:
        in_features: I.
        out_features: O.
        bias: whether there is one.
        device, dtype: of the parameters.
        kernel: of op `linear`, or its label.

    Attributes:
        weight: (O, I), uniform in +-1/sqrt(I) at first.
        bias: (O), in the same range, or None.

    Raises:
        UnknownKernelError: no kernel of that label.
        InputError: a kernel of another op, or a size below zero.

    Example:
        >>> layer = Linear(17, 5, kernel="linear/python")
        >>> plain = torch.nn.Linear(17, 5)
        >>> layer.load_state_dict(plain.state_dict())
        <All keys matched successfully>
        >>> x = torch.randn(2, 3, 17)
        >>> bool(torch.allclose(layer(x), plain(x)))
        True
    """

    op = "linear"

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        kernel: str | Kernel = "linear/aten",
    ) -> None:
        require("Linear", device, dtype, in_features=in_features, out_features=out_features)
        boolean("bias", bias, where="Linear")
        super().__init__(in_features, out_features, bias, device, dtype)
        self.kernel = kernel

    def forward(self, input: Tensor) -> Tensor:
        """Map the last axis of `input`.

        Args:
            input: (*, I), with any number of axes ahead.

        Returns:
            (*, O).

        Raises:
            RuntimeError: a shape, dtype or device that does not fit the parameters.
            BuildError, ToolchainError: the first call builds the kernel.
        """
        weight = self.weight
        self._check("input", input, weight, LAST, (self.in_features,), "(*, {})")
        function = self._load(input)
        if input.dim() == 2:
            return function(input, weight, self.bias)
        ahead = input.shape[:-1]
        rows = input.reshape(math.prod(ahead), self.in_features)
        return function(rows, weight, self.bias).reshape(*ahead, self.out_features)


class LLTM(KernelModule):
    """Hold the parameters of an LLTM cell and advance its state with a kernel.

    An LLTM is an LSTM without a forget gate, and with an ELU in place of a tanh; as a module it is to that what
    `torch.nn.LSTMCell` is to an LSTM: it makes one step, and the caller has the state.

    Args:
        input_features: F.
        state_size: S.
        kernel: of op `lltm`, or its label; any revision will do.
        device, dtype: of the parameters.

    Attributes:
        weights: (3S, S+F), uniform in +-1/sqrt(S) at first; rows of input gate, output gate and candidate cell.
        bias: (3S), in the same range.

    Raises:
        UnknownKernelError: no kernel of that label.
        InputError: a kernel of another op, or a size below zero.

    Example:
        >>> cell = LLTM(input_features=17, state_size=5, kernel="lltm/python")
        >>> h, c = cell(torch.randn(3, 17), (torch.zeros(3, 5), torch.zeros(3, 5)))
        >>> h.shape, sorted(cell.state_dict())
        (torch.Size([3, 5]), ['bias', 'weights'])

    Source: https://docs.pytorch.org/tutorials/advanced/cpp_extension.html
    """

    op = "lltm"
    _sizes = ("input_features", "state_size")
    weights: Parameter
    bias: Parameter

    def __init__(
        self,
        input_features: int,
        state_size: int,
        kernel: str | Kernel = "lltm/fused",
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require("LLTM", device, dtype, input_features=input_features, state_size=state_size)
        self.input_features = input_features
        self.state_size = state_size
        self.kernel = kernel
        rows, columns = 3 * state_size, state_size + input_features
        self.weights = Parameter(torch.empty(rows, columns, device=device, dtype=dtype))
        self.bias = Parameter(torch.empty(rows, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weights and bias anew, uniform in +-1/sqrt(state_size)."""
        bound = 1 / math.sqrt(max(self.state_size, 1))
        for parameter in (self.weights, self.bias):
            torch.nn.init.uniform_(parameter, -bound, bound)

    def forward(self, input: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """Advance the state by one step.

        Args:
            input: (B, F).
            state: old_h and old_cell, each (B, S).

        Returns:
            new_h and new_cell, each (B, S).

        Raises:
            RuntimeError: a shape, dtype or device that does not fit the parameters.
            BuildError, ToolchainError: the first call builds the kernel.
        """
        if not isinstance(state, tuple | list) or len(state) != 2:
            raise ArgumentError(f"LLTM: state={shown(state)}, want two tensors, (old_h, old_cell)")
        old_h, old_cell = state
        weights, bias = self.weights, self.bias
        self._check("input", input, weights, ALL_BUT_FIRST, (self.input_features,), "(B, {})")
        want = (input.shape[0], self.state_size)
        self._check("state[0]", old_h, weights, ALL, want, "({}, {})")
        self._check("state[1]", old_cell, weights, ALL, want, "({}, {})")
        new_h, new_cell = self._load(input)(input, weights, bias, old_h, old_cell)
        return new_h, new_cell


class GraphConv(KernelModule):
    """Gather the features of each node's neighbours and map them, adj (input weight) + bias, with a kernel.

    The layer of a graph convolutional network in its plain form, with arguments, names and first values as in Kipf's
    own code. The adjacency matrix is dense and comes with each call; normalise it beforehand.

    Args:
        in_features: F.
        out_features: O.
        kernel: of op `graph_conv`, or its label.
        device, dtype: of the parameters.

    Attributes:
        weight: (F, O), uniform in +-1/sqrt(O) at first. Not transposed, unlike that of `torch.nn.Linear`.
        bias: (O), in the same range.

    Raises:
        UnknownKernelError: no kernel of that label.
        InputError: a kernel of another op, or a size below zero.

    Example:
        >>> layer = GraphConv(17, 5, kernel="graph_conv/python")
        >>> adjacency = torch.eye(3)  # three nodes, each its own neighbour
        >>> x = torch.randn(3, 17)
        >>> bool(torch.allclose(layer(x, adjacency), x @ layer.weight + layer.bias, atol=1e-6))
        True

    Source: Kipf and Welling, https://arxiv.org/abs/1609.02907; https://github.com/tkipf/pygcn
    """

    op = "graph_conv"
    _sizes = ("in_features", "out_features")
    weight: Parameter
    bias: Parameter

    def __init__(
        self,
        in_features: int,
        out_features: int,
        kernel: str | Kernel = "graph_conv/fused",
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require("GraphConv", device, dtype, in_features=in_features, out_features=out_features)
        self.in_features = in_features
        self.out_features = out_features
        self.kernel = kernel
        self.weight = Parameter(torch.empty(in_features, out_features, device=device, dtype=dtype))
        self.bias = Parameter(torch.empty(out_features, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, uniform in +-1/sqrt(out_features)."""
        bound = 1 / math.sqrt(max(self.out_features, 1))
        for parameter in (self.weight, self.bias):
            torch.nn.init.uniform_(parameter, -bound, bound)

    def forward(self, input: Tensor, adj: Tensor) -> Tensor:
        """Convolve over the graph.

        Args:
            input: features of the N nodes, (N, F).
            adj: (N, N); row n holds the weights of the neighbours of node n.

        Returns:
            (N, O).

        Raises:
            RuntimeError: a shape, dtype or device that does not fit the parameters or the other argument.
            BuildError, ToolchainError: the first call builds the kernel.
        """
        weight = self.weight
        self._check("input", input, weight, ALL_BUT_FIRST, (self.in_features,), "(N, {})")
        nodes = input.shape[0]
        self._check("adj", adj, weight, ALL, (nodes, nodes), "({}, {})")
        return self._load(input)(adj, input, weight, self.bias)


class ConvBN2d(KernelModule):
    """Convolve images and normalise each channel over the batch, with a kernel that need not keep what is in between.

    In place of a `torch.nn.Conv2d(in_channels, out_channels, kernel_size, bias=False)` with a batch normalisation
    behind it: stride 1, no padding, and the same parameters under the same names. The normalisation is that of op
    `batch_norm2d`: unbiased variance, eps outside of the root, no scale and shift; it always uses the batch it is
    given, in `eval()` too.

    Args:
        in_channels: C.
        out_channels: O.
        kernel_size: K and L, or one number for both.
        eps: added to each channel's standard deviation.
        kernel: of op `conv_bn`, or its label.
        device, dtype: of the parameters.

    Attributes:
        weight: (O, C, K, L), as `torch.nn.Conv2d` draws it.

    Raises:
        UnknownKernelError: no kernel of that label.
        InputError: a kernel of another op, or a size below one.

    Example:
        >>> layer = ConvBN2d(3, 4, (2, 3), kernel="conv_bn/python")
        >>> layer
        ConvBN2d(3, 4, kernel_size=(2, 3), eps=0.001, kernel='conv_bn/python')
        >>> y = layer(torch.randn(2, 3, 5, 7))
        >>> y.shape, bool(y.mean((0, 2, 3)).abs().max() < 1e-5)
        (torch.Size([2, 4, 4, 5]), True)
    """

    op = "conv_bn"
    weight: Parameter

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        eps: float = 1e-3,
        kernel: str | Kernel = "conv_bn/fused",
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        window = (kernel_size, kernel_size) if isinstance(kernel_size, int) else kernel_size
        if not isinstance(window, tuple | list) or len(window) != 2:
            raise InputError(f"ConvBN2d: kernel_size is {shown(kernel_size)}, want one number or two")
        rows, columns = window
        names = ("in_channels", "out_channels", "kernel rows", "kernel columns")
        sizes = dict(zip(names, (in_channels, out_channels, rows, columns), strict=True))
        require("ConvBN2d", device, dtype, least=1, **sizes)
        number("eps", eps, where="ConvBN2d")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = (rows, columns)
        self.eps = eps
        self.kernel = kernel
        self.weight = Parameter(torch.empty(out_channels, in_channels, rows, columns, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weight anew, as `torch.nn.Conv2d` does."""
        torch.nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))

    def forward(self, input: Tensor) -> Tensor:
        """Convolve and normalise.

        Args:
            input: (B, C, H, W), the images not smaller than the kernel's K and L.

        Returns:
            (B, O, H-K+1, W-L+1).

        Raises:
            RuntimeError: a shape, dtype or device that does not fit the parameters.
            ValueError: one value per channel, which has no variance.
            BuildError, ToolchainError: the first call builds the kernel.
        """
        self._check("input", input, self.weight, CHANNELS, (self.in_channels,), "(B, {}, H, W)")
        (K, L), (H, W) = self.kernel_size, input.shape[2:]
        if H < K or W < L:
            raise FitError(f"ConvBN2d: input has images of {H} x {W}, smaller than the kernel of {K} x {L}")
        return self._load(input)(input, self.weight, self.eps)

    def extra_repr(self) -> str:
        """Say what `print` shows between the brackets."""
        sizes = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, eps={self.eps}"
        return f"{sizes}, {super().extra_repr()}"
