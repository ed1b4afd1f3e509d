"""From answers of an image editor to an edited trajectory in the format of counterfactual sets."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import asdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from structrl_ros.models.whole_files import whole_file
from structrl_ros.progress.source_progress import source_progress
from structrl_ros.progress.views import resize_area
from structrl_ros.training.counterfactual_set import EditRecord
from structrl_ros.training.counterfactual_set import edit_record
from structrl_ros.training.image_edit_client import EditorSettings
from structrl_ros.training.image_edit_picture import ImageAnswerError
from structrl_ros.training.image_edit_picture import decode
from structrl_ros.training.image_edit_plan import PlannedEdit
from structrl_ros.training.image_edit_plan import PlannedRequest
from structrl_ros.training.image_edit_prompt import PROMPT_VERSION
from structrl_ros.training.image_edit_store import AnswerStore
from structrl_ros.training.image_edit_store import RequestRecord
from structrl_ros.types import UInt8


@dataclass(frozen=True, slots=True)
class View:
    """An edited view at the size of its set, with its provenance."""

    picture: UInt8
    record: RequestRecord


def record_of(asked: PlannedRequest, settings: EditorSettings, digest: str) -> RequestRecord:
    """Return the record of a request, before its answer.

    Args:
        asked: The request.
        settings: Who is asked.
        digest: Of all that is asked, `ImageEditor.identifier`.
    """
    planned, operator = asked.planned, asked.planned.edit.operator
    source, frame = planned.source, asked.frame
    return RequestRecord(
        request_id=f'{source.episode}-{operator}-{frame:04d}-{asked.role}-{digest[:16]}',
        dataset=planned.dataset,
        source_file=source.file,
        instruction=source.instruction,
        episode=source.episode,
        frame=frame,
        progress=source_progress(frame, source.frames),
        view=asked.role,
        primitive=planned.active[frame].value,
        operator=operator.value,
        group='negative' if operator.is_negative else 'robust',
        target=planned.targets[frame],
        variant=planned.variant,
        reference_frames=list(asked.references),
        prompt=asked.request.prompt,
        prompt_version=PROMPT_VERSION,
        backend=settings.base_url,
        model=settings.model,
        fields=dict(settings.fields),
        seed=planned.seed,
        sent_px=asked.request.pictures[-1].shape[0],
        request_sha256=digest,
        usage={},
    )


def read_views(
    store: AnswerStore, records: Sequence[RequestRecord], size_px: int
) -> dict[tuple[int, str], View]:
    """Return the views of those requests that were answered, by frame and role."""
    found = {}
    for record in records:
        answer = store.read(record.request_id)
        if answer is None:
            continue
        try:
            picture = decode(answer[1], (record.sent_px, record.sent_px))
        except ImageAnswerError:
            continue
        small = resize_area(picture, size_px, size_px)
        found[record.frame, record.view] = View(small, answer[0])
    return found


def longest_run(frames: Sequence[int]) -> range:
    """Return the longest run of frames that follow each other, the first of equals."""
    best = range(0)
    start = 0
    for n, frame in enumerate(frames):
        if n and frame != frames[n - 1] + 1:
            start = n
        if n + 1 - start > len(best):
            best = range(frames[start], frame + 1)
    return best


def write_edit(
    out: Path,
    planned: PlannedEdit,
    pictures: Mapping[str, UInt8],
    views: Mapping[tuple[int, str], View],
) -> EditRecord | None:
    """Write an edited trajectory, and return what the manifest says of it.

    A frame is in it if every camera's view of it was edited; of those frames the longest run is
    taken, as an edited trajectory has no gaps. None if there is none.

    Args:
        out: Folder of the set.
        planned: The edit.
        pictures: Of the source, by role, shape (T, S, S, 3).
        views: Edited views by frame and role.
    """
    source, edit = planned.source, planned.edit
    whole = [i for i in edit.frames if all((i, role) in views for role in source.roles)]
    frames = longest_run(whole)
    if not frames:
        return None
    arrays: dict[str, Any] = {
        role: np.stack([views[i, role].picture for i in frames]) for role in source.roles
    }
    file = f'{source.episode}/{edit.operator.value}.npz'
    requests = f'{source.episode}/{edit.operator.value}.requests.jsonl'
    records = [views[i, role].record for i in frames for role in source.roles]
    with whole_file(out / file) as place, place.open('wb') as stream:
        np.savez_compressed(stream, frames=np.array(frames), **arrays)
    with whole_file(out / requests) as place:
        place.write_text(''.join(f'{_line(record)}\n' for record in records), encoding='utf-8')
    return edit_record(
        edit,
        frames,
        pictures,
        arrays,
        instruction=source.instruction,
        target=planned.targets[edit.start] if edit.operator.is_negative else '',
        seed=planned.seed,
        renderer=f'image-edit:{records[0].model}',
        file=file,
        requests=requests,
    )


def _line(record: RequestRecord) -> str:
    return json.dumps(asdict(record))


def digest_of(image: bytes) -> str:
    """Return the SHA-256 of an image file, 64 hex digits."""
    return hashlib.sha256(image).hexdigest()
