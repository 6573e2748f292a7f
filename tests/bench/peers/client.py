"""What the driver needs of a client, whatever the protocol."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from typing import Any


class Client(ABC):
    """The connection of one user in one conversation. Calls `on_delivery` with the key of each
    message of the other user that has arrived and is stored."""

    def __init__(
        self,
        account: dict[str, Any],
        on_delivery: Callable[[Hashable], None],
        on_error: Callable[[str], None],
    ) -> None:
        self.account, self.on_delivery, self.on_error = account, on_delivery, on_error

    @abstractmethod
    async def connect(self) -> None: ...

    @abstractmethod
    def send_message(self, body: str) -> Hashable:
        """Returns the key with which the message arrives."""

    @abstractmethod
    def mark_read(self) -> None:
        """Marks the newest message that has arrived."""

    @abstractmethod
    def ping(self) -> None: ...

    @abstractmethod
    def close(self) -> None: ...
