"""Colours of the reports, light and dark, told apart under colour blindness, as CSS."""

from __future__ import annotations

#: Colours of series, `--t0` to `--t7`.
SERIES = 8

LIGHT = {
    'page': '#f7f8f8',
    'card': '#ffffff',
    'ink': '#1d2429',
    'soft': '#566069',
    'line': '#dde2e5',
    'accent': '#0d6b74',
    'accent-soft': '#d5e9ea',
    'accent-softer': '#e6f2f2',
    'on-soft': '#0b3d42',
    'good': '#00695c',
    'good-soft': '#d9eeea',
    'warn': '#8f5c00',
    'warn-soft': '#f9e8cd',
    'bad': '#8f1220',
    'bad-soft': '#f6dcdf',
    't0': '#0d6b74',
    't1': '#ef632a',
    't2': '#6b3fca',
    't3': '#6e0b25',
    't4': '#b473cc',
    't5': '#d07865',
    't6': '#480170',
    't7': '#a30303',
}
DARK = {
    'page': '#14181b',
    'card': '#1c2226',
    'ink': '#e4e9ec',
    'soft': '#a2adb5',
    'line': '#323b41',
    'accent': '#6cc4cc',
    'accent-soft': '#1e464a',
    'accent-softer': '#1b3639',
    'on-soft': '#d6f0f2',
    'good': '#6fd3c0',
    'good-soft': '#183d38',
    'warn': '#f2c94c',
    'warn-soft': '#413813',
    'bad': '#ff7a6b',
    'bad-soft': '#4a211d',
    't0': '#6cc4cc',
    't1': '#fdba00',
    't2': '#955ae5',
    't3': '#a9565f',
    't4': '#c8f9c7',
    't5': '#5975a4',
    't6': '#bcbe6b',
    't7': '#d23106',
}


def palette_rules(selector: str = ':root') -> str:
    """Return the CSS that sets every colour; dark on dark screens, always light on paper."""

    def block(colours: dict[str, str]) -> str:
        return f'{selector} {{ {" ".join(f"--{k}: {v};" for k, v in colours.items())} }}'

    dark = f'@media screen and (prefers-color-scheme: dark) {{ {block(DARK)} }}'
    return f'{block(LIGHT)}\n{dark}\n'
