#!/usr/bin/env python3
"""What releases cost, beside Google's dp-accounting: Rényi divergences, conversions, and privacy loss distributions.

    dp_accounting_test.py BUILD_DIR SOURCE_DIR
"""

import math
import os
import random
import sys
import unittest

from peers import BUILD, compared, main

sys.path.insert(0, str(BUILD / "python"))
import dp_accounting
from dp_accounting.pld import privacy_loss_distribution
from dp_accounting.rdp import rdp_privacy_accountant
from submix import accounting

SEED = int(os.environ.get("SUBMIX_PEERS_SEED", "54"))
EVENTS = int(os.environ.get("SUBMIX_PEERS_EVENTS", "1000"))
# Of dp-accounting's distributions of the privacy loss.
STEP = 1e-4


def composed(event, count, delta, is_least):
    """Epsilon by exact composition: a lower or an upper bound of it, by how losses are rounded."""
    how = {"pessimistic_estimate": not is_least, "value_discretization_interval": STEP, "use_connect_dots": False}
    if isinstance(event, dp_accounting.LaplaceDpEvent):
        loss = privacy_loss_distribution.from_laplace_mechanism(event.noise_multiplier, **how)
    else:
        q, noise = (event.sampling_probability, event.event) if hasattr(event, "event") else (1.0, event)
        loss = privacy_loss_distribution.from_gaussian_mechanism(noise.noise_multiplier, sampling_prob=q, **how)
    return loss.self_compose(count).get_epsilon_for_delta(delta)


def random_event(rng):
    """Ours, theirs, what it is, and how often it happens."""
    kind, count = rng.choice(["dp-sgd", "dp-sgd", "laplace", "gnmax"]), int(10 ** rng.uniform(0, 4))
    if kind == "dp-sgd":
        q, noise = 10 ** rng.uniform(-4, -0.01), 10 ** rng.uniform(-0.3, 1)
        return accounting.dp_sgd(q, noise), dp_accounting.PoissonSampledDpEvent(q, dp_accounting.GaussianDpEvent(noise)), kind, count
    if kind == "laplace":
        parts, scale = rng.randint(2, 200), 10 ** rng.uniform(-1.5, 2)
        # A part changes the mean of the pmfs by 2 / parts in L1.
        return accounting.laplace(parts, scale), dp_accounting.LaplaceDpEvent(scale * parts / 2), kind, count
    noise = 10 ** rng.uniform(0, 3)
    # One vote that changes is two counts: sqrt(2) in L2.
    return accounting.gnmax(noise), dp_accounting.GaussianDpEvent(noise / math.sqrt(2)), kind, count


class DpAccountingTest(unittest.TestCase):
    def test_renyi_divergences(self):
        rng, apart, looser = random.Random(SEED), 0.0, 0.0
        for number in range(EVENTS):
            ours, event, kind, count = random_event(rng)
            whole = rng.random() < 0.5 or kind != "dp-sgd"
            order = float(rng.randint(2, 128)) if whole else round(rng.uniform(1.1, 30), 2)
            accountant = rdp_privacy_accountant.RdpAccountant([order])
            accountant.compose(event, count)
            theirs, found = float(accountant._rdp[0]), ours.rdp(order, count)
            if math.isinf(theirs) or theirs < 1e-12:
                continue
            with self.subTest(f"{number}: {kind}, order {order}"):
                if whole:
                    self.assertAlmostEqual(found / theirs, 1, delta=1e-6)
                    apart = max(apart, abs(found / theirs - 1))
                else:  # theirs is a bound there; ours is the integral
                    self.assertLess(found / theirs, 1 + 1e-6)
                    looser = max(looser, theirs / found - 1)
        compared(f"Rényi divergences of {EVENTS} random releases: at whole orders {apart:.1e} apart (relative); at others "
                 f"dp-accounting's bound is up to {looser:.1%} looser")

    def test_conversions(self):
        rng, apart = random.Random(SEED + 1), 0.0
        for _ in range(EVENTS):
            order, rdp, delta = 1 + 10 ** rng.uniform(-2, 3), 10 ** rng.uniform(-5, 2), 10 ** rng.uniform(-12, -1)
            theirs, _ = rdp_privacy_accountant.compute_epsilon([order], [rdp], delta)
            found = accounting.epsilon(rdp, order, delta)
            self.assertAlmostEqual(found, theirs, delta=1e-9 * max(1, theirs))
            apart = max(apart, abs(found - theirs))
            if theirs > 0:
                epsilon = theirs * rng.uniform(0.5, 2)
                back, _ = rdp_privacy_accountant.compute_delta([order], [rdp], epsilon)
                self.assertAlmostEqual(accounting.delta(rdp, order, epsilon), back, delta=1e-9 * back + 1e-15)
        compared(f"{EVENTS} conversions of Rényi bounds to (epsilon, delta): {apart:.1e} apart")

    def test_epsilon_is_no_lower_than_exact_composition(self):
        rng, least, most = random.Random(SEED + 2), math.inf, 0.0
        for number in range(max(1, EVENTS // 20)):
            ours, event, kind, count = random_event(rng)
            count, delta = min(count, 1000), 10 ** rng.uniform(-8, -4)
            found = ours.epsilon(count, delta).epsilon
            if not 0.01 < found < 20:
                continue
            exact = composed(event, count, delta, is_least=True)
            with self.subTest(f"{number}: {kind}"):
                self.assertGreater(found, exact)
            if exact > 0.05:
                least, most = min(least, found / exact), max(most, found / exact)
        compared(f"(epsilon, delta) by orders over a lower bound by dp-accounting's loss distributions: {least:.3f} to {most:.2f} times")

    def test_our_exact_composition_is_theirs(self):
        rng, widest = random.Random(SEED + 3), 0.0
        for number in range(max(1, EVENTS // 50)):
            parts, scale, count = rng.randint(4, 100), 10 ** rng.uniform(-0.5, 1), rng.randint(1, 300)
            delta = 10 ** rng.uniform(-8, -4)
            low, high = accounting.laplace(parts, scale).exact_epsilon(count, delta)
            least, most = (composed(dp_accounting.LaplaceDpEvent(scale * parts / 2), count, delta, is_least) for is_least in (True, False))
            with self.subTest(f"{number}: {parts} parts, scale {scale}, {count} times"):
                self.assertLessEqual(low, most)
                self.assertGreaterEqual(high, least)
                widest = max(widest, high - low)
        compared(f"Laplace noise composed exactly: our interval (at most {widest:.1e} wide) meets dp-accounting's each time")


if __name__ == "__main__":
    main()
