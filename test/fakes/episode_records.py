"""Records of episodes that nobody played."""

from structrl_ros.evaluation.episode_record import EpisodeRecord


def episode_record(success=True, **changes):
    """Return the record of an episode of task 'pack' that ended well, or at its horizon."""
    values = {
        'number': 0,
        'code': 'A',
        'task': 'pack',
        'seed': 0,
        'initial_state': 0,
        'repetition': 0,
        'success': success,
        'judged_by': 'truth',
        'end': 'success' if success else 'horizon',
        'reason': '',
        'cause': '' if success else 'horizon',
        'cause_detail': '',
        'subtasks': (),
        'steps': 10,
        'chunks': 2,
        'duration_s': 1.0,
        'interventions': 0,
        'safety_stops': 0,
        'replans': 0,
        'episode_return': 0.0,
    }
    return EpisodeRecord(**{**values, **changes})
