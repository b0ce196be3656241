"""The shared vectors: decisions of the model, which a Rust test compares with the code.

    python vectors.py            prints the vectors
    python vectors.py --write    writes them to vectors.csv beside this file
    python vectors.py --check    exit code 1 if vectors.csv is anything else

The columns are described in README.md. The seed is fixed, and the generator of random numbers is written out here, so
the file is the same everywhere.
"""

import sys
from pathlib import Path

import transitions
from axis import Axis
from transitions import LAST_ARRIVAL, MAX, Integers

FILE = Path(__file__).parent / "vectors.csv"
COLUMNS = "rule,tokens,period,capacity,word,now,cost,written,lowered,answer,next,ready_at"
SECOND = 10**9
YEAR = 365 * 86_400 * SECOND

QUOTAS = [  # tokens, period in nanoseconds, capacity; exact where the comment does not say otherwise
    (1, SECOND, 1),
    (3, SECOND, 3),
    (100, 60 * SECOND, 100),
    (500_000, 60 * SECOND, 750_000),
    (2, 1, 5),
    (8, 1, 2**60),
    (8, 7, 1),
    (5, 3, 10),
    (1, YEAR, 1),
    (2_000_000_000, SECOND, 1),
    (9, SECOND, 1),  # binary from here: 9 units a nanosecond
    (10, 1, 1),
    (10, 1, 2**61 - 1),
    (19, 7, 1000),
    (1, SECOND, 2**60),
    (1, YEAR, 2**40),
    (1, 2**63, 2**60),
    (86_400_000_000_007, 86_400 * SECOND, 123_456_789),
]


class Random:
    """SplitMix64."""

    def __init__(self, seed):
        self.state = seed

    def word(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MAX
        z = self.state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MAX
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MAX
        return z ^ (z >> 31)

    def below(self, limit):
        return self.word() * limit >> 64

    def up_to(self, most):
        """1 to `most`, every magnitude alike."""
        bits = 1 + self.below(most.bit_length())
        return min(1 + self.below(1 << bits), most)

    def pick(self, choices):
        return choices[self.below(len(choices))]


def random_quota(random):
    period = random.up_to(100 * YEAR)
    return random.up_to(min(10 * period, 2**61 - 1)), period, random.up_to(2**61 - 1)


def a_reading(random, axis):
    edge = axis.horizon
    near = [0, 1, random.up_to(1000 * SECOND), random.up_to(50 * YEAR), random.up_to(edge)]
    return random.pick(near * 3 + [edge - 1, edge, min(edge + 1, MAX), MAX])


def a_cost(random, axis):
    inside = [1, axis.capacity, random.up_to(axis.capacity), random.up_to(axis.capacity)]
    return random.pick(inside * 4 + [0, axis.capacity + 1, random.word(), MAX])


def a_word(random, axis, now, cost):
    """A word at or beside a point where the answer changes, or any word."""
    issued, units = axis.issued(now), min(cost * axis.unit, axis.span)
    points = [issued, issued + axis.span - units, issued + axis.span, axis.issued(axis.horizon) + axis.span - units]
    word = random.pick(points * 2 + [random.word(), random.up_to(MAX)]) + random.pick([-2, -1, 0, 0, 1, 2])
    return max(0, min(word, LAST_ARRIVAL))


def ready_at(axis, word, now, units):
    """The first reading from `now` on at which `units` fit, if nobody else takes any; MAX if it cannot be counted."""
    needed = transitions.issue_needed(word, units, axis.span, Integers)
    ready = max(now, axis.reached(needed))
    return ready if ready <= axis.horizon else MAX


def acquire(axis, word, now, cost):
    """answer, next word, reading at which it would fit"""
    if not transitions.valid_cost(cost, axis.capacity, Integers):
        return ("zero_cost" if cost == 0 else "over_capacity"), word, ""
    issued, units = axis.issued(now), transitions.units(cost, axis.unit, Integers)
    if now <= axis.horizon and transitions.admits(word, issued, units, axis.span, Integers):
        return "admitted", transitions.admitted(word, issued, units, Integers), ""
    return "not_yet", word, ready_at(axis, word, now, units)


def by_rule(rule, axis, random, word, now, cost):
    """written, lowered, answer, next word, ready_at"""
    issued, units = axis.issued(now), transitions.units_of(cost, axis.unit, Integers)
    if rule == "acquire":
        return "", "", *acquire(axis, word, now, cost)
    if rule == "charge":
        return "", "", "", transitions.charge(word, issued, units, Integers), ""
    if rule == "refund":
        return "", "", "", transitions.refund(word, issued, units, Integers), ""
    written = random.pick([word, max(word - random.up_to(axis.span), 0), min(word + axis.unit, LAST_ARRIVAL)])
    lowered = random.pick([0, 0, axis.unit, random.up_to(axis.span), random.word()])
    return written, lowered, "", transitions.undo(word, issued, units, written, lowered, Integers), ""


def vectors():
    random = Random(20_240_229)
    quotas = QUOTAS + [random_quota(random) for _ in range(32)]
    yield COLUMNS
    for quota in quotas:
        axis = Axis.of(*quota)
        for rule in ["acquire"] * 14 + ["charge"] * 3 + ["refund"] * 3 + ["undo"] * 4:
            now, cost = a_reading(random, axis), a_cost(random, axis)
            word = a_word(random, axis, now, cost)
            row = by_rule(rule, axis, random, word, now, cost)
            yield ",".join(str(field) for field in (rule, *quota, word, now, cost, *row))


def main(arguments):
    text = "\n".join(vectors()) + "\n"
    if arguments == ["--write"]:
        FILE.write_text(text)
    elif arguments == ["--check"]:
        if not FILE.exists() or FILE.read_text() != text:
            print("proofs/vectors.csv is not what proofs/vectors.py gives: run `python proofs/vectors.py --write`")
            return 1
        print(f"proofs/vectors.csv is what proofs/vectors.py gives, {text.count(chr(10)) - 1} vectors")
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
