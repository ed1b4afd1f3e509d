"""Placement cards: how a person sets up the initial states that a simulated protocol has.

cards.json     every card: start, words, poses in the base frame, names of the pictures
*.png          first frames
index.html     the cards to print
arm.yaml       the same protocol for an arm, whose episodes are set up by these cards
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from PIL import Image

from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.protocol import REAL_BODY
from structrl_ros.evaluation.protocol import PlannedStart
from structrl_ros.evaluation.protocol import Protocol
from structrl_ros.evaluation.protocol import starts_of
from structrl_ros.ports import Body
from structrl_ros.recording.references import CARDS
from structrl_ros.recording.report_pages import render_page
from structrl_ros.sim.placements import Placement
from structrl_ros.sim.placements import placements
from structrl_ros.sim.registry import make_body
from structrl_ros.types import JsonObject

#: Version of cards.json; a new field keeps it, a changed meaning raises it.
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Card:
    """One start: the scene in words and numbers, and its first frames by role."""

    start: PlannedStart
    instruction: str
    things: tuple[Placement, ...]
    pictures: dict[str, str]

    @property
    def text(self) -> str:
        """How the scene is set up, one line."""
        words = [
            f'{thing.name.replace("_", " ")} at x {thing.position[0]:.3f} m, y '
            f'{thing.position[1]:.3f} m, turned {thing.turn_deg:.0f} degrees'
            for thing in self.things
        ]
        return '; '.join(words) or 'nothing is on the table'

    def to_json(self) -> JsonObject:
        """Return the entry of cards.json."""
        return {
            'task': self.start.task,
            'seed': self.start.seed,
            'initial_state': self.start.initial_state,
            'instruction': self.instruction,
            'text': self.text,
            'pictures': self.pictures,
            'things': [_thing(thing) for thing in self.things],
        }


def write_cards(protocol: Protocol, out: Path, roles: Sequence[str] = ('head',)) -> list[Card]:
    """Draw the first frame of every start of a simulated protocol, and write the cards.

    Args:
        protocol: Whose body is one of the registry.
        out: Folder, made with its parents; files of the same names are replaced.
        roles: Camera roles to draw.

    Returns:
        The cards, a start once, in the order of the protocol.

    Raises:
        ParameterError: If the body is an arm, has no such camera, or the folder cannot be written.
        SimulationError: If a task or initial state is unknown.
    """
    if protocol.body == REAL_BODY:
        raise ParameterError('cards are drawn from a simulated body; this protocol has an arm')
    body = make_body(protocol.body, **protocol.body_options)
    try:
        unknown = [role for role in roles if role not in body.spec.roles]
        if unknown or not roles:
            raise ParameterError(
                f'{protocol.body} has no camera {", ".join(unknown) or "(none named)"}; '
                f'allowed: {", ".join(body.spec.roles)}'
            )
        out.mkdir(parents=True, exist_ok=True)
        starts = {s.key[:3]: s for s in starts_of(protocol)}
        cards = [_card(body, start, out, roles) for start in starts.values()]
        document = {'format': FORMAT, 'body': protocol.body, 'cards': [c.to_json() for c in cards]}
        (out / CARDS).write_text(json.dumps(document, indent=1) + '\n', 'utf-8')
        (out / 'index.html').write_text(_page(protocol, cards, out), 'utf-8')
        text = yaml.safe_dump(_arm_protocol(protocol, cards), sort_keys=False)
        (out / 'arm.yaml').write_text(text, 'utf-8')
    except OSError as error:
        raise ParameterError(f'cannot write cards to {out}: {error.strerror}') from None
    finally:
        body.close()
    return cards


def _card(body: Body, start: PlannedStart, out: Path, roles: Sequence[str]) -> Card:
    info = body.reset(start.task, start.seed, start.initial_state)
    stem = f'{start.task.replace("/", "_")}_seed{start.seed}_state{start.initial_state}'
    pictures = {}
    for role in roles:
        pictures[role] = f'{stem}_{role}.png'
        Image.fromarray(np.asarray(body.render(role))).save(out / pictures[role])
    instruction = start.instruction or info.instruction
    return Card(start, instruction, placements(body), pictures)


def _thing(thing: Placement) -> JsonObject:
    return {
        'name': thing.name,
        'is_fixed': thing.is_fixed,
        'position_m': [round(float(v), 3) + 0.0 for v in thing.position],
        'quat_xyzw': [round(float(v), 5) for v in thing.quat_xyzw],
        'turn_deg': round(thing.turn_deg, 1),
        'tilt_deg': round(thing.tilt_deg, 1),
    }


def _arm_protocol(protocol: Protocol, cards: Sequence[Card]) -> JsonObject:
    tasks: list[JsonObject] = []
    for task in protocol.tasks:
        mine = [card for card in cards if card.start.task == task.name]
        shown = [{'text': c.text, 'picture': next(iter(c.pictures.values()))} for c in mine]
        tasks.append({'name': task.name, 'instruction': mine[0].instruction, 'cards': shown})
    return {
        'format': 1,
        'name': f'{protocol.name}, on the arm',
        'body': REAL_BODY,
        'tasks': tasks,
        'episodes': protocol.episodes,
        'success': 'person',
        'time_limit_s': protocol.time_limit_s,
        'order': protocol.order,
        'order_seed': protocol.order_seed,
        'blinding': protocol.blinding,
    }


def _page(protocol: Protocol, cards: Sequence[Card], out: Path) -> str:
    shown: list[dict[str, Any]] = [
        {
            'card': card,
            'things': [_thing(thing) for thing in card.things],
            'pictures': [
                (role, 'data:image/png;base64,' + b64encode((out / name).read_bytes()).decode())
                for role, name in card.pictures.items()
            ],
        }
        for card in cards
    ]
    return render_page('placement_cards.html', protocol=protocol, cards=shown)
