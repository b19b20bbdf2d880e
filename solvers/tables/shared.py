"""Groups of people that have the same size in every consistent table.

People without names are told apart by nothing but their values. So what is proved of a row is said of groups: ``k
people are of class x, in this leaf, and have a = 1``. Starting from groups that are stated, a group is divided by an
attribute where the number of its people with every value is the same in all tables. Every table then has exactly as
many people in each group: it can be matched with any other one, row by row, such that what describes the groups agrees.
"""

from __future__ import annotations

import numpy as np

from maxent.models.arrays import BoolArray, IntArray


def shared_groups(base: IntArray, codes: IntArray, tables: IntArray) -> IntArray:
    """The groups that some tables share, shape (n_patterns,), numbered from 0.

    Parameters
    ----------
    base : shape (n_patterns,), groups that all tables share
    codes : shape (n_descriptors, n_patterns), the value of each, -1 where it may be one of several
    tables : shape (n_tables, n_patterns), people of each pattern
    """
    group = np.unique(base, return_inverse=True)[1]
    divided = True
    while divided:
        divided = False
        for code in codes:
            _, key = np.unique(group * (int(codes.max(initial=0)) + 2) + code + 1, return_inverse=True)
            n_keys = int(key.max(initial=-1)) + 1
            people = np.stack([np.bincount(key, table, n_keys) for table in tables])
            same = (people == people[0]).all(axis=0)
            above = np.zeros(n_keys, np.int64)
            above[key] = group
            n_groups = int(group.max(initial=-1)) + 1
            may = np.bincount(above, ~same, n_groups) == 0
            may &= np.bincount(above, minlength=n_groups) > 1
            if may.any():
                divided = True
                group = np.unique(np.where(may[group], n_groups + key, group), return_inverse=True)[1]
    return group.astype(np.int64)


def described(group: IntArray, codes: IntArray) -> BoolArray:
    """Whether all people of each pattern's group have the same value of each descriptor, shape as ``codes``."""
    n_groups = int(group.max(initial=-1)) + 1
    found = np.empty(codes.shape, bool)
    for d, code in enumerate(codes):
        least, most = np.full(n_groups, np.iinfo(np.int64).max), np.full(n_groups, -2)
        np.minimum.at(least, group, code)
        np.maximum.at(most, group, code)
        found[d] = ((least == most) & (least >= 0))[group]
    return found
