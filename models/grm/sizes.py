"""A GRM of either size, by what its folder holds: `structrl train grm` or `train grm-vlm`.

A folder with a whole vision-language model is one, too: it is asked without any training of ours,
and answers in words, as a published GRM does or a model that never heard of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from structrl_ros.models.description import CONFIG
from structrl_ros.models.grm.checkpoint import WEIGHTS
from structrl_ros.models.grm.checkpoint import load_grm
from structrl_ros.models.grm.shipped import grm_folder
from structrl_ros.models.grm.small import SmallGrm
from structrl_ros.ports import ProgressModel
from structrl_ros.progress.strip import Layout
from structrl_ros.types import JsonObject


@dataclass(frozen=True, slots=True)
class LoadedGrm:
    """A GRM that is ready to be asked.

    Attributes:
        layout: Panels of its queries.
        view_px: Side of its views, pixels.
        about: Gives the model that is asked about an instruction.
        files: Config and weights, which together say which model it is.
    """

    layout: Layout
    view_px: int
    about: Callable[[str], ProgressModel]
    files: tuple[Path, ...]


def load_any_grm(name_or_folder: str, *, device: str = 'auto') -> LoadedGrm:
    """Return the GRM of a shipped name or a folder.

    Args:
        name_or_folder: See `grm_folder`.
        device: Of a vision-language model: 'auto', 'cpu', 'cuda' or 'mps'; a small one is on the
            CPU.

    Raises:
        CheckpointError: If there is none, a file is missing, cut or of another architecture, or
            the base of a vision-language model is another one.
        ParameterError: If a package or device is missing.
    """
    folder = grm_folder(name_or_folder)
    document = _config(folder)
    if 'vlm_grm' in document or 'vision_config' in document:
        return _large(folder, device, is_whole='vlm_grm' not in document)
    return _small(folder)


def _small(folder: Path) -> LoadedGrm:
    network = load_grm(folder)
    config = network.config
    return LoadedGrm(
        config.layout,
        config.view_px,
        lambda instruction: SmallGrm(network, instruction),
        (folder / CONFIG, folder / WEIGHTS),
    )


def _large(folder: Path, device: str, *, is_whole: bool) -> LoadedGrm:
    from structrl_ros.models.grm.vlm import VlmGrm
    from structrl_ros.models.grm.vlm_checkpoint import load_vlm_grm
    from structrl_ros.models.grm.vlm_checkpoint import weight_files
    from structrl_ros.models.grm.vlm_config import VlmGrmConfig
    from structrl_ros.models.grm.vlm_network import VlmGrmNetwork

    if is_whole:
        config = VlmGrmConfig(base=str(folder), answer='text')
        network = VlmGrmNetwork(config, device=device).eval()
        index = folder / 'model.safetensors.index.json'  # of shards, gigabytes that nobody hashes
        files = [index] if index.is_file() else sorted(folder.glob('*.safetensors'))
    else:
        network = load_vlm_grm(folder, device=device)
        files = list(weight_files(folder))
    return LoadedGrm(
        network.config.layout,
        network.config.view_px,
        lambda instruction: VlmGrm(network, instruction),
        (folder / CONFIG, *files),
    )


def _config(folder: Path) -> JsonObject:
    """Return the config, {} where it is none: the small one's loader says what is wrong."""
    try:
        document = json.loads((folder / CONFIG).read_text(encoding='utf-8'))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}
