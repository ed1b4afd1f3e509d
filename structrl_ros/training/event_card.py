"""README.md of a corpus of failure events: what it holds, and how it was made."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from structrl_ros.learning.eligibility import select_feedback
from structrl_ros.models.whole_files import whole_file
from structrl_ros.training.claimed_folder import SETTINGS
from structrl_ros.training.event_episode import SPLITS
from structrl_ros.training.event_episode import EventEpisode

_MEANINGS = """
## Columns

| column | meaning |
|---|---|
| `task`, `seed`, `initial_state` | identity of the scene; it decides the split |
| `policy`, `calibration_offset` | who played, and how far it saw the scene displaced, m |
| `steps` | low-level steps of 0.1 s of each chunk; its length is N |
| `outcome`, `error_type`, `interval`, `recovery`, `evidence`, `reason` | the label: the last \
error that was not made good, by the true states of every control period; `interval` [l, u] in \
chunks from 1, empty where it cannot be localised; `evidence` in boundaries |
| `first_interval` | of the first error, made good or not |
| `states` | true state vectors at the N + 1 boundaries |
| `simulator_states` | MuJoCo's, at the same: `TabletopBody.set_simulator_state` draws from them |
| `potential`, `negative_branch` | of the GRM at the boundaries, empty where it was not asked |
| `images`, `roles`, `frame_chunks` | JPEG files, all roles of a frame, then the next frame |

The pictures and states are this package's own simulation (Apache-2.0).
"""


def count_episodes(episodes: Sequence[EventEpisode]) -> dict[tuple[str, str], Counter[str]]:
    """Return, by split and task, how many failed, succeeded, and have a boundary."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for episode in episodes:
        entry = counts.setdefault((episode.split, episode.task), Counter())
        entry['success' if episode.success else 'failed'] += 1
        if not episode.success and is_eligible(episode):
            entry['eligible'] += 1
    return counts


def is_eligible(episode: EventEpisode) -> bool:
    """Return whether a boundary follows from the label (MART-GRPO, Section 3.2)."""
    return select_feedback(episode.label, episode.chunks).boundary is not None


def write_event_card(folder: Path, episodes: Sequence[EventEpisode]) -> None:
    """Write README.md.

    Raises:
        CheckpointError: If the disk refuses.
    """
    settings = json.loads((folder / SETTINGS).read_text(encoding='utf-8'))
    failed = [episode for episode in episodes if not episode.success]
    lines = [
        f'# {folder.resolve().name}\n',
        f'{len(failed)} failed and {len(episodes) - len(failed)} successful tabletop rollouts '
        'with true failure events, made by `structrl data events` in the manner of MART-GRPO, '
        'Section E.2. No scene (task, seed, initial state) is in two splits.\n',
        f'Settings: {", ".join(f"{name} {value}" for name, value in settings.items())}.\n',
        '| split | task | failed | of which eligible | successful |\n|---|---|---|---|---|',
    ]
    counts = count_episodes(episodes)
    for split, task in sorted(counts, key=lambda key: (SPLITS.index(key[0]), key[1])):
        entry = counts[split, task]
        lines.append(
            f'| {split} | {task} | {entry["failed"]} | {entry["eligible"]} | {entry["success"]} |'
        )
    lines += ['\n| error | recovery | failed rollouts |', '|---|---|---|']
    kinds = Counter((episode.error_type, episode.recovery) for episode in failed)
    lines += [f'| {error} | {recovery} | {n} |' for (error, recovery), n in kinds.most_common()]
    players = Counter((e.policy, e.calibration_offset) for e in episodes)
    lines += ['\n| policy | offset, m | rollouts |', '|---|---|---|']
    lines += [f'| {name} | {offset:g} | {n} |' for (name, offset), n in sorted(players.items())]
    with whole_file(folder / 'README.md') as new:
        new.write_text('\n'.join(lines) + f'\n{_MEANINGS}', encoding='utf-8')
