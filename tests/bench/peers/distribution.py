"""Servers that are packages of the distribution."""

import socket

# Extends the path, so that the scripts can be imported.
from tests.bench import deployment  # noqa: F401

import apt  # isort: skip


def missing_line(name: str, packages: list[str]) -> str | None:
    """One line that says what to install, or None if everything is installed."""
    if all(apt.is_installed(package) for package in packages):
        return None
    return f"{name} is not compared; to include it: {apt.command(' '.join(packages))}"


def accepts_connections(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False
