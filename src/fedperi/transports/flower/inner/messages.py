"""Split messages for the network: a small one travels whole, in one request; a large one as a head and parts.

Flower's own clients always send parts. A message without arrays has three, so that it and its reply cost nine requests
of a site, and four round trips. But Flower's SuperLink also handles a head that contains the content.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..live.repeat import at_once

WHOLE = 1 << 20
"""Largest size in bytes of a message that travels whole: the coordinator gets all waiting ones in one response."""


def taken_apart(
    messages: list[Any], parts_too: Callable[[Any], bool] = lambda message: False
) -> tuple[list[Any], list[Any], dict[str, bytes]]:
    """Return heads, trees of parts, and the parts by their names; each part once, even if messages share it.

    The head of a small message has its content. Its tree is then a name without parts, unless `parts_too` tells that
    its receiver may expect parts.
    """
    from flwr.app.message import remove_content_from_message
    from flwr.common.serde import message_to_proto
    from flwr.proto.message_pb2 import ObjectTree
    from flwr.supercore.inflatable.inflatable_object import (
        get_all_nested_objects,
        get_object_tree,
        no_object_id_recompute,
    )

    heads, trees = [], []
    parts: dict[str, bytes] = {}
    with no_object_id_recompute():
        for message in messages:
            message.metadata.__dict__["_message_id"] = message.object_id
            head = message_to_proto(message)
            small = head.ByteSize() <= WHOLE
            heads.append(head if small else message_to_proto(remove_content_from_message(message)))
            if small and not parts_too(message):
                trees.append(ObjectTree(object_id=message.object_id))
            else:
                trees.append(get_object_tree(message))
                parts |= {name: part.deflate() for name, part in get_all_nested_objects(message).items()}
    return heads, trees, parts


def is_whole(head: Any) -> bool:
    """Whether a head is a complete message: it has the content, or an error in its place."""
    return bool(head.has_error() or head.content)


def push_parts(client: Any, node: Any, run: int, accepted: Any, parts: dict[str, bytes]) -> None:
    """Send the parts that the SuperLink asked for when it accepted the heads."""
    from flwr.supercore.inflatable.inflatable_protobuf_utils import make_push_object_fn_protobuf

    push = make_push_object_fn_protobuf(client.PushObject, node, run, accepted.session_id)
    at_once(lambda name: push(name, parts[name]), [name for name in accepted.objects_to_push if name in parts])


def names_of(tree: Any) -> list[str]:
    """Return the names of the parts of a message, without duplicates."""
    from flwr.supercore.inflatable.inflatable_object import iterate_object_tree

    return list(dict.fromkeys(part.object_id for part in iterate_object_tree(tree)))


def put_together(tree: Any, parts: dict[str, bytes]) -> Any:
    """Return the message that consists of these parts."""
    from flwr.supercore.inflatable.inflatable_utils import inflate_object_from_contents

    message: Any = inflate_object_from_contents(tree.object_id, parts)
    message.metadata.__dict__["_message_id"] = tree.object_id
    return message
