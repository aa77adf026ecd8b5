"""submix.accounting against `submix account … --json`, digit for digit.

    accounting_test.py BUILD_DIR SOURCE_DIR
"""

import json
import math
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "server"))
from submix_process import BUILD, run

sys.path.insert(0, str(BUILD / "python"))
import submix
from submix import accounting

DELTA = 1e-7
COUNTS = [1, 1000]
# The sub-command, its flags, the same release, what it counts.
RELEASES = [
    ("dp-sgd", ["--sampling-probability", 0.02, "--noise-multiplier", 1.1], accounting.dp_sgd(0.02, 1.1), "steps"),
    ("laplace", ["--parts", 8, "--noise-scale", 3], accounting.laplace(8, 3), "answers"),
    ("gnmax", ["--noise-scale", 30], accounting.gnmax(30), "answers"),
    ("dclip", ["--parts", 64, "--clip", 1.4, "--temperature", 0.8], accounting.dclip(64, 1.4, temperature=0.8),
     "answers"),
    ("dp-decoding", ["--mixing-weight", 1e-5, "--vocabulary", 1000], accounting.dp_decoding(1e-5, 1000), "tokens"),
    ("filtered-submix", ["--order", 8, "--target-leakage", 0.002], accounting.filtered_submix(8, 0.002), "answers"),
]


def shown(*arguments):
    return json.loads(run("account", *arguments, "--json").stdout)


def text(order):
    return "inf" if order == math.inf else order


class AccountingTest(unittest.TestCase):
    def assert_cost(self, cost, row, report, column="epsilon", order="order"):
        self.assertEqual((cost.epsilon, cost.delta), (row[column], row["delta"]))
        self.assertEqual(cost.statement, report["statements"][column])
        if order in row:
            self.assertEqual(text(cost.order), row[order])

    def test_what_a_number_of_releases_costs(self):
        for name, flags, release, counted in RELEASES:
            report = shown("plan", name, *flags, f"--{counted}", ",".join(map(str, COUNTS)), "--delta", DELTA)
            for count, row in zip(COUNTS, report["rows"]):
                with self.subTest(name, count=count):
                    self.assert_cost(release.epsilon(count, DELTA), row, report)
                    if "user_epsilon" in row:
                        self.assert_cost(release.user_epsilon(count, DELTA), row, report, "user_epsilon", "user_order")
                    else:
                        with self.assertRaisesRegex(ValueError, "nothing is said about users"):
                            release.user_epsilon(count)

    def test_how_many_an_epsilon_buys(self):
        for name, flags, release, counted in RELEASES:
            with self.subTest(name):
                report = shown("plan", name, *flags, "--epsilon", 3, "--delta", DELTA)
                row = report["rows"][0]
                most = release.most(3, DELTA)
                self.assertEqual((most.count, text(most.order)), (row[counted], row["order"]))
                self.assertEqual(most.statement, report["statements"][counted])
                if "user_" + counted in row:
                    self.assertEqual(release.user_most(3, DELTA).count, row["user_" + counted])

    def test_exact_composition(self):
        for name, flags, release, counted in RELEASES:
            if name not in ("laplace", "dclip", "dp-decoding"):
                with self.assertRaises(submix.Error):
                    release.exact_epsilon(10)
                continue
            row = shown(name, *flags, f"--{counted}", 100, "--exact", "--delta", DELTA)["rows"][0]
            self.assertEqual(release.exact_epsilon(100, DELTA), (row["exact_from"], row["exact_to"]))

    def test_the_divergence_of_a_gaussian_is_the_textbooks(self):
        self.assertAlmostEqual(accounting.dp_sgd(1, 2).rdp(4, 3), 3 * 4 / (2 * 2**2))

    def test_results_show_what_they_are(self):
        bounds = accounting.extraction(1, 2, 100)
        self.assertEqual(repr(bounds), f"Extraction(success={bounds.success}, success_fano={bounds.success_fano})")
        self.assertTrue(repr(accounting.laplace(8, 3)).startswith("Release(statement='unit: "))

    def test_votes(self):
        votes = [900, 20, 3]
        report = shown("gnmax", "--noise-scale", 30, "--votes", ",".join(map(str, votes)), "--answers", 7)
        row = report["rows"][0]
        cost = accounting.gnmax_votes(votes, 30, 7)
        self.assert_cost(cost, row, report, "votes_epsilon", "votes_order")

    def test_conversions(self):
        for order, rdp in [(2, 2.0), (8, 0.5), (math.inf, 1.5)]:
            part, user = shown("convert", "--order", order, "--rdp", rdp, "--delta", DELTA)["rows"]
            self.assertEqual(accounting.user_level(rdp, order), (user["rdp"], float(user["order"])))
            for row in (part, user):
                bound = (row["rdp"], float(row["order"]), DELTA)
                self.assertEqual(accounting.epsilon(*bound), row["epsilon"])
                self.assertEqual(accounting.epsilon(*bound, classic=True), row["classic_epsilon"])
        row = shown("convert", "--order", 8, "--epsilon", 4, "--delta", DELTA)["rows"][0]
        self.assertEqual(accounting.rdp(4, DELTA, 8), row["largest_rdp"])
        row = shown("convert", "--rho", 0.3, "--delta", DELTA)["rows"][0]
        self.assertEqual(accounting.zcdp_epsilon(0.3, DELTA), row["epsilon"])
        self.assertAlmostEqual(accounting.epsilon(1, 3, 1e-5, classic=True), 1 + math.log(1e5) / 2)
        epsilon = accounting.epsilon(0.5, 8, 1e-6)
        self.assertAlmostEqual(accounting.delta(0.5, 8, epsilon) / 1e-6, 1)
        self.assertAlmostEqual(accounting.user_level(1, accounting.part_order(4))[1], 4)

    def test_extraction(self):
        for holders in (1, 3):
            for row in shown("extraction", "--order", 16, "--rdp", 2, "--holders", holders)["rows"]:
                bound = accounting.extraction(2, 16, row["candidates"], holders=holders)
                self.assertEqual((bound.success, bound.success_fano), (row["success"], row["success_fano"]))

    def test_fedavg_and_its_paper(self):
        report = shown("fedavg", "--users", 1e6, "--users-per-round", 1000, "--noise-multiplier", 1.2, "--rounds", "10,100")
        for row in report["rows"]:
            settings = (1e6, 1000, 1.2, row["rounds"], row["delta"])
            self.assert_cost(accounting.fedavg(*settings, classic=True), row, report)
            self.assert_cost(accounting.fedavg(*settings), row, report, "improved_epsilon", "improved_order")
        for row in shown("fedavg", "--table", 1)["rows"]:
            for power, epsilon in enumerate(row["epsilon"]):
                cost = accounting.fedavg(row["users"], row["users_per_round"], row["noise_multiplier"], 10**power,
                                         row["delta"], classic=True)
                self.assertEqual(cost.epsilon, epsilon)

    def test_pmixed(self):
        report = shown("pmixed", "--epsilon", 8, "--delta", 1e-5, "--answers", 100, "--sampling-probability", 0.1,
                       "--parts", 8, "--order", 3)
        targets = accounting.pmixed(8, 1e-5, 100, 0.1, 8, 3)
        self.assertEqual(targets.beta[1:], [row["beta"] for row in report["rows"]])
        self.assertEqual(targets.rdp_per_answer, report["rows"][0]["largest_rdp"])
        self.assertEqual(targets.statement, report["statements"]["epsilon"])

    def test_what_is_out_of_range_is_named(self):
        release = accounting.dclip(64, 1.4)
        for name, call in [
            ("order", lambda: accounting.epsilon(1, 1, 1e-6)), ("rdp", lambda: accounting.epsilon(-1, 2, 1e-6)),
            ("delta", lambda: accounting.epsilon(1, 2, 0)), ("rdp", lambda: accounting.epsilon(math.nan, 2, 1e-6)),
            ("rdp", lambda: accounting.user_level(math.nan, 2)), ("order", lambda: accounting.user_level(1, 1)),
            ("noise_multiplier", lambda: accounting.dp_sgd(0.1, 0)), ("noise_scale", lambda: accounting.gnmax(math.inf)),
            ("sampling_probability", lambda: accounting.dp_sgd(math.nan, 1)), ("parts", lambda: accounting.dclip(0, 1)),
            ("clip", lambda: accounting.dclip(2, math.nan)), ("count", lambda: release.epsilon(0)),
            ("delta", lambda: release.epsilon(1, 1)), ("vocabulary", lambda: accounting.dp_decoding(0.1, -5)),
            ("target_leakage", lambda: accounting.filtered_submix(8, 0)), ("votes", lambda: accounting.gnmax_votes([], 1, 1)),
            ("votes", lambda: accounting.gnmax_votes([1, math.nan], 1, 1)), ("holders", lambda: accounting.extraction(1, 2, 10, holders=0)),
            ("order", lambda: accounting.extraction(1, 2, 10, holders=3)), ("candidates", lambda: accounting.extraction(1, 2, 0)),
        ]:
            with self.subTest(name), self.assertRaisesRegex(ValueError, name):
                call()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
