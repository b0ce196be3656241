"""Proves every lemma and refutes every known-bad variant. Exit code 1 if one comes out otherwise.

    python prove.py
"""

import sys
import time
from types import SimpleNamespace

import z3

import clocks  # noqa: F401  registers its lemmas
from lemmas import LEMMAS, RULES, Claim

TIMEOUT_MS = 60_000


def negation_of(build, rules):
    claim = Claim()
    build(claim, rules)
    solver = z3.Solver()
    solver.set(timeout=TIMEOUT_MS)
    solver.add(*claim.hypotheses, z3.Not(claim.goal))
    return solver


def check(label, build, rules, expected):
    started = time.monotonic()
    solver = negation_of(build, rules)
    result = solver.check()
    verdict = {"unsat": "proved", "sat": "refuted"}.get(str(result), "unknown")
    print(f"{'ok  ' if result == expected else 'FAIL'} {verdict:8} {time.monotonic() - started:6.2f} s  {label}", flush=True)
    if result == z3.sat and result != expected:
        print(f"     counterexample: {solver.model()}")
    return result == expected


def holds_vacuously(build):
    """Whether the hypotheses contradict one another, in which case anything follows from them."""
    claim = Claim()
    build(claim, RULES)
    solver = z3.Solver()
    solver.set(timeout=TIMEOUT_MS)
    solver.add(*claim.hypotheses)
    return solver.check() != z3.sat


def main():
    started = time.monotonic()
    failed = variants = 0
    for name, build, broken in LEMMAS:
        failed += not check(name, build, RULES, z3.unsat)
        if holds_vacuously(build):
            print(f"FAIL no words satisfy the hypotheses of: {name}")
            failed += 1
        for variant, replaced in broken.items():
            rules = SimpleNamespace(**{**vars(RULES), **replaced})
            failed += not check(f"    known bad: {variant}", build, rules, z3.sat)
            variants += 1
    print(f"{len(LEMMAS)} lemmas, {variants} known-bad variants, {failed} failed, {time.monotonic() - started:.1f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
