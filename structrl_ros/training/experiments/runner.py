"""Runs experiments: starts, then cells, in this process or in several; what is done stays done."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path

from structrl_ros.errors import ParameterError
from structrl_ros.errors import TrainingError
from structrl_ros.training.experiments.cell_run import run_cell
from structrl_ros.training.experiments.outcomes import Outcome
from structrl_ros.training.experiments.outcomes import needed_cells
from structrl_ros.training.experiments.plan import Cell
from structrl_ros.training.experiments.plan import Experiment
from structrl_ros.training.experiments.plan import StartRecipe
from structrl_ros.training.experiments.starting import prepare_start

STARTS, CELLS = 'starts', 'cells'

#: Is told what was done, and how much it was: 'ppo structured seed 3', 2816 episodes.
Progress = Callable[[str, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """How experiments are run.

    Attributes:
        folder: Where starts and outcomes are kept. A result that is there is not made again, so
            a folder belongs to one state of the code.
        start_episodes: Of the evaluation of a start.
        processes: Runs side by side, each with one thread a library; no number depends on it.
        body_workers: Processes that step the bodies of one run, where `processes` is 1.
        progress: Is called after every start and every run.
    """

    folder: Path
    start_episodes: int = 256
    processes: int = 1
    body_workers: int = 1
    progress: Progress = field(default=lambda title, work: None)

    def run(self, experiments: Sequence[Experiment]) -> dict[str, Outcome]:
        """Return the outcome of every cell of the experiments, by its key.

        Raises:
            ParameterError: If a number is out of range.
            TrainingError: If a run fails, or a process dies.
        """
        if self.processes < 1 or self.body_workers < 1:
            raise ParameterError('workers: must be 1 or more')
        cells = needed_cells(experiments)
        starts = self.starts([cell.arm.start for cell in cells.values()])
        folder = self.folder / CELLS
        folder.mkdir(parents=True, exist_ok=True)
        carry_out = self._one_by_one if self.processes == 1 else self._side_by_side
        copies = {key: cell for key, cell in cells.items() if cell.arm.copies is not None}
        originals = {key: cell for key, cell in cells.items() if key not in copies}
        return {
            **dict(carry_out(originals, starts, folder)),
            **dict(carry_out(copies, starts, folder)),
        }

    def starts(self, recipes: Sequence[StartRecipe]) -> dict[str, Path]:
        """Return the run directory of every start by its folder's name, trained if need be."""
        found: dict[str, Path] = {}
        for recipe in recipes:
            if recipe.folder not in found:
                found[recipe.folder] = prepare_start(
                    recipe,
                    self.folder / STARTS,
                    episodes=self.start_episodes,
                    workers=self.body_workers,
                )
                self.progress(f'start {recipe.name}', start_work(recipe))
        return found

    def _one_by_one(
        self, cells: Mapping[str, Cell], starts: Mapping[str, Path], folder: Path
    ) -> Iterator[tuple[str, Outcome]]:
        for key, cell in cells.items():
            start = starts[cell.arm.start.folder]
            yield key, run_cell(cell, start, folder, workers=self.body_workers)
            self.progress(cell.title, cell.work)

    def _side_by_side(
        self, cells: Mapping[str, Cell], starts: Mapping[str, Path], folder: Path
    ) -> Iterator[tuple[str, Outcome]]:
        context = multiprocessing.get_context('spawn')
        with ProcessPoolExecutor(self.processes, mp_context=context) as pool:
            futures: dict[Future[Outcome], str] = {
                pool.submit(run_cell, cell, starts[cell.arm.start.folder], folder): key
                for key, cell in cells.items()
            }
            try:
                for future in as_completed(futures):
                    key = futures[future]
                    yield key, future.result()
                    self.progress(cells[key].title, cells[key].work)
            except BrokenProcessPool:
                raise TrainingError(
                    'a process of the experiments died; what is done is kept, run it again'
                ) from None
            finally:
                pool.shutdown(wait=True, cancel_futures=True)


def start_work(recipe: StartRecipe) -> int:
    """Return how much a start is, in episodes of practice that take about as long."""
    updates = int(recipe.settings.get('updates', 5000))
    rounds = int(recipe.settings.get('dagger_rounds', 0)) + 1
    return updates * rounds // 2


def whole_work(experiments: Sequence[Experiment]) -> int:
    """Return how much all starts and cells are, in the unit of `Progress`."""
    cells = needed_cells(experiments).values()
    starts = {cell.arm.start.folder: cell.arm.start for cell in cells}
    return sum(cell.work for cell in cells) + sum(map(start_work, starts.values()))
