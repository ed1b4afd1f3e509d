"""`structrl overlay`: set up a scene by hand, with the live camera over a reference."""

from __future__ import annotations

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
    from structrl_ros.nodes.overlay_running import run_overlay

    def tell(url: str) -> None:
        Console(soft_wrap=True).print(
            f'overlay: {url}\nCtrl-C ends it', highlight=False, markup=False
        )

    run_overlay(reference=reference, role=role, namespace=namespace, port=port, told=tell)
