"""Small runs of the real trainers on the twin, in a directory, for processes that are killed."""

from pathlib import Path

import torch

from structrl_ros.training.run_directory import CONFIG
from structrl_ros.training.run_directory import create_run
from structrl_ros.training.run_directory import open_run
from structrl_ros.training.run_request import make_request
from structrl_ros.training.run_request import request_of_document
from structrl_ros.training.run_trainer import carry_out
from structrl_ros.training.run_trainer import prepare_run

SMALL = {
    'sft': {
        'updates': '32',
        'demonstrations': '6',
        'dagger_rounds': '1',
        'dagger_episodes': '4',
        'checkpoint_every': '8',
        'batch': '32',
        'evaluation_episodes': '4',
        'policy.hidden': '16',
    },
    'ppo': {
        'iterations': '6',
        'episodes': '8',
        'minibatch': '64',
        'warmup_iterations': '0',
        'evaluate_every': '3',
        'evaluation_episodes': '2',
        'body.horizon_steps': '20',
    },
    'grpo': {
        'iterations': '6',
        'episodes': '8',
        'group_size': '4',
        'minibatch': '64',
        'reference_kl': '0.01',
        'checkpoint_every': '2',
        'evaluate_every': '0',
        'body.horizon_steps': '20',
    },
}


def worlds(request):
    from structrl_ros.training.body_worlds import world_maker

    environments = min(request.settings.environments, 8)
    return world_maker(request.body, environments=environments, options=request.body_options)


def train(directory: str, trainer: str, start: str = '') -> None:
    """Begin a run, or go on with the one that is there."""
    torch.set_num_threads(1)
    path = Path(directory)
    if (path / CONFIG).is_file():
        run = open_run(path)
        request = request_of_document(run.config)
        prepared = prepare_run(request, worlds, run.load_policy() if run.has_checkpoint else None)
    else:
        # Fine checkpoints are paid even to a policy that can do nothing.
        words = {'body': 'twin', 'start': start, 'reward': 'density_52'}
        request = make_request(trainer, assignments=SMALL[trainer], words=words)
        prepared = prepare_run(request, worlds)
        run = create_run(path, prepared.request.document())
    try:
        carry_out(prepared, run=run)
    finally:
        run.close()
