"""Check that input is refused, and with which message."""

from collections.abc import Callable

import pytest

from fedperi.errors import InputError


def refusal(action: Callable[[], object]) -> str:
    """Return the message with which an action is refused."""
    with pytest.raises(InputError) as caught:
        action()
    return str(caught.value)


def assert_refused(action: Callable[[], object], message: str) -> None:
    """Assert that an action is refused with exactly this message."""
    assert refusal(action) == message
