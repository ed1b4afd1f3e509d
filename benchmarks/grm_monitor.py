"""Monitor grm beside monitor predicates on the tabletop: delay, false stops, steps never seen.

    python benchmarks/grm_monitor.py [--tasks apple_in_bowl two_in_basket] [--episodes 4]
        [--goal other|none] [--marks] [--closed]

The scripted expert plays, and both monitors judge the same chunks by the real state machine
(`plan.Executive`). Every second episode the arm stops for good half way. Delay is counted in
chunks of 8 rows (0.8 s) from the chunk in which the predicate came true; a step that is called
done before that, or though it never came true, is a false stop. The goal is the last frame of an
episode of the same task from another initial state (other), or there is none. With `--marks` the
thresholds are those of that episode instead of even shares; with `--closed` the expert pursues
what the monitor says, and the table tells how many episodes it solves.
"""

from __future__ import annotations

import argparse
import dataclasses
from dataclasses import dataclass

import numpy as np
import torch

from structrl_ros.control.episode_runner import EpisodeRunner
from structrl_ros.control.episode_runner import simulated_episode
from structrl_ros.models.grm.checkpoint import load_grm
from structrl_ros.models.grm.shipped import grm_folder
from structrl_ros.models.grm.small import SmallGrm
from structrl_ros.plan.commands import AskMonitor
from structrl_ros.plan.commands import AskPlanner
from structrl_ros.plan.commands import ExecutiveSettings
from structrl_ros.plan.commands import Goal
from structrl_ros.plan.executive import Executive
from structrl_ros.plan.rules import RulePlanner
from structrl_ros.progress.frames import Frame
from structrl_ros.progress.online import EpisodeProgress
from structrl_ros.progress.online import OnlineModel
from structrl_ros.progress.potential_monitor import PotentialMonitor
from structrl_ros.rewards.shaping import shaping_term
from structrl_ros.sim.registry import make_body
from structrl_ros.sim.registry import make_expert
from structrl_ros.sim.tabletop.camera import prepare_graphics
from structrl_ros.subtasks.predicate_monitor import PredicateMonitor
from structrl_ros.types import Observation
from structrl_ros.types import Subtask
from structrl_ros.types import UInt8

AnyMonitor = PredicateMonitor | PotentialMonitor
ROWS = 8
#: Chunks of standing still after success, and after an arm that stops.
AFTER = 8
#: Initial states of the episodes that goals come from lie this far from the others.
GOAL_STATE = 50
NEVER = 10**6
#: Share of the potential at the end of a demonstrated step that is its mark.
MARGIN = 0.85
OPEN = """\
| episodes | steps | came true | seen | delay, chunks | false stops | never seen |
|---|---|---|---|---|---|---|"""
CLOSED = """\
| task | by predicates: solved, chunks | by the potential: solved, chunks |
|---|---|---|"""


@dataclass(frozen=True)
class Played:
    """An episode: chunks in which its steps were done, by the predicates and by the potential.

    `goal` is what was seen at its end, `chunks` how many the expert needed, `success` what the
    body says, `potential` what the model said of each chunk.
    """

    steps: int
    truth: list[int]
    told: list[int]
    chunks: int
    success: bool
    potential: list[float]
    goal: dict[str, UInt8]


class Judge:
    """A monitor behind the state machine of the planner; `done` are chunks, by step."""

    def __init__(
        self,
        monitor: PredicateMonitor | PotentialMonitor,
        start: Observation,
        runner: EpisodeRunner,
    ) -> None:
        """Plan by rules; the limits of time are off."""
        info = runner.info
        count = 1 if isinstance(monitor, PredicateMonitor) else 2
        limits = ExecutiveSettings(
            confirmations=count, subtask_timeout_s=1e6, time_limit_s=1e6, monitor_failures=10**6
        )
        self.monitor, self.done = monitor, list[int]()
        self.executive = Executive(limits, 'rules', monitor.name)
        goal = Goal(info.instruction, 0.0, info.objects)
        (asked,) = self.executive.start(goal, start, start.stamp_ns)
        assert isinstance(asked, AskPlanner)
        text = RulePlanner().propose(asked.request)
        self.executive.plan_text(asked.number, text, start.stamp_ns)
        assert self.executive.plan is not None
        self.steps = self.executive.plan.subtasks
        monitor.follow(self.steps)

    @property
    def current(self) -> Subtask | None:
        """The step that is to be executed."""
        return self.executive.current

    def see(self, seen: Observation, chunk: int) -> None:
        """Judge the end of a chunk, step after step until one is not done."""
        while self.current is not None:
            index, now_ns = self.executive.index, seen.stamp_ns
            for command in self.executive.tick(seen, now_ns):
                assert isinstance(command, AskMonitor)
                said = self.monitor.verify(command.subtask, command.start, command.now)
                self.executive.judged(command.number, said, 0.0, now_ns)
            if self.current is not None and self.executive.index == index:
                return
            self.done.append(chunk)


class Scene:
    """A tabletop body with its expert; plays one episode after the other."""

    def __init__(self, roles: tuple[str, ...], pixels: int) -> None:
        """Make the body; pictures are square."""
        self.roles = roles
        self.body = make_body('tabletop', image_size=pixels)
        self.runner = simulated_episode(self.body)
        self.expert = make_expert('tabletop', chunk_length=ROWS)

    def play(
        self,
        task: str,
        initial_state: int,
        online: OnlineModel,
        stop_at: int = NEVER,
        *,
        by_potential: bool = False,
        marks: tuple[float, ...] = (),
    ) -> Played:
        """Play an episode; the arm stands still from chunk `stop_at` on, and after success.

        The expert pursues the step that the predicates name, or the potential.
        """
        runner, expert = self.runner, self.expert
        expert.reset(runner.reset(task, 0, initial_state).episode)
        progress = EpisodeProgress(1, online, runner.info.instruction, shaping_term)
        progress.see_start(self.frame())
        begin = runner.observe()
        truth = Judge(PredicateMonitor(), begin, runner)
        told = Judge(PotentialMonitor(marks=marks), begin, runner)
        potential: list[float] = []
        still, chunk, success = 0, 0, False
        while still < AFTER:
            chunk += 1
            current = (told if by_potential else truth).current
            if runner.is_running and current is not None and chunk < stop_at:
                seen = runner.observe(privileged=True)
                actions = expert.act(seen, current, runner.info.instruction)
                predicates = runner.run_chunk(actions).predicates
                success |= predicates.success
                truth.see(Observation(runner.now_ns, 1, predicates=predicates), chunk)
            else:
                still += 1
                for _ in range(ROWS):
                    runner.hold()
            said = progress.step(self.frame())
            assert said.valid, progress.problem
            potential.append(said.potential)
            told.see(Observation(runner.now_ns, 1, progress=said), chunk)
        goal = dict(self.frame().images)
        count = len(truth.steps)
        return Played(count, truth.done, told.done, chunk - still, success, potential, goal)

    def frame(self) -> Frame:
        """Return what the cameras see now."""
        images, now_ns = self.runner.observe(self.roles).images, self.runner.now_ns
        return Frame(now_ns, images, dict.fromkeys(self.roles, now_ns))


def row(name: str, episodes: list[Played]) -> str:
    """Return a line of the table."""
    pairs = []
    for played in episodes:
        ends = (played.truth + [NEVER] * played.steps, played.told + [NEVER] * played.steps)
        pairs += list(zip(*(end[: played.steps] for end in ends), strict=True))
    true = [(truth, told) for truth, told in pairs if truth < NEVER]
    late = [told - truth for truth, told in true if truth <= told < NEVER]
    early = sum(told < truth for truth, told in pairs)
    never = sum(told == NEVER for _, told in true)
    delay = f'{np.median(late):.0f} (to {max(late)})' if late else '-'
    return f'| {name} | {len(pairs)} | {len(true)} | {len(late)} | {delay} | {early} | {never} |'


def compare_closed(
    scene: Scene, online: OnlineModel, task: str, states: range, marks: tuple[float, ...]
) -> None:
    """Print how many episodes end well where a monitor decides what is pursued."""
    shown = []
    for by_potential in (False, True):
        played = [
            scene.play(task, s, online, by_potential=by_potential, marks=marks) for s in states
        ]
        solved = [p.chunks for p in played if p.success]
        shown.append(f'{len(solved)} of {len(played)} in {np.mean(solved or [0]):.1f}')
    print(f'| {task} | {" | ".join(shown)} |', flush=True)


def marks_of(played: Played) -> tuple[float, ...]:
    """Return MARGIN of the potential at the end of each step of a demonstration."""
    return tuple(max(0.02, MARGIN * played.potential[chunk - 1]) for chunk in played.truth)


def main() -> None:
    """Play, and print a line a task."""
    asked = _arguments()
    torch.set_num_threads(1)
    prepare_graphics()
    network = load_grm(grm_folder(asked.model))
    model = OnlineModel(
        make=lambda instruction: SmallGrm(network, instruction),
        layout=network.config.layout,
        view_px=network.config.view_px,
    )
    scene = Scene(tuple(asked.roles), asked.pixels)
    print(CLOSED if asked.closed else OPEN)
    for task in asked.tasks:
        online, other = model, scene.play(task, GOAL_STATE, model)
        if asked.goal == 'other':
            online = dataclasses.replace(model, goal=other.goal)
            other = scene.play(task, GOAL_STATE, online)
        marks = marks_of(other) if asked.marks else ()
        states = range(asked.first_state, asked.first_state + asked.episodes)
        if asked.closed:
            compare_closed(scene, online, task, states, marks)
            continue
        played: dict[bool, list[Played]] = {True: [], False: []}
        for number, state in enumerate(states):
            stop_at = NEVER if number % 2 == 0 else other.chunks // 2
            played[number % 2 == 0].append(scene.play(task, state, online, stop_at, marks=marks))
        print(row(f'{task}, to its end', played[True]))
        print(row(f'{task}, stopped half way', played[False]), flush=True)
    scene.body.close()
    scene.expert.close()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--tasks', nargs='+', default=['apple_in_bowl', 'two_in_basket'])
    parser.add_argument('--episodes', type=int, default=4)
    parser.add_argument('--first-state', type=int, default=70)
    parser.add_argument('--model', default='grm_tabletop')
    parser.add_argument('--goal', choices=['other', 'none'], default='other')
    parser.add_argument('--marks', action='store_true', help='thresholds of a demonstration')
    parser.add_argument('--roles', nargs='+', default=['head', 'left_wrist'])
    parser.add_argument('--closed', action='store_true', help='let the monitors decide')
    parser.add_argument('--pixels', type=int, default=128)
    return parser.parse_args()


if __name__ == '__main__':
    main()
