"""How many threads numpy, torch and the rest compute with: one a process, unless a user says more.

Processes on the same cores that each start a thread a core make each other wait, and sums that
are split among threads are rounded otherwise, so that equal runs end differently.
"""

#: What tells the libraries so; it counts only before one of them is imported.
ONE_THREAD = dict.fromkeys(('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS'), '1')
