"""Worlds through topics: the trainer drives running sim_nodes in lock-step.

Each lane is one sim_node, told apart by its namespace. Resets go by the service, chunks by
`action_chunk`; `chunk_done`, `predicates` and `privileged/state` answer. State vectors are read
off the privileged state by a twin of the body, so an episode is that of the same body in this
process, to the last bit. tracker_node and recorder_node see a normal episode.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import contextmanager
from functools import partial

import numpy as np

from structrl_ros.errors import SimulationError
from structrl_ros.nodes.ros_link import RosLink
from structrl_ros.ports import Body
from structrl_ros.ports import StateBody
from structrl_ros.sim.registry import make_body
from structrl_ros.training.cpu_seconds import WorldCpu
from structrl_ros.training.lanes import PREDICATE_SLOTS
from structrl_ros.training.lanes import check_chunks
from structrl_ros.training.lanes import empty_batch
from structrl_ros.training.lanes import keep_result
from structrl_ros.types import Float32
from structrl_ros.types import Subtask
from structrl_ros.types import TaskInfo
from structrl_ros.types import UInt8
from structrl_ros.world_types import Bool
from structrl_ros.world_types import ChunkBatch
from structrl_ros.world_types import EpisodeStart
from structrl_ros.world_types import WorldSpec

#: Wall seconds for somebody else who drives the body to leave, at a reset.
RIVAL_LIMIT_S = 1.0

MakeTwin = Callable[[str], Body]
#: The subtasks that a task is paid by, in order, for a tracker_node in the graph.
Planner = Callable[[TaskInfo], Sequence[Subtask]]


class RosWorld:
    """`ports.VectorWorld` over sim_nodes that run with `lockstep:=true`.

    Needs the ROS 2 wheels or an installation. The twins need the packages of the body, here.
    """

    def __init__(
        self,
        namespaces: Sequence[str] = ('',),
        *,
        make_twin: MakeTwin = make_body,
        plan: Planner | None = None,
        wants_state: bool = True,
        start_limit_s: float = 60.0,
        reset_limit_s: float = 120.0,
        chunk_limit_s: float = 60.0,
        domain_id: int | None = None,
    ) -> None:
        """Wait for the sim_nodes and make their twins.

        Args:
            namespaces: One a lane; '' is the root.
            make_twin: Makes a body by the name in `Episode.body`, with the options of sim_node.
            plan: Given where a tracker_node runs beside: it gets this plan at each reset, and each
                chunk waits for it, so that it pays every chunk or the rollout fails.
            wants_state: Whether state vectors are wanted; without, pictures are all there is.
            start_limit_s: Wall seconds for the nodes to come up.
            reset_limit_s: Wall seconds for a reset.
            chunk_limit_s: Wall seconds for a chunk.
            domain_id: ROS domain; None takes that of the environment.

        Raises:
            SimulationError: If a node does not come up, or the bodies differ.
        """
        self._reset_limit_s, self._chunk_limit_s = reset_limit_s, chunk_limit_s
        self._plan = plan
        self._twin_cpu_s = 0.0
        self._twins: list[Body] = []
        self._link = RosLink(
            namespaces, tracked=plan is not None, wants_state=wants_state, domain_id=domain_id
        )
        self._lanes = self._link.lanes
        try:
            self._link.meet(start_limit_s)
            self._make_twins(make_twin, wants_state)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> RosWorld:
        """Return the world."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the world."""
        self.close()

    @property
    def tasks(self) -> tuple[TaskInfo | None, ...]:
        """What each lane's last reset gave, None before the first; length B."""
        return tuple(self._tasks)

    def reset(self, starts: Mapping[int, EpisodeStart]) -> None:
        """Begin episodes in the lanes that are named, all at once; the others go on.

        Raises:
            SimulationError: If a lane, task or initial state is unknown, a sim_node dies or takes
                too long, or somebody else drives it.
        """
        unknown = [lane for lane in starts if not 0 <= lane < len(self._lanes)]
        if unknown:
            raise SimulationError(f'no lane {unknown[0]}; allowed: 0 to {len(self._lanes) - 1}')
        for lane, start in starts.items():
            client = self._lanes[lane]
            self._link.wait(client, client.is_alone, RIVAL_LIMIT_S, client.rivals)
            client.begin(start)
        for lane, start in starts.items():  # while the nodes do the same
            with self._metered():
                info = self._twins[lane].reset(start.task, start.seed, start.initial_state)
            self._tasks[lane] = info
        for lane in starts:
            client = self._lanes[lane]
            self._link.wait(client, client.is_reset, self._reset_limit_s)
            self._check_names(lane, self._lanes[lane].open())
        if self._plan is not None:
            self._pursue(list(starts))
        for lane in starts:
            self._look(lane)

    def features(self) -> Float32:
        """Return the state vectors, shape (B, F); rows of lanes without a scene are zero."""
        return self._features.copy()

    def images(self, role: str) -> UInt8:
        """Return the pictures of a camera role, shape (B, H, W, 3); no scene gives black.

        The sim_nodes draw a role once it was asked for, after each chunk.

        Raises:
            SimulationError: If the role is unknown, or no picture comes.
        """
        if role not in self.spec.body.roles:
            allowed = ', '.join(self.spec.body.roles)
            raise SimulationError(f'no camera {role!r}; allowed: {allowed}')
        begun = [lane for lane, task in enumerate(self._tasks) if task is not None]
        if not begun:
            raise SimulationError('no lane has a scene to draw; allowed: reset first')
        for lane in begun:
            self._lanes[lane].has_picture(role)
        for lane in begun:
            client = self._lanes[lane]
            self._link.wait(client, partial(client.has_picture, role), self._chunk_limit_s)
        first = self._lanes[begun[0]].picture(role)
        pictures = np.zeros((len(self._lanes), *first.shape), dtype=np.uint8)
        for lane in begun:
            pictures[lane] = self._lanes[lane].picture(role)
        return pictures

    def run_chunk(self, actions: Float32, active: Bool) -> ChunkBatch:
        """Run a chunk in every active lane, until its end or the end of the episode.

        Raises:
            SimulationError: If a shape is wrong, a number is not finite, a chunk is refused, a
                message is lost, or a sim_node dies or takes too long.
        """
        check_chunks(self.spec, actions, active)
        batch = empty_batch(self.spec, actions.shape[1])
        moving = np.flatnonzero(active).tolist()
        for lane in moving:
            self._lanes[lane].send(actions[lane], self.spec.body)
        for lane in moving:
            client = self._lanes[lane]
            self._link.wait(client, client.has_run, self._chunk_limit_s)
            keep_result(batch, lane, client.take())
            self._look(lane)
        if self._plan is not None:
            for lane in moving:
                self._await_tracker(lane)
        return batch

    def cpu_seconds(self) -> WorldCpu:
        """Return the CPU seconds of the twins; those of the nodes are not known here."""
        return WorldCpu(self._twin_cpu_s)

    def close(self) -> None:
        """Leave the graph and free the twins; a second call does nothing."""
        for twin in self._twins:
            twin.close()
        self._twins = []
        self._link.close()

    def _make_twins(self, make_twin: MakeTwin, wants_state: bool) -> None:
        names = sorted({lane.episode.body for lane in self._lanes})
        if len(names) > 1:
            raise SimulationError(f'bodies {", ".join(names)}; allowed: the same in every lane')
        self._twins = [make_twin(names[0]) for _ in self._lanes]
        first = self._twins[0]
        if wants_state and not isinstance(first, StateBody):
            raise SimulationError(
                f'body {names[0]!r} tells no state vector; a policy for it needs cameras'
            )
        self.spec = WorldSpec(
            body=first.spec,
            lanes=len(self._lanes),
            feature_names=_names(first) if wants_state else (),
            predicate_slots=getattr(first, 'predicate_slots', PREDICATE_SLOTS),
        )
        self._state_twins = [t for t in self._twins if wants_state and isinstance(t, StateBody)]
        self._tasks: list[TaskInfo | None] = [None] * len(self._lanes)
        shape = (len(self._lanes), len(self.spec.feature_names))
        self._features = np.zeros(shape, dtype=np.float32)

    def _check_names(self, lane: int, names: tuple[str, ...]) -> None:
        task = self._tasks[lane]
        assert task is not None
        if names != task.predicate_names:
            raise SimulationError(
                f'{self._lanes[lane].label} publishes other predicates than the twin of '
                f'{task.task!r}: {", ".join(names)}; allowed: bodies with the same options'
            )

    def _pursue(self, lanes: list[int]) -> None:
        assert self._plan is not None
        for lane in lanes:
            task = self._tasks[lane]
            assert task is not None
            self._lanes[lane].pursue(self._plan(task))
        for lane in lanes:
            self._await_tracker(lane)

    def _await_tracker(self, lane: int) -> None:
        client = self._lanes[lane]
        line = f'{client.label}: the tracker_node beside it did not follow plan and chunks'
        self._link.wait(client, client.is_tracked, self._chunk_limit_s, partial(str, line))

    def _look(self, lane: int) -> None:
        """Read the state vector off the newest state."""
        if self._state_twins:
            twin = self._state_twins[lane]
            with self._metered():
                twin.set_simulator_state(self._lanes[lane].state)
                self._features[lane] = twin.features()

    @contextmanager
    def _metered(self) -> Iterator[None]:
        began = time.process_time()
        try:
            yield
        finally:
            self._twin_cpu_s += time.process_time() - began


def _names(body: Body) -> tuple[str, ...]:
    return body.feature_names if isinstance(body, StateBody) else ()
