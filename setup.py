import xml.etree.ElementTree as ElementTree
from pathlib import Path

from setuptools import find_packages
from setuptools import setup

NAME = 'structrl_ros'
NODES = (
    'planner_node',
    'policy_node',
    'tracker_node',
    'grm_node',
    'sim_node',
    'recorder_node',
    'replayer_node',
    'camera_node',
    'arm_node',
    'mirror_node',
    'teleop_node',
    'overlay_node',
    'evaluator_node',
)


def tree(target, source):
    folders = [p for p in [Path(source), *Path(source).rglob('*')] if p.is_dir()]
    folders = [d for d in folders if d.name != '__pycache__']
    return [
        (
            f'{target}/{d.relative_to(source)}' if d != Path(source) else target,
            [str(f) for f in sorted(d.iterdir()) if f.is_file()],
        )
        for d in folders
    ]


setup(
    name=NAME,
    version=ElementTree.parse('package.xml').getroot().findtext('version'),
    packages=find_packages(include=[NAME, f'{NAME}.*']),
    package_data={
        NAME: ['py.typed'],
        f'{NAME}.models.vlm': ['prompts/*.txt'],
        f'{NAME}.models.checkpoints': ['*/*'],
        f'{NAME}.sim': ['**/*.yaml', '**/*.json'],
        f'{NAME}.plan': ['*.yaml'],
        f'{NAME}.training': ['configs/*.yaml'],
        f'{NAME}.control': ['robots/*.json'],
        f'{NAME}.recording': ['*.html'],
        f'{NAME}.console': ['page/*'],
        f'{NAME}.training.experiments': ['*.html'],
    },
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{NAME}']),
        (f'share/{NAME}', ['package.xml']),
        *tree(f'share/{NAME}/launch', 'launch'),
        *tree(f'share/{NAME}/calibration', 'calibration'),
        *tree(f'share/{NAME}/benchmarks', 'benchmarks'),
    ],
    python_requires='>=3.11',
    install_requires=['numpy>=1.26', 'scipy>=1.11', 'setuptools'],
    extras_require={
        'cli': ['typer', 'rich', 'pyyaml', 'pydantic>=2', 'httpx'],
        'control': ['ruckig'],
        'console': ['fastapi', 'uvicorn', 'websockets', 'pillow'],
        'recording': ['rosbags>=0.11.9,<0.12', 'mcap', 'jinja2', 'pillow', 'ruamel.yaml'],
        'test': ['pytest', 'pytest-timeout', 'pytest-xdist', 'hypothesis'],
    },
    zip_safe=True,
    maintainer='structrl_ros maintainers',
    maintainer_email='maintainers@structrl-ros.example',
    description='A sentence to a Franka arm that does it: plans, rewards, chunks on ROS 2',
    license='Apache-2.0',
    entry_points={
        'console_scripts': [
            'structrl = structrl_ros.cli.entry:main',
            *[f'{n} = {NAME}.nodes.{n}:main' for n in NODES],
        ]
    },
)
