"""The site's own hooks: pages of messages and commands, links to files of the repository."""

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip('mkdocs', reason='make docs installs it')

ROOT = Path(__file__).parents[2]


def hook(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / 'docs' / 'site' / f'{name}.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_message_service_and_action_is_described_with_its_fields():
    text = hook('message_page').describe_messages()
    for kind in ('msg', 'srv', 'action'):
        for path in (ROOT / 'structrl_msgs' / kind).glob(f'*.{kind}'):
            assert f'### {path.stem}\n' in text
    assert '| `confidence` | `float32` | [0, 1] |' in text
    assert '**Feedback**' in text


def test_a_comment_before_the_fields_describes_the_type_and_one_behind_a_field_the_field():
    text = hook('message_page').describe('Step', '# A step.\nuint32 a  # how many\n', ('',))
    assert 'A step.' in text
    assert '| `a` | `uint32` | how many |' in text


def test_every_command_is_described_and_no_word_is_lost_as_a_tag():
    text = hook('command_page').describe_commands()
    for command in ('up', 'doctor', 'train ppo', 'bag check'):
        assert f'`structrl {command}`\n' in text
    assert 'runs/&lt;time>' in text
    assert '[bold]' not in text


def page(uri):
    return SimpleNamespace(file=SimpleNamespace(src_uri=uri))


@pytest.mark.parametrize(
    ('uri', 'written', 'turned'),
    [
        ('grm.md', '(../Makefile)', '(source/Makefile.md)'),
        ('how-to/robot.md', '(../../Makefile)', '(../source/Makefile.md)'),
        ('grm.md', '(../Makefile#L7)', '(source/Makefile.md#__codelineno-0-7)'),
        ('how-to/robot.md', '(../franka.md#safety)', '(../franka.md#safety)'),
        ('grm.md', '(../no_such_file.py)', '(../no_such_file.py)'),
        ('grm.md', '(../../elsewhere)', '(../../elsewhere)'),
    ],
)
def test_links_to_files_of_the_repository_lead_to_their_pages_and_others_stay(
    uri, written, turned
):
    links = hook('repository_links')
    assert links.on_page_markdown(f'[x]{written}', page(uri), {}, None) == f'[x]{turned}'
