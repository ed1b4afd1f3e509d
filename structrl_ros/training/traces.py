"""What rollouts earned, as documents for `structrl score structured_reward`."""

from __future__ import annotations

import json
from pathlib import Path

from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError
from structrl_ros.models.whole_files import whole_file
from structrl_ros.training.reward_source import RewardSource
from structrl_ros.training.reward_source import StructuredRewards
from structrl_ros.training.reward_source import success_chunks
from structrl_ros.training.rollouts import Rollouts
from structrl_ros.types import JsonObject

#: Folder of a run that holds them, a file an iteration.
TRACES = 'traces'


def check_traceable(source: RewardSource) -> StructuredRewards:
    """Return a source whose payments `structrl score` can compute again.

    Raises:
        ParameterError: If it is another one.
    """
    if not isinstance(source, StructuredRewards):
        raise ParameterError(
            'what a progress model pays has no trace and no plan; allowed: structured, terminal '
            'and the ablations of them'
        )
    return source


def write_trace(
    folder: Path, iteration: int, rollouts: Rollouts, source: StructuredRewards
) -> Path:
    """Write what every chunk of an iteration saw and earned, and return the file.

    Raises:
        CheckpointError: If it cannot be written.
    """
    rewards = source(rollouts).rewards
    document = trace_document(rollouts, source)
    for case, own, chunks in zip(document['cases'], rewards, rollouts.lengths, strict=True):
        case['paid'] = own[:chunks].tolist()
    path = folder / f'{iteration}.json'
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise CheckpointError(f'{folder}: {error.strerror}') from None
    with whole_file(path) as place:
        place.write_text(f'{json.dumps(document)}\n', encoding='utf-8')
    return path


def trace_document(rollouts: Rollouts, source: StructuredRewards) -> JsonObject:
    """Return the rollouts as a document for `structrl score structured_reward`.

    One case an episode; what it scores is what `source` paid, to the last bit.
    """
    rules = source.rules(rollouts)
    success = success_chunks(rollouts)
    cases = []
    for episode, (rule, info) in enumerate(zip(rules, rollouts.tasks, strict=True)):
        chunks = int(rollouts.lengths[episode])
        paid = {name for stage in rule.stages for name in stage}
        columns = [(i, n) for i, n in enumerate(info.predicate_names) if n in paid]
        truth = rollouts.truth[episode, :chunks]
        document = {
            'stages': [list(stage) for stage in rule.stages],
            'durations': dict(rule.durations),
            'truth': [[name for i, name in columns if row[i]] for row in truth],
            'success': success[episode, :chunks].tolist(),
            'beta': rule.beta,
            'lambda_c': rule.lambda_c,
            'gating': rule.gating,
            'pacing': rule.pacing,
            'horizon_chunks': rule.horizon_chunks,
            'cap': rule.cap,
            'at_reset': [],
        }
        start = rollouts.starts[episode]
        name = f'{start.task} seed {start.seed} state {start.initial_state}'
        cases.append({'name': name, 'input': document})
    return {'kind': 'structured_reward', 'cases': cases}
