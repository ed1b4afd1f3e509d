"""References of overlay_node, also from a protocol or evaluation that is set up by cards."""

from __future__ import annotations

from pathlib import Path

from structrl_ros.errors import ParameterError
from structrl_ros.recording.references import Reference
from structrl_ros.recording.references import read_picture
from structrl_ros.recording.references import read_references

#: Documents that hold a protocol with placement cards.
EVALUATION = 'evaluation.json'


def references_of(text: str, role: str) -> tuple[Reference, ...]:
    """Return the references that a parameter or argument names, one or more.

    Args:
        text: See `recording.references.read_references`; also a protocol (.yaml) whose cards have
            pictures, or the folder of an evaluation of such a protocol.
        role: Camera role.

    Raises:
        StructRLError: If there is none.
    """
    path = Path(text).expanduser()
    if path.suffix in ('.yaml', '.yml'):
        return _of_protocol(path)
    if (path / EVALUATION).is_file():
        return _of_protocol(path / EVALUATION)
    if not path.exists():
        raise ParameterError(
            f'reference {text}: no such file or folder; allowed: a picture, bag, run, folder of '
            'cards, protocol or evaluation'
        )
    return read_references(path, role)


def _of_protocol(path: Path) -> tuple[Reference, ...]:
    import json

    from structrl_ros.training.protocol_document import protocol_of_document
    from structrl_ros.training.protocol_document import read_protocol

    if path.name == EVALUATION:
        document = json.loads(path.read_text('utf-8'))
        protocol = protocol_of_document(document.get('protocol'), where=str(path))
    else:
        protocol = read_protocol(path)
    found = [
        Reference(f'{task.name}, card {number + 1}', card.text, read_picture(Path(card.picture)))
        for task in protocol.tasks
        for number, card in enumerate(task.cards)
        if card.picture
    ]
    if not found:
        raise ParameterError(
            f'{path} has no placement card with a picture; structrl evaluate cards makes them'
        )
    return tuple(found)
