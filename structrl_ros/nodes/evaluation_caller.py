"""Short calls to an evaluator_node that runs, for the command line."""

from __future__ import annotations

import time
from collections.abc import Callable
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import rclpy
from rclpy.node import Node
from std_srvs.srv import SetBool
from std_srvs.srv import Trigger

from structrl_ros.errors import ParameterError
from structrl_ros.errors import StaleDataError
from structrl_ros.nodes.contexts import joined_graph
from structrl_ros.nodes.hearing import hear
from structrl_ros.wire import topics
from structrl_ros.wire.qos import recorder_qos
from structrl_ros.wire.task_codecs import health_from_message

#: End of the name under which the node tells how it stands.
HEALTH = 'evaluator_node: evaluation'


def call_ready(namespace: str, limit_s: float) -> str:
    """Tell that a start is set up; return the answer.

    Raises:
        StaleDataError: If no evaluation runs.
        ParameterError: If it does not wait for that.
    """
    return _call(Trigger, 'evaluator_node/ready', Trigger.Request(), namespace, limit_s)


def call_mark(success: bool, namespace: str, limit_s: float) -> str:
    """Judge the episode; return the answer.

    Raises:
        StaleDataError: If no evaluation runs.
        ParameterError: If it takes no mark now.
    """
    return _call(SetBool, topics.MARK_EPISODE, SetBool.Request(data=success), namespace, limit_s)


def hear_status(namespace: str, limit_s: float) -> str:
    """Return what the evaluation says of itself, in a line.

    Raises:
        StaleDataError: If none runs.
    """
    heard: list[str] = []

    def take(components: list[Any]) -> None:
        for name, _, text, values in components:
            if name.endswith(HEALTH):
                heard.append(f'{values["done"]} of {values["planned"]} are done; {text}')

    with _node(namespace) as (node, spin_until):
        health = topics.DIAGNOSTICS
        hear(node, health, health_from_message, take, recorder_qos(health))
        spin_until(lambda: bool(heard), limit_s, 'no evaluation runs')
    return heard[-1]


def _call(kind: Any, name: str, request: Any, namespace: str, limit_s: float) -> str:
    with _node(namespace) as (node, spin_until):
        client = node.create_client(kind, name)
        spin_until(client.service_is_ready, limit_s, 'no evaluation runs')
        call = client.call_async(request)
        spin_until(call.done, limit_s, 'the evaluation does not answer')
        response = call.result()
    if not response.success:
        raise ParameterError(response.message)
    return str(response.message)


SpinUntil = Callable[[Callable[[], bool], float, str], None]


@contextmanager
def _node(namespace: str) -> Iterator[tuple[Node, SpinUntil]]:
    def spin_until(happened: Callable[[], bool], limit_s: float, complaint: str) -> None:
        end = time.monotonic() + limit_s
        while not happened():
            if time.monotonic() > end:
                raise StaleDataError(f'{complaint} within {limit_s:g} s')
            executor.spin_once(timeout_sec=0.1)

    make = partial(rclpy.create_node, 'evaluation_caller')
    with joined_graph(make, namespace) as (node, executor):
        yield node, spin_until
