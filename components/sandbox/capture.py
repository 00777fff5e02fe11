"""Keep the head and the tail of a stream of any length in bounded memory."""


class HeadTail:
    """The first and the last half of `limit` bytes."""

    def __init__(self, limit: int) -> None:
        self._head_limit = limit // 2
        self._tail_limit = limit - self._head_limit
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        """Append a chunk."""
        self.total += len(data)
        room = self._head_limit - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data[-self._tail_limit :] if self._tail_limit else b""
        if len(self._tail) > self._tail_limit:
            del self._tail[: len(self._tail) - self._tail_limit]

    @property
    def truncated(self) -> bool:
        """Was anything left out?"""
        return self.total > len(self._head) + len(self._tail)

    def text(self) -> str:
        """What was kept, with a line that says how much was not."""
        middle = ""
        if self.truncated:
            middle = f"\n... [{self.total - len(self._head) - len(self._tail)} bytes left out] ...\n"
        head, tail = bytes(self._head), bytes(self._tail)
        if not middle:
            return (head + tail).decode("utf-8", "replace")
        return head.decode("utf-8", "replace") + middle + tail.decode("utf-8", "replace")
