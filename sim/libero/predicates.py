"""Truth of a LIBERO task: its goal conjuncts and the grasps of the objects in the goal."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from structrl_ros.errors import SimulationError
from structrl_ros.sim.libero.scene import LiberoScene

_TABLES = {'floor', 'table', 'main_table', 'kitchen_table', 'living_room_table', 'study_table'}
_DRAWER = re.compile(r'_cabinet_\d+_(top|middle|bottom)_region$')
_DOOR = re.compile(r'^(microwave_\d+)_heating_region$')
_COMPARTMENT = re.compile(r'_caddy_\d+_(front|back|left|right)_contain_region$')
_BESIDE = re.compile(r'_table_([a-z]+)_(front|back|left|right)_region$')


class GoalPredicates:
    """Evaluates the goal of a scene with LIBERO's own predicates.

    Attributes:
        goal: Names of all conjuncts in the order of the BDDL file, for example
            'in(alphabet_soup_1, basket_1_contain_region)'.
        names: What `values` reports: conjuncts that were false at reset, then `grasp(X)` for
            every movable object that is named in the goal, then `open(X)` for every drawer or
            door that is closed and that something has to be put into. A grasp is contact of both
            finger pads with the object, as in robosuite; it does not say that it is lifted. What
            the task watches besides is reported like the goal, and is no part of success.
    """

    def __init__(self, scene: LiberoScene) -> None:
        """Bind to a scene that is placed and settled; conjuncts true now are left out."""
        self._environment: Any = scene.environment
        self._data = scene.data
        goal = [list(c) for c in self._environment.parsed_problem['goal_state']]
        self.goal = tuple(predicate_name(c) for c in goal)
        self._conjuncts = goal + [_watched(w, self._environment) for w in scene.task.watched]
        known = [predicate_name(c) for c in self._conjuncts]
        truth = self._goal_values()
        self._reported = [i for i, value in enumerate(truth) if not value]
        self._objects = self._graspable()
        self._labels = self._label_geoms(scene)
        grasps = [f'grasp({name})' for name in self._objects]
        self._openings = self._closed_ways()
        opens = [predicate_name(o) for o in self._openings]
        self.names = (*(known[i] for i in self._reported), *grasps, *opens)

    def evaluate(self) -> tuple[tuple[bool, ...], bool]:
        """Return the values of `names` and LIBERO's success (all conjuncts of the goal)."""
        truth = self._goal_values()
        touching = self._touching()
        grasps = [(0, i) in touching and (1, i) in touching for i in range(len(self._objects))]
        opens = [bool(self._environment._eval_predicate(o)) for o in self._openings]
        return (*(truth[i] for i in self._reported), *grasps, *opens), all(truth[: len(self.goal)])

    def grasped(self, name: str) -> bool:
        """Return whether both finger pads touch a movable object of the goal, by its full name."""
        index = self._objects.index(name)
        touching = self._touching()
        return (0, index) in touching and (1, index) in touching

    def _goal_values(self) -> list[bool]:
        evaluate = self._environment._eval_predicate
        return [bool(evaluate(conjunct)) for conjunct in self._conjuncts]

    def _graspable(self) -> list[str]:
        movable = self._environment.objects_dict
        named = [name for conjunct in self._conjuncts for name in conjunct[1:] if name in movable]
        return list(dict.fromkeys(named))

    def _closed_ways(self) -> list[list[str]]:
        """Return the conjuncts ['open', X] of what a goal is behind; none of them is true now."""
        ways = []
        for conjunct in self._conjuncts:
            if conjunct[0].lower() == 'in' and _DRAWER.search(conjunct[2]):
                ways.append(conjunct[2])
            elif conjunct[0].lower() == 'in' and (door := _DOOR.match(conjunct[2])):
                ways.append(door[1])
        openings = [['open', way] for way in dict.fromkeys(ways)]
        new = [o for o in openings if o not in self._conjuncts]
        return [o for o in new if not self._environment._eval_predicate(o)]

    def _label_geoms(self, scene: LiberoScene) -> Any:
        """Label geoms: 0 nothing, 1 and 2 the two finger pads, 3 + i object i; (ngeom,)."""
        model = self._environment.sim.model
        labels = np.zeros(scene.model.ngeom, dtype=np.int64)
        pads = scene.robot.gripper.important_geoms
        groups = [pads['left_fingerpad'], pads['right_fingerpad']]
        groups += [self._environment.get_object(name).contact_geoms for name in self._objects]
        for label, names in enumerate(groups, start=1):
            for name in names:
                labels[model.geom_name2id(name)] = label
        return labels

    def _touching(self) -> set[tuple[int, int]]:
        """Return pairs (pad 0 or 1, object index) that are in contact."""
        pairs = self._labels[self._data.contact.geom[: self._data.ncon]]
        pairs.sort(axis=1)
        rows = pairs[(pairs[:, 0] > 0) & (pairs[:, 0] < 3) & (pairs[:, 1] > 2)]
        return {(int(pad) - 1, int(thing) - 3) for pad, thing in rows}


def _watched(name: str, environment: Any) -> list[str]:
    """Return the conjunct of a name.

    Raises:
        SimulationError: If it is none, or the scene has no such thing.
    """
    match = re.fullmatch(r'(in|on|open|close|turnon|turnoff)\(([^()]+)\)', name)
    things = [t.strip() for t in match[2].split(',')] if match else []
    unknown = next((t for t in things if t not in environment.object_states_dict), None)
    if match is None or unknown is not None:
        known = ', '.join(sorted(environment.object_states_dict))
        what = name if match is None else unknown
        raise SimulationError(f'cannot watch {what!r}; allowed: kind(thing, ...) of {known}')
    return [match[1], *things]


def predicate_name(conjunct: list[str]) -> str:
    """Return 'in(a, b)' for ['in', 'a', 'b']."""
    return f'{conjunct[0].lower()}({", ".join(conjunct[1:])})'


def scene_vocabulary(environment: Any) -> tuple[str, ...]:
    """Return the folded names of what can be spoken about: no numbers, no underscores.

    Movable objects, fixtures, drawers ('bottom drawer'), compartments of a caddy ('back
    compartment') and the places beside something that the goal names ('right of the plate').
    """
    names = [fold_name(n) for n in environment.objects_dict]
    names += [fold_name(n) for n in environment.fixtures_dict if n not in _TABLES]
    goal = {name for c in environment.parsed_problem['goal_state'] for name in c[1:]}
    for region in environment.object_sites_dict:
        if match := _DRAWER.search(region):
            names.append(f'{match[1]} drawer')
        elif match := _COMPARTMENT.search(region):
            names.append(f'{match[1]} compartment')
        elif (match := _BESIDE.search(region)) and region in goal:
            names.append(f'{match[2]} of the {match[1]}')
    return tuple(dict.fromkeys(names))


def fold_name(name: str) -> str:
    """Return 'moka pot' for 'moka_pot_1'."""
    return re.sub(r'_\d+$', '', name).replace('_', ' ')
