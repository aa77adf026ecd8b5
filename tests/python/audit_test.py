"""submix.audit_epsilon: finds most of what randomised response tells, and never more than there is.

    audit_test.py BUILD_DIR SOURCE_DIR
"""

import math
import pathlib
import random
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(sys.argv[1]).resolve() / "python"))
import submix


def randomised_response(epsilon, draw):
    """Says the truth with probability e^epsilon / (1 + e^epsilon): pure differential privacy, exactly epsilon."""
    return lambda truth: truth if draw.random() < 1 / (1 + math.exp(-epsilon)) else 1 - truth


class AuditTest(unittest.TestCase):
    def test_it_finds_most_and_not_more(self):
        sampler = randomised_response(1.5, random.Random(7))
        audit = submix.audit_epsilon(sampler, 1, 0, transcripts=20000, order=math.inf, error=1e-4)
        self.assertGreater(audit.epsilon, 1.3)
        self.assertLessEqual(audit.epsilon, 1.5)
        self.assertGreater(audit.rdp, 1.3)
        self.assertLessEqual(audit.rdp, 1.5)
        self.assertEqual((audit.order, audit.delta, audit.error), (math.inf, 1e-6, 1e-4))
        self.assertIn("wrong with probability", repr(audit))

    def test_worlds_that_look_alike_prove_nothing(self):
        draw = random.Random(7)
        self.assertEqual(submix.audit_epsilon(lambda world: draw.random(), 1, 0, error=1e-4).epsilon, 0)

    def test_a_broken_sampler_is_found_out(self):
        audit = submix.audit_epsilon(lambda text: float("secret" in text), "a secret", "nothing", transcripts=2000)
        self.assertGreater(audit.epsilon, 5)

    def test_bad_input(self):
        for keywords, score, cause in [
            ({}, math.nan, "not a number"), ({"transcripts": 1}, 0, "at least 2"), ({"delta": 0}, 0, "delta"),
            ({"error": math.nan}, 0, "error"), ({"order": 0}, 0, "order"),
        ]:
            with self.subTest(keywords), self.assertRaisesRegex(ValueError, cause):
                submix.audit_epsilon(lambda world: score, 1, 0, **keywords)
        with self.assertRaises((TypeError, ValueError)):
            submix.audit_epsilon(lambda world: "likely", 1, 0)
        with self.assertRaises(ZeroDivisionError):
            submix.audit_epsilon(lambda world: 1 / 0, 1, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
