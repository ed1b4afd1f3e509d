"""Plain implementations, written the way peers write them, to measure the core against.

Own code: a loop over time with per-step torch tensors for GAE, Python dictionaries a step for the
structured reward, scipy.stats for ranks. Tests check that they give what the core gives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np


def gae_by_torch_loop(
    rewards: Any, values: Any, dones: Any, last_values: Any, gamma: float, trace_decay: float
) -> tuple[Any, Any]:
    """Return advantages and returns, shape (T, B), from torch tensors, one step at a time."""
    import torch

    steps = rewards.shape[0]
    advantages = torch.zeros_like(rewards)
    running = torch.zeros_like(last_values)
    for step in reversed(range(steps)):
        following = last_values if step == steps - 1 else values[step + 1]
        is_going_on = 1.0 - dones[step].to(rewards.dtype)
        delta = rewards[step] + gamma * following * is_going_on - values[step]
        running = delta + gamma * trace_decay * is_going_on * running
        advantages[step] = running
    return advantages, advantages + values


def group_advantages_by_torch(returns: Any, group_size: int) -> Any:
    """Return (R - mean) / (std + 1e-6) of consecutive groups, shape (n,)."""
    grouped = returns.view(-1, group_size)
    mean, std = grouped.mean(dim=1, keepdim=True), grouped.std(dim=1, keepdim=True)
    return ((grouped - mean) / (std + 1e-6)).view(-1)


class DictionaryReward:
    """The structured reward of one environment, with dictionaries that are read every step."""

    def __init__(
        self, stages: Sequence[Sequence[str]], durations: dict[str, float], beta: float = 0.6
    ) -> None:
        """Start an episode."""
        self.config = {'stages': [list(stage) for stage in stages], 'beta': beta}
        self.durations = dict(durations)
        self.state: dict[str, Any] = {'done': {}, 'last': 0, 'chunk': 0, 'over': False}

    def step(self, info: dict[str, bool], success: bool) -> float:
        """Return the reward of the next chunk from a dictionary of predicates."""
        state = self.state
        state['chunk'] += 1
        reward = 0.0
        if state['over']:
            return reward
        for number, stage in enumerate(self.config['stages']):
            earlier = [name for s in self.config['stages'][:number] for name in s]
            for name in stage:
                if state['done'].get(name, False) or not info.get(name, False):
                    continue
                if not all(state['done'].get(other, False) for other in earlier):
                    continue
                elapsed = state['chunk'] - state['last']
                reward += self.config['beta'] / (1.0 + elapsed / self.durations[name])
                state['done'][name] = True
                state['last'] = state['chunk']
        if success:
            reward += 2.0
            state['over'] = True
        return reward


def fuse_by_step(
    forward: Sequence[float], backward: Sequence[float], incremental: Sequence[float]
) -> list[float]:
    """Return the fused potential of one stream in plain Python."""

    def invert(hop: float, phi: float, floor: float) -> float:
        return phi + hop * (1.0 - phi) if hop >= 0.0 else phi + hop * (phi - floor)

    potential, before = [0.0], False
    for triple in zip(forward, backward, incremental, strict=True):
        f, b, i = (max(-1.0, min(1.0, hop)) for hop in triple)
        now = f < 0.0
        floor = -1.0 if now else 0.0
        either = -1.0 if now or before else 0.0
        parts = (invert(f, 0.0, floor), invert(b, 1.0, floor), invert(i, potential[-1], either))
        potential.append(max(-1.0, min(1.0, sum(parts) / 3.0)))
        before = now
    return potential


def panel_by_linspace(start: int, stop: int, capacity: int) -> list[int]:
    """Return evenly spread frames of a window, all of them if they fit."""
    frames = list(range(start, stop))
    if len(frames) <= capacity:
        return frames
    places = np.linspace(0, len(frames) - 1, capacity)
    return [frames[math.floor(place + 0.5)] for place in places]


def voc_by_scipy(hops: Sequence[float], truth: Sequence[float]) -> float:
    """Return the Spearman correlation of accumulated progress with the truth."""
    from scipy.stats import spearmanr

    progress = [truth[0]]
    for hop in hops:
        before = progress[-1]
        change = hop * (1.0 - before) if hop >= 0.0 else hop * before
        progress.append(float(np.clip(before + change, -1.0, 1.0)))
    return float(spearmanr(progress, truth).statistic)


def plan_reward_by_loops(
    generated: Sequence[tuple[str, tuple[str, ...]]],
    truth: Sequence[tuple[str, tuple[str, ...]]],
    ontology: Sequence[Sequence[str]],
) -> float:
    """Return REVER's content reward with a similarity that looks everything up again."""
    from scipy.optimize import linear_sum_assignment

    def same(a: str, b: str) -> bool:
        a, b = a.lower().strip(), b.lower().strip()
        return a == b or a in b or b in a or any(a in s and b in s for s in ontology)

    scores = np.zeros((len(generated), len(truth)))
    for row, (verb, things) in enumerate(generated):
        for column, (true_verb, true_things) in enumerate(truth):
            is_same = len(things) == len(true_things) and all(
                same(a, b) for a, b in zip(things, true_things, strict=True)
            )
            scores[row, column] = 0.3 * (verb == true_verb) + 0.7 * is_same
    rows, columns = linear_sum_assignment(-scores)
    longest = max(len(generated), len(truth))
    return float(scores[rows, columns].sum()) / longest - 0.1 * abs(len(generated) - len(truth))
