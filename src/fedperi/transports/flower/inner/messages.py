"""Messages in parts: Flower sends the head of a message first, and each part of it in a request of its own."""

from __future__ import annotations

from typing import Any

from ..live.repeat import at_once


def taken_apart(messages: list[Any]) -> tuple[list[Any], list[Any], dict[str, bytes]]:
    """Return heads, trees of parts, and the parts by their names; parts that messages share are there once."""
    from flwr.app.message import remove_content_from_message
    from flwr.common.serde import message_to_proto
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
            heads.append(message_to_proto(remove_content_from_message(message)))
            trees.append(get_object_tree(message))
            parts |= {name: part.deflate() for name, part in get_all_nested_objects(message).items()}
    return heads, trees, parts


def push_parts(client: Any, node: Any, run: int, taken: Any, parts: dict[str, bytes]) -> None:
    """Send those parts that the other end asked for when it took the heads."""
    from flwr.supercore.inflatable.inflatable_protobuf_utils import make_push_object_fn_protobuf

    push = make_push_object_fn_protobuf(client.PushObject, node, run, taken.session_id)
    at_once(lambda name: push(name, parts[name]), taken.objects_to_push)


def names_of(tree: Any) -> list[str]:
    """Return the names of the parts of a message, each once."""
    from flwr.supercore.inflatable.inflatable_object import iterate_object_tree

    return list(dict.fromkeys(part.object_id for part in iterate_object_tree(tree)))


def put_together(tree: Any, parts: dict[str, bytes]) -> Any:
    """Return a message, whole."""
    from flwr.supercore.inflatable.inflatable_utils import inflate_object_from_contents

    message: Any = inflate_object_from_contents(tree.object_id, parts)
    message.metadata.__dict__["_message_id"] = tree.object_id
    return message
