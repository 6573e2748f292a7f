"""The data folder of an installation, which one engine uses at a time."""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import bootstrap
from polling import poll_until
from terminal import Problem

MARKER = "parley-data.txt"
LOCK = "lock"
STATE = "state.json"
PREPARED = "prepared"
FIRST_RUN_DONE = "first-run-done"
DEMO = "demo.json"


class Data:
    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).expanduser().resolve()

    def __str__(self) -> str:
        try:
            return str(self.path.relative_to(Path.cwd()))
        except ValueError:
            return str(self.path)

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    @contextmanager
    def hold(self, by: str) -> Iterator[int]:
        """Locks the folder and records the holder, which other commands name in their error."""
        self.open()
        with (self / LOCK).open("w") as lock:
            self._lock(lock)
            (self / STATE).unlink(missing_ok=True)
            self.update_state(by=by, pid=os.getpid())
            try:
                yield lock.fileno()
            finally:
                (self / STATE).unlink(missing_ok=True)

    def _lock(self, lock: IO[str]) -> None:
        """Waits only if the holder has died: its engine may run a moment longer."""
        poll_until(lambda: _try_lock(lock) or _is_alive(self.state().get("pid")), 2)
        if not _try_lock(lock):
            raise InUse(self)

    def open(self) -> None:
        """Creates the folder unless it exists, and marks it as Parley's."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self._is_ours() and any(self.path.iterdir()):
                raise Problem(
                    f"{self} contains files that are not Parley's: "
                    "name a new or empty folder with --data."
                )
            (self / MARKER).write_text(
                "Parley's data. `script/server --reset` deletes all of it.\n"
            )
        except OSError as error:
            raise Problem(f"{self} cannot be used for the data: {error.strerror}.") from None

    def _is_ours(self) -> bool:
        return (self / MARKER).exists() or self.path == bootstrap.ROOT / ".parley"

    def clear(self) -> None:
        """Deletes everything but the lock, which we hold, and the marker file."""
        for path in self.path.iterdir():
            if path.name in (MARKER, LOCK, STATE):
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()

    def update_state(self, **state: Any) -> None:
        """Records for other commands who holds the lock, and the addresses that they need."""
        draft = self / f"{STATE}.new"
        draft.write_text(json.dumps(self.state() | state))
        draft.replace(self / STATE)

    def state(self) -> dict[str, Any]:
        try:
            return dict(json.loads((self / STATE).read_text()))
        except (OSError, ValueError):
            return {}

    def sign_ins(self) -> list[dict[str, str]]:
        try:
            return list(json.loads((self / DEMO).read_text()))
        except (OSError, ValueError):
            return []


class InUse(Problem):
    """Another process holds the data."""

    def __init__(self, data: Data) -> None:
        state = data.state()
        by, pid = state.get("by", "another command"), state.get("pid", "unknown")
        if address := state.get("address"):
            super().__init__(f"Parley is already running on {data}: {address} (process {pid}).")
        else:
            super().__init__(f"{data} is in use by {by} (process {pid}): wait until it has ended.")


def _try_lock(lock: IO[str]) -> bool:
    """Succeeds again on a file that this process has locked."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_alive(pid: int | None) -> bool:
    try:
        os.kill(pid or 0, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return pid is not None


def default_data() -> str:
    return os.environ.get("PARLEY_DATA") or str(bootstrap.ROOT / ".parley")
