"""The 40 tasks of LIBERO-Long, -Spatial, -Object and -Goal, by name or by number.

Names and order are those of the LIBERO benchmark (Liu et al. 2023, arXiv:2306.03310). This module
needs no simulator: it can list tasks on a machine without LIBERO.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from dataclasses import replace

from structrl_ros.errors import SimulationError

#: Initial states that LIBERO ships for every task.
INITIAL_STATES = 50

#: Folder of LIBERO for each short suite name.
SUITE_FOLDERS = {
    'long': 'libero_10',
    'spatial': 'libero_spatial',
    'object': 'libero_object',
    'goal': 'libero_goal',
}

#: Default horizon in low-level steps of 0.05 s. Policies trained on LIBERO are usually given
#: Long 520, Spatial 220, Object 280, Goal 300; the scripted experts move more slowly, so every
#: suite has about a third more here. `LiberoBody(horizon_steps=...)` overrides it.
SUITE_HORIZONS = {'long': 700, 'spatial': 300, 'object': 380, 'goal': 400}

_LONG = """
LIVING_ROOM_SCENE2_put_both_the_alphabet_soup_and_the_tomato_sauce_in_the_basket
LIVING_ROOM_SCENE2_put_both_the_cream_cheese_box_and_the_butter_in_the_basket
KITCHEN_SCENE3_turn_on_the_stove_and_put_the_moka_pot_on_it
KITCHEN_SCENE4_put_the_black_bowl_in_the_bottom_drawer_of_the_cabinet_and_close_it
LIVING_ROOM_SCENE5_put_the_white_mug_on_the_left_plate_and_put_the_yellow_and_white_mug_on_the_right_plate
STUDY_SCENE1_pick_up_the_book_and_place_it_in_the_back_compartment_of_the_caddy
LIVING_ROOM_SCENE6_put_the_white_mug_on_the_plate_and_put_the_chocolate_pudding_to_the_right_of_the_plate
LIVING_ROOM_SCENE1_put_both_the_alphabet_soup_and_the_cream_cheese_box_in_the_basket
KITCHEN_SCENE8_put_both_moka_pots_on_the_stove
KITCHEN_SCENE6_put_the_yellow_and_white_mug_in_the_microwave_and_close_it
"""

_SPATIAL = """
pick_up_the_black_bowl_between_the_plate_and_the_ramekin_and_place_it_on_the_plate
pick_up_the_black_bowl_next_to_the_ramekin_and_place_it_on_the_plate
pick_up_the_black_bowl_from_table_center_and_place_it_on_the_plate
pick_up_the_black_bowl_on_the_cookie_box_and_place_it_on_the_plate
pick_up_the_black_bowl_in_the_top_drawer_of_the_wooden_cabinet_and_place_it_on_the_plate
pick_up_the_black_bowl_on_the_ramekin_and_place_it_on_the_plate
pick_up_the_black_bowl_next_to_the_cookie_box_and_place_it_on_the_plate
pick_up_the_black_bowl_on_the_stove_and_place_it_on_the_plate
pick_up_the_black_bowl_next_to_the_plate_and_place_it_on_the_plate
pick_up_the_black_bowl_on_the_wooden_cabinet_and_place_it_on_the_plate
"""

_OBJECT = """
alphabet_soup cream_cheese salad_dressing bbq_sauce ketchup
tomato_sauce butter milk chocolate_pudding orange_juice
"""

_GOAL = """
open_the_middle_drawer_of_the_cabinet
put_the_bowl_on_the_stove
put_the_wine_bottle_on_top_of_the_cabinet
open_the_top_drawer_and_put_the_bowl_inside
put_the_bowl_on_top_of_the_cabinet
push_the_plate_to_the_front_of_the_stove
put_the_cream_cheese_in_the_bowl
turn_on_the_stove
put_the_bowl_on_the_plate
put_the_wine_bottle_on_the_rack
"""

_SCENE = re.compile(r'^[A-Z_]+SCENE\d+_')


@dataclass(frozen=True, slots=True)
class LiberoTask:
    """One task: `suite` is the short name, `name` LIBERO's own, `number` its place from 0.

    `watched` are conjuncts whose truth is told besides the goal, for things that it does not name:
    'in(milk_1, basket_1_contain_region)'.
    """

    suite: str
    number: int
    name: str
    watched: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Short identity, for example 'long/0', with what is watched behind ' + '."""
        return ' + '.join((f'{self.suite}/{self.number}', *self.watched))

    @property
    def short_name(self) -> str:
        """Name without the scene's prefix."""
        return _SCENE.sub('', self.name)

    @property
    def instruction(self) -> str:
        """The sentence that LIBERO's benchmark gives: the words of the file name."""
        return self.short_name.replace('_', ' ')

    @property
    def folder(self) -> str:
        """Folder of LIBERO's files, for example 'libero_10'."""
        return SUITE_FOLDERS[self.suite]

    @property
    def horizon_steps(self) -> int:
        """Default limit in low-level steps."""
        return SUITE_HORIZONS[self.suite]


def _suite(suite: str, names: list[str]) -> list[LiberoTask]:
    return [LiberoTask(suite, number, name) for number, name in enumerate(names)]


#: All tasks in the order long, spatial, object, goal.
TASKS: tuple[LiberoTask, ...] = tuple(
    _suite('long', _LONG.split())
    + _suite('spatial', _SPATIAL.split())
    + _suite('object', [f'pick_up_the_{n}_and_place_it_in_the_basket' for n in _OBJECT.split()])
    + _suite('goal', _GOAL.split())
)


def find_task(task: str) -> LiberoTask:
    """Return the task that a user named.

    Args:
        task: 'long/0', 'libero_10/0', 'long/put_both_moka_pots_on_the_stove', LIBERO's own name
            with or without its suite, or the instruction as a sentence. Case does not matter.
            ' + in(milk_1, basket_1_contain_region)' behind it watches a conjunct besides.

    Returns:
        The task.

    Raises:
        SimulationError: If no task has that name; the line lists what is allowed.
    """
    named, *watched = task.split(' + ')
    suite, _, rest = _fold(named).rpartition('/')
    short = {folder: name for name, folder in SUITE_FOLDERS.items()}
    suite = short.get(suite, suite)
    if suite in ('', *SUITE_FOLDERS):
        for candidate in TASKS:
            names = {_fold(candidate.name), _fold(candidate.short_name)}
            if suite:
                names.add(str(candidate.number))
            if suite in ('', candidate.suite) and rest in names:
                return replace(candidate, watched=tuple(w.strip() for w in watched))
    raise SimulationError(
        f'unknown LIBERO task {task!r}; allowed: SUITE/NUMBER or SUITE/NAME with suite '
        f'{", ".join(SUITE_FOLDERS)} and number 0 to 9, for example {TASKS[0].id} or '
        f'goal/{TASKS[37].name}'
    )


def _fold(text: str) -> str:
    return re.sub(r'[\s_.]+', '_', text.strip().strip('.').lower())
