"""Requests that were answered: record and image of each in one file, whole or not at all."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from dataclasses import asdict
from dataclasses import dataclass
from pathlib import Path

from structrl_ros.models.whole_files import whole_file
from structrl_ros.types import JsonObject

ANSWERS = 'answers'


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRecord:
    """Provenance of one edited view (Robo-Dopamine 2.0, Appendix A, "Generation and Provenance").

    Attributes:
        request_id: Unique; it names episode, operator, frame, view, and all that was asked.
        dataset: Name of the source set.
        source_file: File of the source pictures in it.
        instruction: Sentence of the episode.
        episode: Source episode.
        frame: Source frame.
        progress: i / (T - 1) of the frame.
        view: Camera role.
        primitive: The one that is active in the frame.
        operator: OOD type.
        group: 'negative' or 'robust'.
        target: Phrase of the thing acted on.
        variant: What the operator brings, the same in every view of a trajectory.
        reference_frames: Frames of the references, in the order they were sent.
        prompt: The whole text.
        prompt_version: Of the words.
        backend: Address that was asked.
        model: Name of the model there.
        fields: More fields of the form.
        seed: Of what was drawn, and of the editor if it takes one.
        sent_px: Side of the images that were sent and came back.
        request_sha256: Of all that was asked.
        response_sha256: Of the image file that came back.
        server_request_id: The server's own name of the request, '' if none.
        usage: What the server says about cost.
        generated_at: Wall time of the answer, ISO 8601, UTC.
    """

    request_id: str
    dataset: str
    source_file: str
    instruction: str
    episode: str
    frame: int
    progress: float
    view: str
    primitive: str
    operator: str
    group: str
    target: str
    variant: str
    reference_frames: list[int]
    prompt: str
    prompt_version: int
    backend: str
    model: str
    fields: JsonObject
    seed: int
    sent_px: int
    request_sha256: str
    response_sha256: str = ''
    server_request_id: str = ''
    usage: JsonObject
    generated_at: str = ''


class AnswerStore:
    """The folder `answers` of a set."""

    def __init__(self, out: Path) -> None:
        """Take the folder of a set; nothing is made yet."""
        self._folder = out / ANSWERS

    def read(self, request_id: str) -> tuple[RequestRecord, bytes] | None:
        """Return record and image file of an answer, None if there is none that is whole."""
        try:
            document = json.loads(self._path(request_id).read_text(encoding='utf-8'))
            record = RequestRecord(**document['record'])
            image = base64.b64decode(document['image_base64'], validate=True)
        except (OSError, ValueError, KeyError, TypeError, binascii.Error):
            return None
        is_whole = hashlib.sha256(image).hexdigest() == record.response_sha256
        return (record, image) if is_whole and record.request_id == request_id else None

    def write(self, record: RequestRecord, image: bytes) -> None:
        """Keep an answer; it is on the disk when this returns.

        Raises:
            CheckpointError: If it cannot be written.
        """
        text = base64.b64encode(image).decode('ascii')
        document = {'record': asdict(record), 'image_base64': text}
        with whole_file(self._path(record.request_id)) as place:
            place.write_text(json.dumps(document, indent=1) + '\n', encoding='utf-8')

    def _path(self, request_id: str) -> Path:
        return self._folder / f'{request_id}.json'
