#!/usr/bin/python3
"""Writes the high-precision references of submix/accounting beside this file (python3-mpmath).

rdp_conversion.txt, one record a line:
    epsilon KIND ORDER RDP DELTA VALUE      EpsilonForDelta
    delta   KIND ORDER RDP EPSILON VALUE    DeltaForEpsilon
    rdp     KIND ORDER EPSILON DELTA VALUE  RdpForEpsilon; "unreachable" where there is none
user_level.txt:
    PART_ORDER USER_ORDER FACTOR
rdp.txt, each from its definition (integrals and sums as they stand, no rearranged form):
    gaussian            R ORDER VALUE            GaussianRdp
    laplace             R ORDER VALUE            LaplaceRdp
    dp-decoding         WEIGHT V ORDER VALUE     DpDecodingRdp
    subsampled-gaussian, subsampled-gaussian-large
                        Q Z ORDER VALUE          SubsampledGaussianRdp, the latter of orders up to 65536
    tight, general      R P ORDER VALUE          PoissonAmplifiedRdp of GaussianRdp(R); general: its test's own form
    pmixed              BETA S P ORDER VALUE     PmixedAnswerRdp
    gnmax               SCALE ORDER VALUE COUNT… GnmaxDataDependentRdp
    smooth-release      BETA S ORDER VALUE       the divergence that gnmax_rdp_test.cc holds a published formula to
    zcdp-delta          RHO EPSILON VALUE        DeltaForZcdp
Takes some minutes.
"""
import os

from mpmath import (binomial, erfc, exp, expm1, inf, linspace, log, log1p, mp, mpf, npdf, nstr, quad,
                    sqrt, workdps)

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



def renyi(power_sum, order):
    return log(power_sum) / (order - 1)


def integral(density_p, density_q, order, points):
    """D_order(P || Q) of two densities by Gauss-Legendre between the points."""
    if order == 1:
        return quad(lambda x: density_p(x) * log(density_p(x) / density_q(x)), points,
                    method="gauss-legendre")
    return renyi(quad(lambda x: density_p(x)**order * density_q(x)**(1 - order), points,
                      method="gauss-legendre"), order)


def laplace(r, order):
    if order == inf:
        return r
    p = lambda x: exp(-abs(x)) / 2
    q = lambda x: exp(-abs(x - r)) / 2
    # Outside [0, r] the densities' quotient is constant: exact tails.
    if order == 1:
        return r / 2 + quad(lambda x: p(x) * (2 * x - r) * -1, [0, r]) - r * exp(-r) / 2
    tails = exp((order - 1) * r) / 2 + exp(-order * r) / 2
    return renyi(tails + quad(lambda x: p(x)**order * q(x)**(1 - order), [0, r]), order)


def dp_decoding(weight, vocabulary, order):
    low = (1 - weight) / vocabulary
    high = low + weight
    if order == inf:
        return log(high / low)
    if order == 1:
        return high * log(high / low) + low * log(low / high)
    return renyi(high**order * low**(1 - order) + low**order * high**(1 - order)
                 + (vocabulary - 2) * low, order)


def binomial_sum(term, p, order):
    return sum(binomial(order, k) * (1 - p)**(order - k) * p**k * term(k)
               for k in range(int(order) + 1))


def subsampled_gaussian(q, z, order):
    if order == int(order) and order > 1:
        return renyi(binomial_sum(lambda k: exp(k * (k - 1) / (2 * z * z)), q, order), order)
    ratio = lambda w: 1 - q + q * exp(w / z - 1 / (2 * z * z))
    density = lambda w: npdf(w, 0, 1)
    last = order / z + 16
    panels = linspace(-16, last, int((last + 16) / min(1, z)) + 2)
    if order == 1:
        return quad(lambda w: density(w) * ratio(w) * log(ratio(w)), panels,
                    method="gauss-legendre")
    return renyi(quad(lambda w: density(w) * ratio(w)**order, panels, method="gauss-legendre"),
                 order)


def subsampled_gaussian_large(q, z, order):
    """The same of a whole order, each weight from the one before: no binomial of 65536 is computed."""
    weight = (1 - q)**order
    excess = mpf(0)
    for k in range(1, order + 1):
        weight *= mpf(order - k + 1) / k * q / (1 - q)
        excess += weight * expm1(k * (k - 1) / (2 * z * z))
    return log1p(excess) / (order - 1)


def amplified(rdp, p, order, form):
    def term(k):
        if k < 2:
            return mpf(1)
        return (3 if form == "general" and k >= 3 else 1) * exp((k - 1) * rdp(k))
    return min(rdp(order), renyi(binomial_sum(term, p, order), order))


def pmixed(beta, drawn, p, order):
    def subset(k):
        if drawn <= 1:
            return beta * k
        return log((drawn - 1) / drawn + exp((k - 1) * 4 * beta * k) / drawn) / (k - 1)
    return amplified(subset, p, order, "tight")


def gnmax(scale, order, counts):
    worst = order / scale**2
    top = max(counts)
    others = sorted(counts)[:-1]
    q = sum(erfc((top - n) / (2 * scale)) / 2 for n in others)
    q = min(q, 1 - mpf(1) / len(counts))
    mu_2 = scale * sqrt(log(1 / q))
    mu_1 = mu_2 + 1
    e_1, e_2 = mu_1 / scale**2, mu_2 / scale**2
    if not (mu_1 > order and mu_2 > 1 and -log(q) > e_2):
        return worst
    if q > exp((mu_2 - 1) * e_2) / (mu_1 / (mu_1 - 1) * mu_2 / (mu_2 - 1))**mu_2:
        return worst
    a = (1 - q) / (1 - (q * exp(e_2))**((mu_2 - 1) / mu_2))
    b = exp(e_1) / q**(1 / (mu_1 - 1))
    return min(worst, renyi((1 - q) * a**(order - 1) + q * b**(order - 1), order))


def smooth_release(beta, s, order):
    r = exp(-beta)
    v = order * r**2 + 1 - order
    # p^a q^(1-a) is a Gaussian bell.
    centre, width = order * r**3 / v, s * r / sqrt(v)
    points = linspace(centre - 16 * width, centre + 16 * width, 33)
    return integral(lambda x: npdf(x, r, s), lambda x: npdf(x, 0, s * r), order, points)


def zcdp_delta(rho, epsilon):
    log_delta = lambda a: (a - 1) * (a * rho - epsilon) + a * log(1 - 1 / a) - log(a - 1)
    slope = lambda a: (2 * a - 1) * rho - epsilon + log(1 - 1 / a)
    low, high = mpf(1) + mpf(10)**-40, mpf(10)**9
    a = bisect(slope, low, high)
    return min(mpf(1), exp(log_delta(a)))


def bisect(function, low, high):
    for _ in range(300):
        middle = (low + high) / 2
        if function(middle) < 0:
            low = middle
        else:
            high = middle
    return high


def write_rdp(path):
    with open(path, "w", encoding="ascii") as out:
        def record(name, arguments, value, extra=()):
            out.write(" ".join([name, *arguments, nstr(value, 22), *extra]) + "\n")

        for r in ("1e-9", "1e-4", "0.03", "0.5", "2", "20"):
            for order in ("1", "1.001", "1.5", "2", "3.7", "18", "512"):
                record("laplace", (r, order), laplace(exact(r), exact(order)))
        for r in ("1e-9", "0.3", "7"):
            for order in ("0.5", "1", "2", "3.7", "512"):
                centre = exact(order) * exact(r)
                value = integral(lambda x: npdf(x, exact(r), 1), lambda x: npdf(x, 0, 1),
                                 exact(order), linspace(centre - 16, centre + 16, 33))
                record("gaussian", (r, order), value)
        for weight in ("1e-12", "1e-6", "0.1", "0.5", "0.999"):
            for vocabulary in ("2", "50257"):
                for order in ("1", "1.5", "2", "8", "512", "inf"):
                    value = dp_decoding(exact(weight), int(vocabulary), exact(order))
                    record("dp-decoding", (weight, vocabulary, order), value)
        for q in ("1e-8", "1e-4", "0.01", "0.3", "0.999"):
            for z in ("0.3", "1", "4", "50"):
                for order in ("1", "1.01", "1.5", "2", "3.7", "8", "33", "64.5", "1000"):
                    value = subsampled_gaussian(exact(q), exact(z), exact(order))
                    record("subsampled-gaussian", (q, z, order), value)
        for q in ("1e-3", "0.1", "0.999"):
            for z in ("1", "64", "1048576"):
                for order in ("1000", "8192", "65536"):
                    value = subsampled_gaussian_large(exact(q), exact(z), int(order))
                    record("subsampled-gaussian-large", (q, z, order), value)
        for form in ("tight", "general"):
            for r in ("0.05", "1", "5"):
                for p in ("1e-6", "0.03", "0.7"):
                    for order in ("2", "3", "8", "100"):
                        base = lambda k: k * exact(r)**2 / 2
                        value = amplified(base, exact(p), int(order), form)
                        record(form, (r, p, order), value)
        for beta in ("1e-6", "0.2", "0.5"):
            for drawn in ("1", "2", "8"):
                for p in ("0.03", "0.5"):
                    for order in ("2", "3", "18"):
                        value = pmixed(exact(beta), int(drawn), exact(p), int(order))
                        record("pmixed", (beta, drawn, p, order), value)
        for scale in ("2", "10", "40"):
            for order in ("1.5", "2", "8", "30"):
                for counts in ((60, 3, 1) + 50 * (0,), (40, 30), (100, 0, 0), (200, 5, 5)):
                    with workdps(400):  # q falls to 1e-300
                        value = gnmax(exact(scale), exact(order), [mpf(n) for n in counts])
                    record("gnmax", (scale, order), value, map(str, counts))
        for beta, s, order in (("0.0245", "5", "20"), ("0.0245", "50", "20"), ("0.1", "2", "3"),
                               ("0.001", "10", "1.5"), ("0.01", "3", "2"), ("0.001", "30", "400")):
            value = smooth_release(exact(beta), exact(s), exact(order))
            record("smooth-release", (beta, s, order), value)
        for rho in ("1e-4", "0.02", "0.5", "10"):
            for eps in ("0", "0.1", "1", "8", "60"):
                record("zcdp-delta", (rho, eps), zcdp_delta(exact(rho), exact(eps)))


write_conversions(os.path.join(HERE, "rdp_conversion.txt"))
write_user_levels(os.path.join(HERE, "user_level.txt"))
write_rdp(os.path.join(HERE, "rdp.txt"))
