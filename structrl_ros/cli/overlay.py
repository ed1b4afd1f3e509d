"""`structrl overlay`: set up a scene by hand, with the live camera over a reference."""

from __future__ import annotations

import signal
import threading
from typing import Annotated

import typer
from rich.console import Console

PORT = 8766


def overlay(
    reference: Annotated[
        str,
        typer.Option(
            help='Picture, bag, run, folder of cards, protocol or evaluation; none: the first '
            'picture that comes.'
        ),
    ] = '',
    role: Annotated[str, typer.Option(help='Camera: head, left_wrist or right_wrist.')] = 'head',
    port: Annotated[int, typer.Option(min=0, max=65535, help='Port; 0 takes a free one.')] = PORT,
    namespace: Annotated[str, typer.Option(help='Namespace of the arm or world.')] = '',
) -> None:
    """Show the live picture over a reference on a local page, with a score and the card.

    Example: [bold]structrl overlay --reference cards[/], then open http://127.0.0.1:8766/
    """
    import rclpy
    from rclpy.executors import SingleThreadedExecutor
    from rclpy.parameter import Parameter
    from rclpy.signals import SignalHandlerOptions

    from structrl_ros.nodes.overlay_node import OverlayNode
    from structrl_ros.nodes.overlay_page import OverlayPage

    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    executor = SingleThreadedExecutor()
    try:
        values = {'reference': reference, 'role': role}
        overrides = [Parameter(name, value=value) for name, value in values.items()]
        node = OverlayNode(namespace=namespace, parameter_overrides=overrides)
        executor.add_node(node)
        page = OverlayPage(node, port)
        page.start()
        Console(soft_wrap=True).print(
            f'overlay: {page.url}\nCtrl-C ends it', highlight=False, markup=False
        )
        while not ended.is_set():
            executor.spin_once(timeout_sec=0.1)
        page.stop()
    finally:
        executor.shutdown(timeout_sec=1.0)
        rclpy.try_shutdown()
