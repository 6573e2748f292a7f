"""ejabberd of the distribution, with its message archive in PostgreSQL."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from tests.bench.deployment import temporary_folder
from tests.bench.peers.distribution import accepts_connections, missing_line
from tests.bench.peers.server import Server, unprivileged
from tests.bench.peers.xmpp import DOMAIN
from tests.bench.peers.xmpp_accounts import build_server

import processes  # isort: skip
import services  # isort: skip

PACKAGES = ["ejabberd", "erlang-p1-pgsql"]
SCHEMA = Path("/usr/share/ejabberd/sql/pg.sql")
# The modules of the distribution's configuration for one-to-one messages.
MODULES = (
    *("mod_adhoc", "mod_blocking", "mod_caps", "mod_carboncopy", "mod_client_state", "mod_disco"),
    *("mod_last", "mod_offline", "mod_ping", "mod_privacy", "mod_private", "mod_push"),
    *("mod_roster", "mod_stream_mgmt", "mod_vcard", "mod_version"),
)


def what_to_install() -> str | None:
    return missing_line("ejabberd", PACKAGES)


@contextmanager
def running() -> Iterator[Server]:
    with temporary_folder() as folder:
        postgres = services.start_postgres(folder, services.DURABLE)
        with postgres.running():
            with psycopg.connect(postgres.url) as connection:
                connection.execute(SCHEMA.read_bytes())
            program, port = _start(folder, urlsplit(postgres.url).port or 0)
            with processes.running(program):
                programs = {"ejabberd": program.pid, "PostgreSQL": postgres.program.pid}
                yield build_server("ejabberd", port, programs)


def _start(folder: Path, database_port: int) -> tuple[processes.Program, int]:
    home = folder / "ejabberd"
    home.mkdir()
    config = home / "ejabberd.yml"
    options = unprivileged(home)
    options["env"] |= {
        "EJABBERD_CONFIG_PATH": str(config),
        "EJABBERD_LOG_PATH": str(home / "ejabberd.log"),
        "ERL_LIBS": str(_library_folder()),
        "ERL_CRASH_DUMP_BYTES": "0",
    }

    def command(port: int) -> list[str | Path]:
        config.write_text(configuration(port, database_port))
        # As ejabberdctl starts it, but without a node name, which would need the daemon epmd.
        limits = ["+K", "true", "+P", "250000"]
        return ["erl", *limits, "-noinput", "-mnesia", "dir", f'"{home}/mnesia"', "-s", "ejabberd"]

    return processes.start_on_free_port(
        "ejabberd", command, accepts_connections, log=folder / "ejabberd.log", **options
    )


def _library_folder() -> Path:
    """The folder of Erlang libraries, whose path contains the architecture."""
    return next(Path("/usr/lib").glob("*/ejabberd-*")).parent


def configuration(port: int, database_port: int) -> str:
    modules = "\n".join(f"  {module}: {{}}" for module in MODULES)
    return f"""\
hosts: [{DOMAIN}]
loglevel: warning
log_rotate_count: 0
listen:
  - {{port: {port}, ip: "127.0.0.1", module: ejabberd_c2s, access: all, shaper: none}}
auth_method: internal
auth_password_format: scram
registration_timeout: infinity
sql_type: pgsql
sql_server: "127.0.0.1"
sql_port: {database_port}
sql_database: postgres
sql_username: postgres
modules:
{modules}
  mod_mam: {{db_type: sql, default: always, assume_mam_usage: true}}
  mod_register: {{access: all, ip_access: all}}
"""
