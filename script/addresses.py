"""The address to listen on, and the host names under which requests are accepted."""

import errno
import os
import socket
from contextlib import suppress
from typing import NamedTuple

from terminal import Problem, say

DEFAULT_PORT = 8000
LOOPBACK = ["127.0.0.1", "localhost", "[::1]"]
EVERYWHERE = ("0.0.0.0", "::", "")


class Address(NamedTuple):
    host: str
    port: int

    @property
    def url(self) -> str:
        host = "127.0.0.1" if self.host in EVERYWHERE else _in_url(self.host)
        return f"http://{host}:{self.port}"

    def environment(self) -> dict[str, str]:
        """Allow every name of this machine that the chosen address can be reached by."""
        if os.environ.get("ALLOWED_HOSTS"):
            return {}
        names = _own_names() if self.host in EVERYWHERE else [_in_url(self.host)]
        return {"ALLOWED_HOSTS": ",".join(dict.fromkeys([*LOOPBACK, *names]))}


def choose_address(host: str, port: int | None) -> Address:
    """The given port, or the first free one from 8000 on."""
    if port is not None:
        if _is_in_use(host, port):
            raise Problem(f"Port {port} on {host} is in use: choose another with --port.")
        return Address(host, port)
    for free in range(DEFAULT_PORT, DEFAULT_PORT + 100):
        if not _is_in_use(host, free):
            if free != DEFAULT_PORT:
                say(f"Port {DEFAULT_PORT} is in use; using port {free} instead.")
            return Address(host, free)
    raise Problem("No port from 8000 to 8099 is free: choose one with --port.")


def _is_in_use(host: str, port: int) -> bool:
    try:
        family = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM)[0][0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OverflowError:
        raise Problem(f"{port} is not a port: choose one from 1 to 65535 with --port.") from None
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return True
        raise Problem(f"Cannot listen on {host}, port {port}: {error.strerror}.") from None
    return False


def _own_names() -> list[str]:
    name = socket.gethostname()
    found = {name, socket.getfqdn(), _outward_address()}
    with suppress(OSError):
        found |= {_in_url(str(info[4][0])) for info in socket.getaddrinfo(name, None)}
    return sorted(found - {""})


def _outward_address() -> str:
    """The address of this machine on its network; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return ""
        return str(probe.getsockname()[0])


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
