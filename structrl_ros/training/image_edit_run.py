"""Image-edited counterfactuals of whole sets: ask for what is missing, then write the set."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import as_completed
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace
from datetime import UTC
from datetime import datetime
from pathlib import Path

from structrl_ros.errors import ParameterError
from structrl_ros.errors import StructRLError
from structrl_ros.models.whole_files import whole_file
from structrl_ros.progress.operators import Operator
from structrl_ros.training.counterfactual_set import MANIFEST
from structrl_ros.training.counterfactual_set import EditRecord
from structrl_ros.training.counterfactual_set import SourceRecord
from structrl_ros.training.counterfactual_set import read_manifest
from structrl_ros.training.counterfactual_set import read_pictures
from structrl_ros.training.counterfactual_set import write_manifest
from structrl_ros.training.image_edit_budget import BudgetSpentError
from structrl_ros.training.image_edit_client import EditorRefusedError
from structrl_ros.training.image_edit_client import EditorUnavailableError
from structrl_ros.training.image_edit_client import ImageEditError
from structrl_ros.training.image_edit_client import ImageEditor
from structrl_ros.training.image_edit_picture import enlarge
from structrl_ros.training.image_edit_plan import EditOptions
from structrl_ros.training.image_edit_plan import PlannedRequest
from structrl_ros.training.image_edit_plan import check_pictures
from structrl_ros.training.image_edit_plan import plan_image_edits
from structrl_ros.training.image_edit_plan import plan_requests
from structrl_ros.training.image_edit_set import digest_of
from structrl_ros.training.image_edit_set import read_views
from structrl_ros.training.image_edit_set import record_of
from structrl_ros.training.image_edit_set import write_edit
from structrl_ros.training.image_edit_store import ANSWERS
from structrl_ros.training.image_edit_store import AnswerStore
from structrl_ros.training.image_edit_store import RequestRecord

#: Requests in a row that a dead server may fail before all of them stop.
_MOST_IN_A_ROW = 5


@dataclass(slots=True)
class EditReport:
    """What a run did.

    Attributes:
        wanted: Requests of the whole set.
        before: Of them, answered by an earlier run.
        answered: Answered by this one.
        failed: Not answered, though they were sent.
        edits: Edited trajectories that were written.
        stopped: Why the rest was not sent, None if all was.
    """

    wanted: int = 0
    before: int = 0
    answered: int = 0
    failed: int = 0
    edits: list[EditRecord] = field(default_factory=list)
    stopped: StructRLError | None = None


class ImageEditRun:
    """One run over some sets into one folder, which may hold what earlier runs were answered."""

    def __init__(
        self,
        out: Path,
        editor: ImageEditor,
        options: EditOptions,
        *,
        workers: int = 1,
        on_failure: Callable[[str], None] = lambda _: None,
        on_answer: Callable[[], None] = lambda: None,
    ) -> None:
        """Take the folder.

        Args:
            out: New, empty, or of an earlier run.
            editor: Who edits.
            options: What a person chooses.
            workers: Requests under way at a time, from 1.
            on_failure: Told a line of each request that failed.
            on_answer: Told of each request that is done with, one way or the other.

        Raises:
            ParameterError: If the folder holds something else.
        """
        if out.exists() and any(out.iterdir()) and not (out / ANSWERS).is_dir():
            raise ParameterError(
                f'{out}: not empty; allowed: a new or empty folder, or one of an earlier run'
            )
        (out / ANSWERS).mkdir(parents=True, exist_ok=True)
        self._out, self._editor, self._options = out, editor, options
        self._workers = workers
        self._on_failure, self._on_answer = on_failure, on_answer
        self._store = AnswerStore(out)
        self._in_a_row = 0
        self.report = EditReport()

    def make(self, sets: Sequence[Path]) -> EditReport:
        """Ask for every edit of every episode, and write the set as far as it came.

        Raises:
            CheckpointError: If a set cannot be read, or the folder cannot be written.
            ParameterError: If an episode comes twice, or its record is no whole one.
        """
        has_manifest = (self._out / MANIFEST).is_file()
        records = {r.episode: r for r in (read_manifest(self._out) if has_manifest else [])}
        for folder, source in episodes_of(sets):
            made = self._make_episode(folder, source, records.get(source.episode))
            records[source.episode] = made
            write_manifest(self._out, list(records.values()))
        return self.report

    def _make_episode(
        self, folder: Path, source: SourceRecord, before: SourceRecord | None
    ) -> SourceRecord:
        """Return the record with the edits of this run, and those of earlier ones that stay."""
        pictures = read_pictures(folder, source.file)
        check_pictures(source, pictures)
        file = f'{source.episode}/source.npz'
        if before is None:
            with whole_file(self._out / file) as place:
                shutil.copyfile(folder / source.file, place)
        elif (self._out / file).read_bytes() != (folder / source.file).read_bytes():
            raise ParameterError(
                f'{self._out}: has another {source.episode} than {folder}; allowed: the same '
                'recording, or another folder'
            )
        edits = {edit.operator: edit for edit in (before.edits if before is not None else ())}
        sent = {role: enlarge(pictures[role], self._options.sent_px) for role in source.roles}
        for planned in plan_image_edits(folder.name, source, self._options):
            asked = list(plan_requests(planned, sent, self._options.references))
            records = [self._record(one) for one in asked]
            self._ask(list(zip(asked, records, strict=True)))
            views = read_views(self._store, records, source.size_px)
            edit = write_edit(self._out, planned, pictures, views)
            if edit is not None:
                edits[edit.operator] = edit
                self.report.edits.append(edit)
        kept = [edits[operator.value] for operator in Operator if operator.value in edits]
        return replace(source, file=file, edits=kept)

    def _record(self, asked: PlannedRequest) -> RequestRecord:
        return record_of(asked, self._editor.settings, self._editor.identifier(asked.request))

    def _ask(self, asked: Sequence[tuple[PlannedRequest, RequestRecord]]) -> None:
        """Send what was not answered yet; failures are told and left for another run."""
        self.report.wanted += len(asked)
        waiting = [one for one in asked if self._store.read(one[1].request_id) is None]
        self.report.before += len(asked) - len(waiting)
        for _ in range(len(asked) - len(waiting)):
            self._on_answer()
        if self.report.stopped is not None or not waiting:
            return
        pool = ThreadPoolExecutor(self._workers)
        taken = set()
        try:
            futures = {pool.submit(self._ask_one, *one): one[1] for one in waiting}
            for future in as_completed(futures):
                taken.add(future)
                if not self._take(future, futures[future]):
                    break
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
        for future in [f for f in futures if f not in taken and not f.cancelled()]:
            self._take(future, futures[future])

    def _ask_one(self, asked: PlannedRequest, record: RequestRecord) -> None:
        answer = self._editor.edit(asked.request)
        done = replace(
            record,
            response_sha256=digest_of(answer.content),
            server_request_id=answer.server_request_id,
            usage=answer.usage,
            generated_at=datetime.now(UTC).isoformat(timespec='seconds'),
        )
        self._store.write(done, answer.content)

    def _take(self, future: Future[None], record: RequestRecord) -> bool:
        """Look at how a request ended, and return whether more may be sent."""
        self._on_answer()
        try:
            future.result()
        except (BudgetSpentError, EditorRefusedError) as error:
            self.report.stopped = self.report.stopped or error
        except ImageEditError as error:
            self.report.failed += 1
            where = f'{record.episode} {record.operator} frame {record.frame} {record.view}'
            self._on_failure(f'{where}: {error}')
            is_dead = isinstance(error, EditorUnavailableError)
            self._in_a_row = self._in_a_row + 1 if is_dead else 0
            if self._in_a_row >= _MOST_IN_A_ROW and self.report.stopped is None:
                self.report.stopped = ImageEditError(
                    f'{_MOST_IN_A_ROW} requests in a row failed, the last one: {error}'
                )
        else:
            self.report.answered += 1
            self._in_a_row = 0
        return self.report.stopped is None


def episodes_of(sets: Sequence[Path]) -> list[tuple[Path, SourceRecord]]:
    """Return the episodes of some sets with the folder of each.

    Raises:
        CheckpointError: If a set has no manifest.
        ParameterError: If an episode comes twice.
    """
    found: list[tuple[Path, SourceRecord]] = []
    owners: dict[str, Path] = {}
    for folder in sets:
        for source in read_manifest(folder):
            if source.episode in owners:
                raise ParameterError(
                    f'episode {source.episode} is in {owners[source.episode]} and in {folder}; '
                    'allowed: each episode once'
                )
            owners[source.episode] = folder
            found.append((folder, source))
    return found


def count_requests(
    sets: Sequence[Path], options: EditOptions
) -> tuple[dict[str, int], PlannedRequest | None]:
    """Return how many requests each operator needs, and the first one, without sending any.

    Raises:
        CheckpointError: If a set cannot be read.
        ParameterError: If an episode comes twice, or its record is no whole one.
    """
    counts: dict[str, int] = {}
    first = None
    for folder, source in episodes_of(sets):
        for planned in plan_image_edits(folder.name, source, options):
            operator = planned.edit.operator.value
            views = len(planned.edit.frames) * len(source.roles)
            counts[operator] = counts.get(operator, 0) + views
            if first is None:
                pictures = read_pictures(folder, source.file)
                check_pictures(source, pictures)
                sent = {role: enlarge(pictures[role], options.sent_px) for role in source.roles}
                first = next(plan_requests(planned, sent, options.references), None)
    return counts, first
