#!/usr/bin/python3
"""Writes discrete_laplace.txt beside this file (python3-mpmath):

    NUMERATOR DENOMINATOR SHIFT ORDER VALUE     D_ORDER(X + SHIFT || X), scale NUMERATOR / DENOMINATOR

by summing the definition term by term, not by the closed form that the C++ has. Takes 10 seconds.
"""
import os

from mpmath import exp, log, mp, mpf

mp.dps = 60
HERE = os.path.dirname(os.path.abspath(__file__))
SCALES = [(1, 40), (1, 2), (1, 1), (3, 2), (10, 1), (40, 1)]
SHIFTS = [1, 2, 3, 10, 100]
ORDERS = ["1", "1.000001", "1.5", "2", "8", "18", "64"]


def divergence(u, shift, order):
    """Terms beyond the reach are below 1e-50 of the largest."""
    reach = int(130 / u) + 2 * shift + 10
    total = mpf(0)
    normaliser = mpf(0)
    for x in range(-reach, reach + shift + 1):
        p, q = -abs(x - shift) * u, -abs(x) * u
        normaliser += exp(q)
        total += exp(p) * (p - q) if order == 1 else exp(order * p + (1 - order) * q)
    return total / normaliser if order == 1 else log(total / normaliser) / (order - 1)


with open(os.path.join(HERE, "discrete_laplace.txt"), "w", encoding="ascii") as out:
    for numerator, denominator in SCALES:
        for shift in SHIFTS:
            for order in ORDERS:
                value = divergence(mpf(denominator) / numerator, shift, mpf(float(order)))
                out.write(f"{numerator} {denominator} {shift} {order} {mp.nstr(value, 20)}\n")
