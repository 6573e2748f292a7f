"""Prosody of the distribution, with its message archive in SQLite."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.deployment import temporary_folder
from tests.bench.peers.distribution import accepts_connections, missing_line
from tests.bench.peers.server import Server, unprivileged
from tests.bench.peers.xmpp import DOMAIN
from tests.bench.peers.xmpp_accounts import build_server

import processes  # isort: skip

PACKAGES = ["prosody", "lua-dbi-sqlite3"]
# The modules of the distribution's configuration for one-to-one messages.
MODULES = (
    *("disco", "roster", "saslauth", "blocklist", "bookmarks", "carbons", "pep", "private"),
    *("smacks", "vcard4", "vcard_legacy", "csi_simple", "ping", "register", "time", "uptime"),
    *("version", "posix", "mam"),
)


def what_to_install() -> str | None:
    return missing_line("Prosody", PACKAGES)


@contextmanager
def running() -> Iterator[Server]:
    with temporary_folder() as folder:
        folder.chmod(0o711)
        home = folder / "prosody"
        home.mkdir()
        config = home / "prosody.cfg.lua"

        def command(port: int) -> list[str | Path]:
            config.write_text(configuration(home, port))
            return ["prosody", "--config", config, "-F"]

        program, port = processes.start_on_free_port(
            "Prosody",
            command,
            accepts_connections,
            log=folder / "prosody.log",
            **unprivileged(home),
        )
        with processes.running(program):
            yield build_server("Prosody", port, {"Prosody": program.pid})


def configuration(home: Path, port: int) -> str:
    modules = ", ".join(json.dumps(module) for module in MODULES)
    return f"""
pidfile = "{home}/prosody.pid"
data_path = "{home}"
log = {{ {{ levels = {{ min = "warn" }}, to = "console" }} }}
interfaces = {{ "127.0.0.1" }}
c2s_ports = {{ {port} }}
modules_enabled = {{ {modules} }}
modules_disabled = {{ "s2s", "tls" }}
allow_registration = true
c2s_require_encryption = false
allow_unencrypted_plain_auth = true
authentication = "internal_hashed"
storage = {{ archive = "sql" }}
sql = {{ driver = "SQLite3", database = "{home}/archive.sqlite" }}
default_archive_policy = true
VirtualHost "{DOMAIN}"
"""
