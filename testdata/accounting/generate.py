#!/usr/bin/python3
"""Writes the high-precision references of submix/accounting beside this file (python3-mpmath).

rdp_conversion.txt, one record a line:
    epsilon KIND ORDER RDP DELTA VALUE      EpsilonForDelta
    delta   KIND ORDER RDP EPSILON VALUE    DeltaForEpsilon
    rdp     KIND ORDER EPSILON DELTA VALUE  RdpForEpsilon; "unreachable" where there is none
user_level.txt:
    PART_ORDER USER_ORDER FACTOR
"""
import os

from mpmath import exp, log, mp, mpf, sqrt

mp.dps = 50
HERE = os.path.dirname(os.path.abspath(__file__))
ORDERS = ["1.01", "1.25", "2", "4", "8", "18", "64", "512"]
NATS = ["0", "1e-12", "0.001", "0.1", "0.472", "2", "20"]
DELTAS = ["1e-12", "1e-5", "0.01", "0.4"]


def exact(text):
    """The double that the C++ program reads."""
    return mpf(float(text))


def epsilon(kind, order, rdp, delta):
    if kind == "classic":
        return rdp + log(1 / delta) / (order - 1)
    if delta**2 >= 1 - exp(-rdp):
        return mpf(0)
    return max(mpf(0), rdp + log(1 - 1 / order) - log(order * delta) / (order - 1))


def delta_of(kind, order, rdp, eps):
    if kind == "classic":
        return min(mpf(1), exp((order - 1) * (rdp - eps)))
    return min(sqrt(1 - exp(-rdp)), exp((order - 1) * (rdp - eps + log(1 - 1 / order))) / order)


def rdp_of(kind, order, eps, delta):
    """By bisection on `epsilon`, not by inverting the formula."""
    low, high = mpf(0), mpf(10)**6
    if epsilon(kind, order, low, delta) > eps:
        return None
    for _ in range(200):
        middle = (low + high) / 2
        if epsilon(kind, order, middle, delta) <= eps:
            low = middle
        else:
            high = middle
    return low


def write_conversions(path):
    with open(path, "w", encoding="ascii") as out:
        for kind in ("classic", "improved"):
            for order in ORDERS:
                for nats in NATS:
                    for delta in DELTAS:
                        a, n, d = exact(order), exact(nats), exact(delta)
                        value = mp.nstr(epsilon(kind, a, n, d), 22)
                        out.write(f"epsilon {kind} {order} {nats} {delta} {value}\n")
                        value = rdp_of(kind, a, n, d)
                        value = "unreachable" if value is None else mp.nstr(value, 22)
                        out.write(f"rdp {kind} {order} {nats} {delta} {value}\n")
                    for eps in ("0", "0.5", "3"):
                        value = mp.nstr(delta_of(kind, exact(order), exact(nats), exact(eps)), 22)
                        out.write(f"delta {kind} {order} {nats} {eps} {value}\n")


def write_user_levels(path):
    with open(path, "w", encoding="ascii") as out:
        for part_order in ["1.0001", "1.5", "2", "4", "8", "16", "32", "512"]:
            a0 = exact(part_order)
            user_order = mp.nstr(a0**2 / (2 * a0 - 1), 22)
            out.write(f"{part_order} {user_order} {mp.nstr((2 * a0 - 1) / (a0 - 1), 22)}\n")


write_conversions(os.path.join(HERE, "rdp_conversion.txt"))
write_user_levels(os.path.join(HERE, "user_level.txt"))
