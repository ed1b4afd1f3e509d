"""Who publishes a topic: two of what must be one are named, not left to take turns."""

from __future__ import annotations

from rclpy.node import Node


def publisher_names(node: Node, topic: str) -> list[str]:
    """Return the full names of the nodes that publish a topic, `node` itself first, if it does.

    Args:
        node: Whose namespace and knowledge of the graph count.
        topic: Relative to the namespace of the node.
    """
    infos = node.get_publishers_info_by_topic(node.resolve_topic_name(topic))
    names = sorted(f'{i.node_namespace.rstrip("/")}/{i.node_name}' for i in infos)
    own = node.get_fully_qualified_name()
    return sorted(names, key=lambda name: name != own)
