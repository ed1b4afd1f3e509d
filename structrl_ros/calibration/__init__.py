"""Where a camera is: board, detection, hand-eye solvers and what their results are worth."""
