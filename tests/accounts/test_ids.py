"""Ids cannot be guessed, not even from the previous id."""

from ulid import ULID

from core.ids import is_id, new_id


def test_consecutive_ids_are_not_adjacent():
    ids = [new_id("thrd") for _ in range(2000)]
    assert all(is_id("thrd", one) for one in ids)
    numbers = sorted(int(ULID.from_str(one.removeprefix("thrd_"))) for one in ids)
    assert min(later - one for one, later in zip(numbers, numbers[1:], strict=False)) > 2**40
