#!/usr/bin/python3
"""Writes noisy_votes.txt beside this file (python3-mpmath), one record a line:

    SCALE LEVELS VOTES TOKENS PROBABILITY [VOTES TOKENS PROBABILITY …]

the probability of one token of each level to have the most votes after noise of deviation SCALE: by
adaptive Gauss-Legendre quadrature of the definition, with 40 digits.

Also checks the inequality behind the error bound of noisy_votes.cc.
"""
import os

from mpmath import erfc, exp, inf, mp, mpc, mpf, pi, quad, sqrt

mp.dps = 40
HERE = os.path.dirname(os.path.abspath(__file__))
CASES = [
    ("10", [(60, 1), (3, 1), (1, 1), (0, 50)]),
    ("10", [(60, 1), (3, 1), (1, 1), (0, 50254)]),
    ("31.99", [(64, 1), (0, 50256)]),
    ("31.99", [(30, 1), (29, 1), (5, 1), (0, 50254)]),
    ("1", [(5, 2), (3, 1), (0, 1000)]),
    ("0.7", [(1, 8), (0, 92)]),
    ("0.1", [(1, 1), (0, 1)]),
    ("2", [(8, 1), (0, 1)]),
    ("40", [(8, 1), (0, 1)]),
    ("3", [(16, 1), (15, 1), (8, 1), (7, 2), (1, 11), (0, 1048560)]),
    ("1000", [(64, 1), (0, 1048575)]),
    ("5", [(7, 1)]),
]


def cdf(x):
    return erfc(-x / sqrt(2)) / 2


def probability(levels, scale, own):
    def integrand(t):
        value = exp(-((t - own / scale) ** 2) / 2) / sqrt(2 * pi)
        for votes, tokens in levels:
            value *= cdf(t - votes / scale) ** (tokens - (1 if votes == own else 0))
        return value

    centre = max(votes for votes, _ in levels) / scale
    nodes = [centre + mpf(i) / 2 for i in range(-26, 27)]
    return quad(integrand, [-inf] + nodes + [inf])


def check_strip():
    for i in range(101):
        for j in range(11):
            q = erfc(mpc(mpf(i) / 20, mpf(j) / 40) / sqrt(2)) / 2
            assert 2 * q.real - abs(q) ** 2 >= abs(q) / 2


check_strip()
with open(os.path.join(HERE, "noisy_votes.txt"), "w", encoding="ascii") as out:
    for text, levels in CASES:
        scale = mpf(float(text))
        fields = [text, str(len(levels))]
        for votes, tokens in levels:
            fields += [str(votes), str(tokens), mp.nstr(probability(levels, scale, votes), 20)]
        out.write(" ".join(fields) + "\n")
