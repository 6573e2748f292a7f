"""Untrusted text is processed in linear time, and in at most 50 ms."""

import ast
import contextlib
import gc
import importlib
import math
import pkgutil
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from time import thread_time
from typing import Any

import pytest
from django.core.exceptions import ValidationError

import detection
from core.http_client.download import DownloadFailed
from core.refusals import Refusal
from tests.packages import PACKAGES, ROOT
from tests.untrusted_text import FUNCTIONS, MODULES_WITHOUT, shapes

pytestmark = pytest.mark.slow

MAX_SECONDS = 0.05
MAX_RATIO = 2.6
# Shorter times cannot be measured reliably.
MEASURABLE_SECONDS = 0.004
ATTEMPTS = 40
REFUSALS = (Refusal, ValidationError, DownloadFailed, ValueError)


@pytest.fixture(autouse=True)
def _no_collection():
    """Disables garbage collection, which would distort a measurement."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def seconds(run: Callable[[str], object], text: str) -> float:
    """The time of one run with empty text caches."""
    clear_text_caches()
    began = thread_time()
    with contextlib.suppress(*REFUSALS):
        run(text)
    return thread_time() - began


def measured(run: Callable[[str], object], text: str, shorter: str) -> tuple[float, float]:
    """The fastest attempt with each text, since a busy machine only makes attempts slower.

    Both are measured in turns, so that a slow moment does not affect only one of them.
    """
    took = half = math.inf
    for attempt in range(ATTEMPTS):
        took = min(took, seconds(run, text))
        if took <= MEASURABLE_SECONDS:
            break
        half = min(half, seconds(run, shorter))
        if attempt >= 2 and took <= MAX_SECONDS and took <= half * MAX_RATIO:
            break
    return took, half


def clear_text_caches() -> None:
    for cached in CACHES:
        cached.cache_clear()


def _bounded_caches() -> Iterator[Any]:
    """Bounded caches only: unbounded ones hold tables that are loaded once."""
    for module in pkgutil.iter_modules(detection.__path__, "detection."):
        for value in vars(importlib.import_module(module.name)).values():
            if hasattr(value, "cache_info") and value.cache_info().maxsize is not None:
                yield value


CACHES = list(_bounded_caches())


def assert_linear(name: str, run: Callable[[str], object], max_chars: int) -> None:
    whole, half = shapes(max_chars), shapes(max_chars // 2)
    for text, shorter in zip(whole, half, strict=True):
        took, by_half = measured(run, text, shorter)
        sample = f"{text[:12]!r}…{text[-2:]!r}"
        assert took <= MAX_SECONDS, f"{name}: {took:.3f} s for {sample}"
        if took > MEASURABLE_SECONDS:
            ratio = took / by_half
            assert ratio <= MAX_RATIO, f"{name}: {ratio:.1f} times for {sample}"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_takes_linear_time_on_every_shape(name):
    function = FUNCTIONS[name]
    # Fills imports, tables and caches that are created once.
    seconds(function.run, "Hello, would May 12 suit you? See https://example.com [here](x) *now*.")
    assert_linear(name, function.run, function.max_chars)


def patterns() -> Iterator[tuple[str, re.Pattern[str], int]]:
    for function in FUNCTIONS.values():
        for module in function.modules:
            for name, value in vars(importlib.import_module(module)).items():
                for found in _patterns_in(value):
                    if isinstance(found.pattern, str):
                        yield f"{module}.{name}", found, function.pattern_chars


def _patterns_in(value: object) -> Iterator[re.Pattern]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, tuple | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _patterns_in(one)


def test_every_pattern_takes_linear_time():
    found = list(patterns())
    assert len(found) > 60
    for name, pattern, size in found:
        assert_linear(name, lambda text, one=pattern: sum(1 for _ in one.finditer(text)), size)


def _uses_patterns(path: Path) -> bool:
    imported = {
        name
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module] if isinstance(node, ast.ImportFrom) else _names(node))
    }
    return "re" in imported


def _names(node: ast.Import) -> list[str]:
    return [alias.name for alias in node.names]


def test_every_module_with_patterns_is_measured_or_has_a_reason_not_to_be():
    paths = [path for name in PACKAGES for path in ROOT.glob(f"{name}/**/*.py")]
    using = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in paths
        if "migrations" not in path.parts and _uses_patterns(path)
    }
    measured = {module for function in FUNCTIONS.values() for module in function.modules}
    assert using - measured - MODULES_WITHOUT.keys() == set(), "measure them in untrusted_text.py"
    assert (measured | MODULES_WITHOUT.keys()) - using == set(), "these no longer use patterns"
