"""Coarser visual meshes for cheaper pictures: vertex clustering, undone after the upload.

LIBERO's scenes have some 400 000 visible triangles, most of them smaller than a pixel, and
software OpenGL pays for each. Vertices that share a cell of a grid become one of them, and
triangles that lose their area go (Rossignac and Borrel 1993). Only the copy in OpenGL is coarse:
the model itself is as before when the context manager ends, and physics never reads these arrays.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structrl_ros.types import Float32

#: Side of a cell in metres; a pixel of the head camera sees about as much of the table at 256 px.
CELL_M = 0.004

#: Most cells along the longest side of a mesh: large meshes get larger cells.
_CELLS_ALONG = 250

#: Meshes with fewer triangles stay as they are.
_SMALL = 1500

#: A corner takes the texture place of its new vertex if it is this near, in texture widths.
_SAME_PATCH = 0.05

_Index = NDArray[np.int32]


@contextlib.contextmanager
def coarse_meshes(model: Any) -> Iterator[None]:
    """Make the triangles of a MuJoCo model coarse while an OpenGL context is made from it."""
    names = ('mesh_face', 'mesh_facenormal', 'mesh_facetexcoord', 'mesh_facenum')
    before = {name: getattr(model, name).copy() for name in names}
    for mesh in range(model.nmesh):
        if model.mesh_facenum[mesh] >= _SMALL:
            _coarsen(model, mesh)
    try:
        yield
    finally:
        for name, array in before.items():
            getattr(model, name)[:] = array


def cluster(vertices: Float32, faces: _Index, cell: float) -> tuple[_Index, NDArray[np.bool_]]:
    """Return the vertex that stands for each vertex, and which faces still have an area.

    Args:
        vertices: Positions in metres, shape (V, 3).
        faces: Vertex numbers, shape (F, 3).
        cell: Side of a grid cell in metres; no vertex moves by more than its diagonal.

    Returns:
        Representatives, shape (V,), and a mask of faces, shape (F,), true for one of each set of
        faces that became the same.
    """
    lattice = np.floor((vertices - vertices.min(axis=0)) / cell).astype(np.int64)
    width = lattice.max() + 1
    keys = (lattice[:, 0] * width + lattice[:, 1]) * width + lattice[:, 2]
    _, inverse = np.unique(keys, return_inverse=True)
    counts = np.bincount(inverse)
    means = np.stack([np.bincount(inverse, column) / counts for column in vertices.T], axis=1)
    distances = np.square(vertices - means[inverse]).sum(axis=1)
    order = np.lexsort((distances, inverse))
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    representatives = order[starts][inverse].astype(np.int32)
    corners = np.sort(representatives[faces], axis=1)
    kept = np.zeros(len(faces), dtype=bool)
    kept[np.unique(corners, axis=0, return_index=True)[1]] = True
    kept &= (corners[:, 0] != corners[:, 1]) & (corners[:, 1] != corners[:, 2])
    return representatives, kept


def _coarsen(model: Any, mesh: int) -> None:
    start, count = model.mesh_faceadr[mesh], model.mesh_facenum[mesh]
    old = slice(start, start + count)
    first = model.mesh_vertadr[mesh]
    vertices = model.mesh_vert[first : first + model.mesh_vertnum[mesh]]
    faces = model.mesh_face[old]
    cell = max(CELL_M, float(np.ptp(vertices, axis=0).max()) / _CELLS_ALONG)
    representatives, kept = cluster(vertices, faces, cell)
    new = slice(start, start + int(kept.sum()))
    if model.mesh_texcoordadr[mesh] >= 0:
        model.mesh_facetexcoord[new] = _texture_places(model, mesh, old, representatives)[kept]
    model.mesh_facenormal[new] = model.mesh_facenormal[old][kept]
    model.mesh_face[new] = representatives[faces[kept]]
    model.mesh_facenum[mesh] = new.stop - start


def _texture_places(model: Any, mesh: int, rows: slice, representatives: _Index) -> _Index:
    """Return texture coordinates that follow the moved corners within a patch, shape (F, 3)."""
    first = model.mesh_texcoordadr[mesh]
    places = model.mesh_texcoord[first : first + model.mesh_texcoordnum[mesh]]
    texture, faces = model.mesh_facetexcoord[rows].copy(), model.mesh_face[rows]
    of_vertex = np.zeros(len(representatives), dtype=np.int32)
    of_vertex[faces.ravel()] = texture.ravel()
    moved = of_vertex[representatives[faces]]
    near = np.linalg.norm(places[moved] - places[texture], axis=-1) < _SAME_PATCH
    joined: _Index = np.where(near, moved, texture).astype(np.int32)
    return joined
