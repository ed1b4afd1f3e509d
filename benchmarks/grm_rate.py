"""Steps of grm_node's core with the small network, a CPU-second, on one thread.

    python benchmarks/grm_rate.py [--steps 40] [--roles 1 2 3] [--pixels 240]

A step is what grm_node does for one frame: scale its pictures, add a cell to the panels, ask the
three queries in one batch, fuse and shape. The first steps of an episode are not counted: the
panels are full then. Weights are random: they change no time. CPU time of this process.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch

from structrl_ros.models.grm.config import GrmConfig
from structrl_ros.models.grm.network import GrmNetwork
from structrl_ros.models.grm.small import SmallGrm
from structrl_ros.progress.frames import Frame
from structrl_ros.progress.online import EpisodeProgress
from structrl_ros.progress.online import OnlineModel
from structrl_ros.rewards.shaping import shaping_term
from structrl_ros.types import ROLES

#: Views and cells that are measured, and whether there are panels.
LAYOUTS = {
    '128 px, panels': GrmConfig(view_px=128, cell_px=42),
    '128 px, static': GrmConfig(view_px=128, cell_px=42, pre_panels=0, between_panels=0),
    '64 px, panels, as shipped': GrmConfig(view_px=64, cell_px=24, channels=16),
    '64 px, static': GrmConfig(
        view_px=64, cell_px=24, channels=16, pre_panels=0, between_panels=0
    ),
}
#: Steps before the panels are full.
FIRST_STEPS = 20


def cpu_seconds(config: GrmConfig, roles: tuple[str, ...], pixels: int, steps: int) -> list[float]:
    """Return the CPU time of each step."""
    network = GrmNetwork(config).eval()
    random = np.random.default_rng(0)

    def frame(number: int) -> Frame:
        pictures = {r: random.integers(0, 256, (pixels, pixels, 3), np.uint8) for r in roles}
        return Frame(number, pictures, dict.fromkeys(roles, number))

    online = OnlineModel(
        make=lambda instruction: SmallGrm(network, instruction),
        layout=config.layout,
        view_px=config.view_px,
        goal=frame(0).images,
    )
    progress = EpisodeProgress(1, online, 'put the apple in the bowl', shaping_term)
    progress.see_start(frame(0))
    spent = []
    for number in range(1, FIRST_STEPS + steps + 1):
        seen = frame(number)
        begun = time.process_time()
        said = progress.step(seen)
        spent.append(time.process_time() - begun)
        assert said.valid, progress.problem
    return spent[FIRST_STEPS:]


def main() -> None:
    """Measure and print a line a layout and number of cameras."""
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--steps', type=int, default=40)
    parser.add_argument('--roles', type=int, nargs='+', default=[1, 2, 3])
    parser.add_argument('--pixels', type=int, default=240, help='side of the pictures')
    asked = parser.parse_args()
    torch.set_num_threads(1)
    print('| network | parameters | cameras | CPU ms a step, median (worst) | steps a second |')
    print('|---|---|---|---|---|')
    for name, config in LAYOUTS.items():
        size = sum(p.numel() for p in GrmNetwork(config).parameters()) / 1e6
        for count in asked.roles:
            spent = 1e3 * np.array(cpu_seconds(config, ROLES[:count], asked.pixels, asked.steps))
            middle = float(np.median(spent))
            shown = f'{middle:.1f} ({spent.max():.1f})'
            print(f'| {name} | {size:.2f} M | {count} | {shown} | {1e3 / middle:.0f} |')


if __name__ == '__main__':
    main()
