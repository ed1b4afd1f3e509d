"""Vertex clustering of visual meshes."""

import numpy as np

from structrl_ros.sim.libero.meshes import cluster


def grid_mesh(n):
    x, y = np.meshgrid(np.arange(n), np.arange(n), indexing='ij')
    vertices = np.stack([x.ravel(), y.ravel(), np.zeros(n * n)], axis=1).astype(np.float32)
    corner = (np.arange(n - 1)[:, None] * n + np.arange(n - 1)).ravel()
    faces = np.concatenate(
        [
            np.stack([corner, corner + 1, corner + n], axis=1),
            np.stack([corner + 1, corner + n + 1, corner + n], axis=1),
        ]
    )
    return vertices, faces.astype(np.int32)


def test_no_vertex_moves_further_than_the_diagonal_of_a_cell():
    vertices, faces = grid_mesh(20)
    representatives, _ = cluster(vertices, faces, 3.0)
    moved = np.linalg.norm(vertices[representatives] - vertices, axis=1)
    assert moved.max() <= 3.0 * np.sqrt(3)
    assert len(np.unique(representatives)) == 49  # 20 vertices in cells of 3 are 7 cells a side


def test_a_flat_sheet_keeps_its_area_and_every_face_has_one():
    vertices, faces = grid_mesh(21)
    representatives, kept = cluster(vertices, faces, 4.0)
    corners = vertices[representatives[faces[kept]]]
    areas = (
        np.abs(
            np.cross(corners[:, 1, :2] - corners[:, 0, :2], corners[:, 2, :2] - corners[:, 0, :2])
        )
        / 2
    )
    assert (areas > 0).all()
    assert len(areas) < len(faces) / 8
    span = np.ptp(vertices[np.unique(representatives)][:, :2], axis=0).prod()
    np.testing.assert_allclose(areas.sum(), span)


def test_cells_smaller_than_the_spacing_change_nothing():
    vertices, faces = grid_mesh(6)
    representatives, kept = cluster(vertices, faces, 0.5)
    np.testing.assert_array_equal(representatives, np.arange(36))
    assert kept.all()
