"""What a kernel prints: its beginning and its end, however much lies between."""

from __future__ import annotations

_HEAD, _TAIL = 32 << 10, 32 << 10


class Output:
    """Keeps the first and the last of what is added, and counts all of it.

    Example:
        >>> output = Output(head=3, tail=4)
        >>> output.add(b"abcdefghij")
        >>> output.text
        'abc\\n... 3 bytes left out ...\\nghij'
    """

    def __init__(self, head: int = _HEAD, tail: int = _TAIL) -> None:
        self._most_head, self._most_tail = head, tail
        self._head, self._tail = bytearray(), bytearray()
        self.count = 0

    def add(self, data: bytes) -> None:
        """Add what was printed."""
        self.count += len(data)
        room = self._most_head - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        del self._tail[: -self._most_tail]

    @property
    def text(self) -> str:
        """What was printed, with a note where something was left out."""
        left_out = self.count - len(self._head) - len(self._tail)
        between = f"\n... {left_out} bytes left out ...\n".encode() if left_out else b""
        return (bytes(self._head) + between + bytes(self._tail)).decode(errors="replace")
