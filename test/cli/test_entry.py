"""The `structrl` script where the packages of the command are missing."""

import subprocess
import sys

import pytest


def start_without(package):
    code = (
        f'import sys; sys.modules[{package!r}] = None; sys.argv = ["structrl", "doctor"]\n'
        'from structrl_ros.cli.entry import main; main()'
    )
    return subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize('package', ['typer', 'rich'])
def test_without_the_packages_of_the_command_one_line_says_the_remedy(package):
    done = start_without(package)
    line = f'structrl: {package}'
    assert (done.returncode, done.stdout, done.stderr.count('\n')) == (1, '', 1)
    assert done.stderr.startswith(line) and 'make install' in done.stderr


def test_a_module_of_ours_that_is_gone_is_a_fault_and_is_shown_whole():
    done = start_without('structrl_ros.cli.main')
    assert done.returncode == 1
    assert 'Traceback' in done.stderr
