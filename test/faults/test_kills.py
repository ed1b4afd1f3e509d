"""SIGKILL under what writes a data set: no half episode is ever taken for a whole one."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip('pyarrow', reason='needs pyarrow: requirements/export.txt')

from structrl_ros.training.leap_store import claim_folder
from structrl_ros.training.leap_store import load_episodes

FAKES = str(Path(__file__).parents[1] / 'fakes')
SETTINGS = {'size_px': 48}
WRITER = """
import dataclasses, itertools, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from leap_episodes import three_scenes
from structrl_ros.training.leap_store import claim_folder, save_episode
folder = Path(sys.argv[1])
claim_folder(folder, {'size_px': 48})
episode = three_scenes()[0]
for number in itertools.count():
    save_episode(folder, dataclasses.replace(episode, name=f'{sys.argv[3]}-{number:05d}'))
"""


def test_a_set_for_planners_whose_maker_is_killed_holds_whole_episodes_and_goes_on(tmp_path):
    folder = tmp_path / 'set'
    for turn in ('a', 'b', 'c'):
        child = subprocess.Popen([sys.executable, '-c', WRITER, str(folder), FAKES, turn])
        end = time.monotonic() + 60.0
        while len(list(folder.glob(f'episodes/{turn}-*.parquet'))) < 3:
            assert time.monotonic() < end
            assert child.poll() is None
            time.sleep(0.001)
        child.kill()
        child.wait()
        episodes = load_episodes(folder)
        assert {episode.name[0] for episode in episodes} == set('abc'[: 'abc'.index(turn) + 1])
        claim_folder(folder, SETTINGS)  # the next run goes on in it
    first = {episode.name: episode for episode in episodes}
    same = {repr(e).replace(name, '') for name, e in first.items()}
    assert len(same) == 1, 'each is what was written'
