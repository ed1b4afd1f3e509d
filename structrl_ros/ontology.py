"""What people call the things of the scenes: names of the simulator and their everyday synonyms.

Pure data. A key is the folded name of a thing without its number (`akita_black_bowl_1` is
'akita black bowl'); the values are other names for it. A name may belong to several things: then
it is ambiguous where both are in the scene. Add a line here to teach the rule planner and the
grounding a new word; nothing else has to change.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

#: Other names of a thing. What is listed here is known: a phrase that is a name of one thing is
#: never matched to another by shared words ('white mug' is not the 'white yellow mug').
SYNONYMS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        'akita black bowl': ('black bowl', 'bowl'),
        'white bowl': ('bowl',),
        'glazed rim porcelain ramekin': ('ramekin', 'porcelain ramekin'),
        'cookies': ('cookie box', 'cookies box', 'box of cookies', 'cookie', 'biscuits'),
        'porcelain mug': ('white mug', 'white porcelain mug', 'mug', 'cup'),
        'white yellow mug': (
            'yellow and white mug',
            'white and yellow mug',
            'yellow white mug',
            'yellow mug',
            'mug',
            'cup',
        ),
        'red coffee mug': ('red mug', 'coffee mug', 'mug', 'cup'),
        'plate': ('dish',),
        'flat stove': ('stove', 'burner', 'hob', 'cooker'),
        'microwave': ('microwave oven', 'oven'),
        'white cabinet': ('cabinet', 'cupboard'),
        'wooden cabinet': ('cabinet', 'cupboard', 'wood cabinet'),
        'moka pot': ('coffee pot', 'pot', 'moka'),
        'chefmate 8 frypan': ('frying pan', 'pan', 'skillet', 'frypan'),
        'black book': ('book',),
        'yellow book': ('book',),
        'desk caddy': ('caddy', 'book caddy', 'desk organizer'),
        'wine bottle': ('bottle', 'wine', 'bottle of wine'),
        'wine rack': ('rack', 'bottle rack'),
        'alphabet soup': ('soup', 'can of alphabet soup', 'soup can', 'can of soup'),
        'tomato sauce': ('sauce', 'can of tomato sauce'),
        'bbq sauce': ('barbecue sauce', 'sauce'),
        'cream cheese': ('cream cheese box', 'box of cream cheese', 'cheese', 'cheese box'),
        'salad dressing': ('dressing',),
        'chocolate pudding': ('pudding', 'box of chocolate pudding'),
        'orange juice': ('juice', 'carton of orange juice'),
        'milk': ('milk carton', 'carton of milk'),
        'ketchup': ('ketchup bottle', 'bottle of ketchup', 'catsup'),
        'butter': ('butter box', 'box of butter', 'stick of butter'),
        'basket': ('wicker basket', 'hamper'),
        'main table': ('table',),
        'kitchen table': ('table',),
        'living room table': ('table', 'coffee table'),
        'study table': ('table', 'desk'),
    }
)

#: Things whose insides are drawers: 'top of the cabinet' lies on it, 'top drawer' in it.
THINGS_WITH_DRAWERS = frozenset({'white cabinet', 'wooden cabinet', 'cabinet'})

#: Words that say where on a thing, and what each of them is called in the names of regions.
PLACES: Mapping[str, str] = MappingProxyType(
    {
        'top': 'top',
        'upper': 'top',
        'middle': 'middle',
        'bottom': 'bottom',
        'lower': 'bottom',
        'lowest': 'bottom',
        'left': 'left',
        'right': 'right',
        'front': 'front',
        'back': 'back',
        'rear': 'back',
    }
)

#: Parts of things: a phrase with one of them means a region of the thing, never the whole.
PARTS = frozenset({'drawer', 'compartment', 'layer', 'shelf', 'section', 'slot'})

#: Words after which a phrase only says which one is meant ('the bowl next to the ramekin').
QUALIFIERS = frozenset(
    {
        'next',
        'between',
        'from',
        'near',
        'beside',
        'behind',
        'under',
        'at',
        'on',
        'in',
        'inside',
        'by',
        'closest',
        'nearest',
        'that',
        'which',
    }
)

#: What a thing is sold in; 'ketchup bottle' is the ketchup, 'plate rack' is not the plate.
CONTAINERS = frozenset({'box', 'can', 'bottle', 'carton', 'container', 'jar', 'packet', 'pack'})

#: What is true of a thing in any scene: what it is, its shape, its colour. A key is a folded name
#: or the last word of one (ball: also of the green ball); colours in a name need no entry.
ATTRIBUTES: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        thing: frozenset(words.split())
        for thing, words in {
            'apple': 'fruit food round red',
            'orange': 'fruit food round orange',
            'lemon': 'fruit food yellow',
            'banana': 'fruit food yellow',
            'pear': 'fruit food green',
            'peach': 'fruit food round',
            'tomato': 'vegetable food round red',
            'carrot': 'vegetable food orange',
            'chicken': 'meat food',
            'cheese': 'dairy food yellow',
            'cream cheese': 'dairy food',
            'butter': 'dairy food',
            'milk': 'dairy drink carton',
            'orange juice': 'juice drink carton',
            'alphabet soup': 'can tin soup food',
            'tomato sauce': 'can tin sauce food',
            'bbq sauce': 'sauce bottle food',
            'ketchup': 'sauce bottle food red',
            'salad dressing': 'sauce bottle food',
            'chocolate pudding': 'dessert sweet food',
            'cookies': 'dessert sweet food',
            'wine bottle': 'drink bottle',
            'bowl': 'dish crockery round',
            'plate': 'dish crockery round',
            'ramekin': 'dish crockery round',
            'mug': 'dish crockery',
            'cup': 'dish crockery',
            'frypan': 'pan cookware round',
            'moka pot': 'pot cookware',
            'book': 'book stationery',
            'pen': 'stationery',
            'tape': 'stationery round',
            'ball': 'toy round',
            'block': 'toy',
            'doll': 'toy',
        }.items()
    }
)

COLOURS = frozenset(
    {'red', 'green', 'blue', 'yellow', 'orange', 'purple', 'black', 'white', 'brown', 'grey'}
)

#: Nouns that stand for any thing ('the red ones', 'everything round').
ANYTHING = frozenset({'thing', 'object', 'item', 'one', 'everything', 'stuff'})

#: Nouns without a plural: 'the fruit' is all of it.
MASS_NOUNS = frozenset({'fruit', 'food', 'crockery', 'cookware', 'dairy', 'stationery', 'stuff'})

#: Last words of the names of what stays where it is; a group of things is never one of them.
FIXTURES = frozenset(
    {
        'basket',
        'box',
        'button',
        'cabinet',
        'caddy',
        'compartment',
        'drawer',
        'floor',
        'knob',
        'microwave',
        'peg',
        'rack',
        'stove',
        'table',
    }
)
