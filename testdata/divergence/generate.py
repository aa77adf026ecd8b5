#!/usr/bin/python3
"""Writes the high-precision references of submix/divergence beside this file (python3-mpmath).

renyi_divergence.txt, one record a line:
    weights NAME p W...        integer weights, written out
    weights NAME q W...
    generated NAME SIZE SEED DIVISOR   weights by the rule `generate` below, which the test repeats
    divergence NAME ORDER D(p||q) D(q||p)
bounded_range.txt:
    ORDER RANGE VALUE
"""
import os

from mpmath import expm1, inf, log, mp, mpf

mp.dps = 100
HERE = os.path.dirname(os.path.abspath(__file__))
TOTAL = 2**48
ORDERS = ["0.01", "0.3", "0.5", "0.999999", "1", "1.000001", "1.01", "1.5", "2", "4", "18", "64",
          "512", "inf"]


def random_numbers(seed):
    """Knuth's 64-bit congruential generator, its upper 31 bits."""
    state = seed
    while True:
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        yield state >> 33


def generate(size, seed, divisor):
    """p is random; q moves up to 1/divisor of every second weight to its left neighbour."""
    numbers = random_numbers(seed)
    p = [1 + next(numbers) for _ in range(size)]
    q = list(p)
    for left in range(0, size - 1, 2):
        moved = next(numbers) % (p[left + 1] // divisor + 1)
        q[left] += moved
        q[left + 1] -= moved
    return p, q


def divergence(p, q, order):
    """The textbook formula on exact weights; the digits are in the precision."""
    total = mpf(sum(p))
    assert sum(p) == sum(q)
    if order == "inf":
        return max(log(mpf(a) / b) if b else inf for a, b in zip(p, q) if a)
    # The value that the C++ program will hold: the nearest double.
    a = mpf(float(order))
    if order == "1":
        return sum(x / total * (log(mpf(x) / y) if y else inf) for x, y in zip(p, q) if x)
    if a > 1 and any(x and not y for x, y in zip(p, q)):
        return inf
    power_sum = sum(mpf(x)**a * mpf(y)**(1 - a) for x, y in zip(p, q) if x and y) / total
    return log(power_sum) / (a - 1) if power_sum else inf


def written_cases():
    half = TOTAL // 2
    step = 281475  # 1e-9 of the total
    yield "equal", [3, 5, 8], [3, 5, 8]
    yield "nearly_equal", [half + step, half - step], [half, half]
    yield "one_unit_apart", [half + 1, half - 1], [half, half]
    yield "wide", [TOTAL - 1, 1], [1, TOTAL - 1]
    yield "coin", [TOTAL // 4 * 3, TOTAL // 4], [half, half]
    yield "zero_in_p", [0, TOTAL // 4, TOTAL // 4 * 3], [5, half, half - 5]
    yield "disjoint", [TOTAL, 0], [0, TOTAL]
    yield "nearly_disjoint", [TOTAL - 7, 7, 0], [0, 3, TOTAL - 3]
    yield "thin_token", [TOTAL - 100000, 90000, 10000], [TOTAL - 1000, 1, 999]
    yield "tiny_ratio", [half - 1, 1, half], [half - 10**14, 10**14, half]


def number(value):
    return "inf" if value == inf else mp.nstr(value, 25)


def write_renyi(path):
    cases = [(name, p, q, None) for name, p, q in written_cases()]
    for name, rule in {"two": (2, 1, 3), "fifty": (50, 2, 1), "fifty_close": (50, 3, 10**6),
                       "thousands": (2000, 4, 1), "thousands_close": (2000, 5, 10**4)}.items():
        cases.append((name, *generate(*rule), rule))
    with open(path, "w", encoding="ascii") as out:
        for name, p, q, rule in cases:
            if rule:
                out.write(f"generated {name} {rule[0]} {rule[1]} {rule[2]}\n")
            else:
                for which, weights in (("p", p), ("q", q)):
                    out.write(f"weights {name} {which} {' '.join(map(str, weights))}\n")
            for order in ORDERS:
                forward, backward = divergence(p, q, order), divergence(q, p, order)
                out.write(f"divergence {name} {order} {number(forward)} {number(backward)}\n")


def bounded_range(order, eta):
    """The two-point maximum of the proof of T4, before its powers of e are gathered."""
    eta = mpf(float(eta))
    if order == "inf":
        return eta
    if order == "1":
        return (bounded_range_at(1 + mpf(10)**-25, eta) + bounded_range_at(1 - mpf(10)**-25, eta)) / 2
    return bounded_range_at(mpf(float(order)), eta)


def bounded_range_at(a, eta):
    big_a, big_b = -expm1(-a * eta), -expm1(-eta)
    best = (big_a * mp.e**-eta - a * big_b * mp.e**(-a * eta)) / ((a - 1) * big_a * big_b)

    def two_point(q):
        return log((q + (1 - q) * mp.e**(-a * eta)) / (q + (1 - q) * mp.e**-eta)**a) / (a - 1)

    value = two_point(best)
    step = min(best, 1 - best) / 1000
    assert two_point(best - step) < value > two_point(best + step), (a, eta)
    return value


def write_bounded_range(path):
    with open(path, "w", encoding="ascii") as out:
        for order in ["1", "1.000001", "1.01", "1.5", "2", "4", "18", "64", "512", "inf"]:
            for eta in ["1e-6", "0.001", "0.01", "0.0875", "0.3", "0.5", "0.59", "0.61", "1.3", "2",
                        "5", "10", "40"]:
                out.write(f"{order} {eta} {number(bounded_range(order, eta))}\n")


write_renyi(os.path.join(HERE, "renyi_divergence.txt"))
write_bounded_range(os.path.join(HERE, "bounded_range.txt"))
