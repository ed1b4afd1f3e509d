"""Training of a diffusion policy on picture chunks: `train_diffusion`.

Each look at a batch of pictures serves several noised copies of its chunks: the eyes cost most.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from structrl_ros.errors import TrainingError
from structrl_ros.models.policies.base import PolicyInput
from structrl_ros.models.policies.diffusion import PLACE_SCALE
from structrl_ros.models.policies.diffusion import DiffusionPolicy
from structrl_ros.models.policies.image_flow import sized
from structrl_ros.training.card import policy_card
from structrl_ros.training.cpu_watch import CpuWatch
from structrl_ros.training.diffusion_chunks import PictureChunks
from structrl_ros.training.diffusion_settings import DiffusionSettings
from structrl_ros.training.imitation import Imitator
from structrl_ros.training.metrics_log import Metrics
from structrl_ros.training.metrics_log import MetricsLog
from structrl_ros.training.picture_shift import shifted
from structrl_ros.training.practice import Report
from structrl_ros.training.run_directory import RunDirectory
from structrl_ros.training.start_policy import move


def fresh_diffusion(chunks: PictureChunks, settings: DiffusionSettings) -> DiffusionPolicy:
    """Return a policy with drawn weights, its statistics fitted to the chunks.

    Raises:
        ParameterError: If a size does not suit it, or the device is not here.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        policy = DiffusionPolicy(settings.config(chunks))
    policy.fit_normalisers(chunks.features, chunks.actions[chunks.valid])
    move(policy, settings.device)
    return policy


def train_diffusion(
    policy: DiffusionPolicy,
    chunks: PictureChunks,
    settings: DiffusionSettings,
    run: RunDirectory | None = None,
    report: Report | None = None,
) -> tuple[Metrics, ...]:
    """Train a policy in place; at the end it has the averaged weights.

    Args:
        policy: Of `fresh_diffusion`; of the checkpoint, if the run has one.
        chunks: What is imitated.
        settings: See `DiffusionSettings`.
        run: Where it is kept, None: nowhere. One with a checkpoint goes on, to the same numbers.
        report: Is called at each line of the log.

    Returns:
        The numbers of each line: 'diffusion/loss', 'diffusion/action_loss' (mean square of what
        is left to denoise, normalised) and 'diffusion/place_m' (mean distance, metres).

    Raises:
        TrainingError: If a loss or gradient is not finite.
        CheckpointError: If a checkpoint cannot be saved or read; the old one stays.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        imitator = DiffusionImitator(policy, settings)
        done = 0
        if run is not None and run.has_checkpoint:
            state = run.load_state()
            done = int(state.numbers['update'])
            imitator.restore(state)
        log = None if run is None else MetricsLog(run.path, 'update', after=done or None)
        lines: list[Metrics] = []
        windows = ChunkWindows(chunks, policy)
        try:
            while done < settings.updates:
                watch = CpuWatch()
                count = min(settings.checkpoint_every, settings.updates - done)
                with watch.part('update'):
                    loss = imitator.improve(windows, count)  # type: ignore[arg-type]
                done += count
                lines.append({'diffusion/loss': loss, **imitator.tell(), **watch.seconds()})
                if run is not None and log is not None:
                    log.write(done, lines[-1])
                    _save(run, imitator, settings, chunks, done)
                if report is not None:
                    report(done, lines[-1])
        finally:
            if log is not None:
                log.close()
        imitator.finish()
    return tuple(lines)


class ChunkWindows:
    """Picture chunks as tensors, in the policy's own action space and picture size."""

    def __init__(self, chunks: PictureChunks, policy: DiffusionPolicy) -> None:
        """Take chunks that the policy can be trained on."""
        self._features = torch.from_numpy(chunks.features)
        self._actions = torch.from_numpy(policy.from_body(chunks.actions).astype(np.float32))
        self._valid = torch.from_numpy(chunks.valid)
        self._targets = torch.from_numpy(chunks.targets)
        self._images = {
            role: sized(torch.from_numpy(chunks.images[role]), policy.config.image_size).byte()
            for role in policy.config.roles
        }
        self._sentences = [chunks.sentences[i] for i in chunks.sentence.tolist()]

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._features)

    def take(self, numbers: Tensor) -> tuple[PolicyInput, Tensor, Tensor, Tensor]:
        """Return what was seen, chunks (B, L, A), which rows count, and targets (B, 3)."""
        inputs = PolicyInput(
            self._features[numbers],
            {role: image[numbers] for role, image in self._images.items()},
            tuple(self._sentences[i] for i in numbers.tolist()),
        )
        return inputs, self._actions[numbers], self._valid[numbers], self._targets[numbers]


class DiffusionImitator(Imitator):
    """An imitator that denoises, and learns on the side where things are."""

    def __init__(self, policy: DiffusionPolicy, settings: DiffusionSettings) -> None:
        super().__init__(policy, settings)
        self._own, self._chosen = policy, settings
        self._sums = torch.zeros(4)

    def tell(self) -> Metrics:
        """Return the mean losses since this was last asked."""
        updates, action, places, distance = self._sums.tolist()
        self._sums.zero_()
        return {
            'diffusion/action_loss': action / max(updates, 1.0),
            'diffusion/place_m': distance / places if places else None,
        }

    def _loss(self, windows: ChunkWindows, numbers: Tensor) -> Tensor:  # type: ignore[override]
        inputs, chunks, valid, targets = windows.take(numbers)
        images = {role: self._augment(image) for role, image in inputs.images.items()}
        inputs = PolicyInput(inputs.features, images, inputs.instructions).to(self._device)
        seen = self._own.encode(inputs)
        draws = self._chosen.draws
        loss = self._own.denoising_loss(
            seen.repeat(draws, 1),
            chunks.repeat(draws, 1, 1).to(self._device),
            torch.default_generator,
        ).mean(dim=2)
        weight = valid.repeat(draws, 1).to(loss)
        action = (loss * weight).sum() / weight.sum().clamp(min=1.0)
        if not bool(torch.isfinite(action)):
            raise TrainingError('the loss is not finite')
        told = targets.isfinite().all(dim=1).to(self._device)
        self._sums += torch.tensor([1.0, float(action.detach()), float(told.sum()), 0.0])
        if not bool(told.any()) or not self._chosen.place_weight:
            return action
        place, true = self._own.place(seen)[told], targets.to(self._device)[told] / PLACE_SCALE
        with torch.no_grad():
            self._sums[3] += float((place - true).norm(dim=1).sum()) * PLACE_SCALE
        return action + self._chosen.place_weight * functional.smooth_l1_loss(place, true)

    def _augment(self, images: Tensor) -> Tensor:
        """Return pictures (B, H, W, 3) that are shifted, and brighter or darker."""
        chosen, random = self._chosen, self._random
        count = len(images)
        images = torch.from_numpy(shifted(images.numpy(), random, chosen.shift_px))
        gains = random.uniform(1 - chosen.brightness, 1 + chosen.brightness, (count, 1, 1, 1))
        gains = gains * random.uniform(1 - chosen.colour, 1 + chosen.colour, (count, 1, 1, 3))
        scaled = images.float() * torch.from_numpy(gains.astype(np.float32))
        return scaled.round_().clamp_(0, 255).byte()


def _save(
    run: RunDirectory,
    imitator: DiffusionImitator,
    settings: DiffusionSettings,
    chunks: PictureChunks,
    done: int,
) -> None:
    state = imitator.state()
    state.numbers['update'] = done
    origin = chunks.origin or 'demonstrations'
    card = policy_card(
        f'diffusion policy, {len(chunks)} chunks of: {origin}',
        settings,
        progress=f'{done} of {settings.updates} updates.',
        measured={},
    )
    run.save(imitator.averaged, state, card)
