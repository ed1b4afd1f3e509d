"""A run of `structrl train diffusion`: begun anew, or gone on with."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError
from structrl_ros.models.checkpoint import load_policy
from structrl_ros.models.policies.diffusion import DiffusionPolicy
from structrl_ros.training.diffusion_chunks import PictureChunks
from structrl_ros.training.diffusion_settings import DiffusionSettings
from structrl_ros.training.diffusion_sources import read_sources
from structrl_ros.training.diffusion_trainer import fresh_diffusion
from structrl_ros.training.diffusion_trainer import train_diffusion
from structrl_ros.training.metrics_log import Metrics
from structrl_ros.training.practice import Report
from structrl_ros.training.run_directory import RunDirectory
from structrl_ros.training.run_directory import create_run
from structrl_ros.training.run_directory import open_run
from structrl_ros.training.settings_document import make_settings
from structrl_ros.training.start_policy import move
from structrl_ros.types import JsonObject

KIND = 'diffusion'


@dataclass(frozen=True, slots=True)
class Sources:
    """What is imitated; see `read_sources` for the fields."""

    paths: tuple[Path, ...]
    roles: tuple[str, ...]
    chunk_length: int
    every: int

    def read(self) -> PictureChunks:
        """Return the chunks."""
        return read_sources(
            self.paths, roles=self.roles, chunk_length=self.chunk_length, every=self.every
        )

    def document(self) -> JsonObject:
        """Return plain JSON."""
        return {
            'paths': [str(path.resolve()) for path in self.paths],
            'roles': list(self.roles),
            'chunk_length': self.chunk_length,
            'every': self.every,
        }


@dataclass(frozen=True, slots=True)
class DiffusionRun:
    """All that a run needs; `train` carries it out."""

    directory: RunDirectory
    chunks: PictureChunks
    settings: DiffusionSettings
    policy: DiffusionPolicy

    @property
    def parameters(self) -> int:
        """Weights of the policy."""
        return sum(weight.numel() for weight in self.policy.parameters())

    def train(self, report: Report | None = None) -> tuple[Metrics, ...]:
        """Train to the end; see `train_diffusion`."""
        return train_diffusion(self.policy, self.chunks, self.settings, self.directory, report)

    def close(self) -> None:
        """Let another process have the directory."""
        self.directory.close()


def begin_diffusion(
    sources: Sources,
    assignments: Mapping[str, str],
    place: Callable[[], Path],
    start: Path | None = None,
) -> DiffusionRun:
    """Return a new run; what it cannot have leaves no directory behind.

    Args:
        sources: What is imitated.
        assignments: Text of each setting that is not to be the default.
        place: Makes the directory.
        start: Checkpoint whose weights and statistics the run begins with; its sizes hold.

    Raises:
        ParameterError: If a setting is wrong, or the start sees or does something else.
        CheckpointError: If the start cannot be read.
        DatasetError: If there is nothing to imitate, or it is cut.
    """
    values: dict[str, object] = dict(assignments)
    if 'channels' in assignments:
        values['channels'] = [width for width in assignments['channels'].split(',') if width]
    settings = make_settings(DiffusionSettings, values)
    chunks = sources.read()
    policy = fresh_diffusion(chunks, settings) if start is None else _started(start, chunks)
    move(policy, settings.device)
    document = {
        'trainer': KIND,
        'start': '' if start is None else str(start.resolve()),
        'sources': sources.document(),
        'settings': settings.model_dump(mode='json'),
    }
    return DiffusionRun(create_run(place(), document), chunks, settings, policy)


def resume_diffusion(path: Path) -> DiffusionRun:
    """Return the run of a directory, as it was left.

    Raises:
        CheckpointError: If it is no run of this trainer, or is cut.
        DatasetError: If what it imitates is gone.
    """
    directory = open_run(path)
    try:
        document = directory.config
        if document.get('trainer') != KIND:
            raise CheckpointError(f'{path} is a run of {document.get("trainer")!r}, not of {KIND}')
        told = document['sources']
        sources = Sources(
            tuple(map(Path, told['paths'])),
            tuple(told['roles']),
            told['chunk_length'],
            told['every'],
        )
        settings = make_settings(DiffusionSettings, document['settings'])
        chunks = sources.read()
        policy = _left(directory) or _anew(document, chunks, settings)
    except (KeyError, TypeError) as error:
        directory.close()
        raise CheckpointError(f'{path}: its config tells no {error}') from None
    except BaseException:
        directory.close()
        raise
    move(policy, settings.device)
    return DiffusionRun(directory, chunks, settings, policy)


def _anew(
    document: JsonObject, chunks: PictureChunks, settings: DiffusionSettings
) -> DiffusionPolicy:
    """Return the policy that a run began with, for one that was stopped before a checkpoint."""
    start = document.get('start')
    return _started(Path(start), chunks) if start else fresh_diffusion(chunks, settings)


def _started(start: Path, chunks: PictureChunks) -> DiffusionPolicy:
    """Return the policy of a checkpoint that can imitate the chunks."""
    policy = load_policy(start, architecture=KIND, feature_names=chunks.feature_names)
    assert isinstance(policy, DiffusionPolicy)
    config = policy.config
    got = (config.chunk_length, sorted(config.roles))
    wanted = (chunks.actions.shape[1], sorted(chunks.images))
    if got != wanted:
        raise ParameterError(
            f'{start}: rows and cameras are {got}; allowed: {wanted}, those of the chunks'
        )
    return policy


def _left(directory: RunDirectory) -> DiffusionPolicy | None:
    if not directory.has_checkpoint:
        return None
    policy = directory.load_policy()
    if not isinstance(policy, DiffusionPolicy):
        raise ParameterError(
            f'{directory.path} keeps a policy of {policy.config.architecture}; allowed: {KIND}'
        )
    return policy
