"""Input that is refused, and the sentence that says why."""

from collections.abc import Callable

import pytest

from fedperi.errors import InputError


def refusal(action: Callable[[], object]) -> str:
    """The words with which an action is refused."""
    with pytest.raises(InputError) as caught:
        action()
    return str(caught.value)


def assert_refused(action: Callable[[], object], message: str) -> None:
    """Assert that an action is refused with this message, to the letter."""
    assert refusal(action) == message
