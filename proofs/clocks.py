"""The lemmas that speak of readings: the horizon, the order of what is issued, the rate and the wait, on both scales.

The exact scale issues `p` units a nanosecond, `p` from 1 to 8. The binary scale issues `t * multiplier >> shift` with
any 64-bit multiplier and a shift of 60 to 127; 2^shift stands as a number `k` of which only that range is used.
"""

import z3

import transitions
from lemmas import M, lemma
from transitions import LAST_ARRIVAL, MAX


class Exact:
    """`p` units a nanosecond."""

    def __init__(self, p):
        self.name = f"exact, p = {p}"
        self.p = p

    def declare(self, claim):
        pass

    def issued(self, claim, reading):
        return reading * self.p

    def quotient(self, claim, units, rules):
        return claim.ceil_div(units, self.p) if rules.rounds_up else claim.floor_div(units, self.p)

    def rate(self):
        return self.p, 1


class Binary:
    """`multiplier / k` units a nanosecond; `wide` shifts are divided in two limbs."""

    def __init__(self, wide):
        self.name = "binary, shift 64 to 127" if wide else "binary, shift 60 to 63"
        self.wide = wide

    def declare(self, claim):
        (self.multiplier,) = claim.words("multiplier")
        low, high = (1, 2**63) if self.wide else (2**60, 2**63)
        self.factor = claim.number(lambda x: x >= low, lambda x: x <= high)
        self.k = self.factor * 2**64 if self.wide else self.factor
        claim.assume(self.multiplier >= 1)

    def issued(self, claim, reading):
        return claim.floor_div(reading * self.multiplier, self.k)

    def quotient(self, claim, units, rules):
        divide = claim.ceil_div if rules.rounds_up else claim.floor_div
        if not self.wide:
            return divide(units * self.k, self.multiplier)
        # The two limbs of `reached_binary`: the early return stands for a quotient of 2^64 or more.
        high = units * self.factor
        return z3.If(high >= self.multiplier, 2**64, divide(high * 2**64, self.multiplier))

    def rate(self):
        return self.multiplier, self.k


SCALES = [Exact(p) for p in range(1, 9)] + [Binary(wide=False), Binary(wide=True)]


def reached(scale, claim, issued, rules):
    """`Rate::reached`."""
    quotient = scale.quotient(claim, issued, rules)
    return z3.If(z3.Or(issued == MAX, quotient > MAX), MAX, quotient)


def horizon(scale, claim, span, rules):
    """`Rate::last_within(LAST_ARRIVAL - span)`, a variant may be off by some."""
    return reached(scale, claim, LAST_ARRIVAL - span + 1, rules) - 1 + rules.horizon_off


def on_each_scale(name, **broken):
    """Registers a lemma once for each scale. A known-bad variant may name the scales on which it shows."""

    def register(build):
        for scale in SCALES:
            variants = {v: rules for v, (rules, shows) in broken.items() if shows(scale)}

            def on_scale(claim, rules, scale=scale):
                scale.declare(claim)
                build(claim, rules, scale)

            lemma(f"{name} ({scale.name})", **variants)(on_scale)
        return build

    return register


def everywhere(scale):
    return True


def where_readings_fall_between_units(scale):
    return isinstance(scale, Binary) or scale.p > 1


def where_a_nanosecond_issues_several_units(scale):
    return not scale.wide if isinstance(scale, Binary) else scale.p > 1


def on_the_binary_scale(scale):
    return isinstance(scale, Binary)


@on_each_scale(
    "the horizon is the last reading at which n(t) + B*U is a word",
    one_later=({"horizon_off": 1}, everywhere),
    one_earlier=({"horizon_off": -1}, everywhere),
)
def horizon_is_exact(claim, rules, scale):
    span = claim.capacity()
    (reading,) = claim.words("reading")
    claim.assume(reading < MAX)
    fits = scale.issued(claim, reading) + span <= LAST_ARRIVAL
    claim.goal = fits == (reading <= horizon(scale, claim, span, rules))


@on_each_scale(
    "n(t) never falls, never runs ahead of the rate, and gains less than one unit over it between two readings",
    it_is_rounded_up=({"issue_rounds_up": True}, on_the_binary_scale),
)
def issue_keeps_the_rate(claim, rules, scale):
    start, end = claim.words("start end")
    claim.assume(start <= end)
    multiplier, k = scale.rate()
    extra = 1 if rules.issue_rounds_up else 0
    before, after = scale.issued(claim, start) + extra, scale.issued(claim, end) + extra
    claim.goal = z3.And(
        before <= after,
        after * k <= end * multiplier,
        (after - before) * k < (end - start) * multiplier + k,
    )


@on_each_scale(
    "the wait is sufficient and minimal, and it is without end only if no reading up to the horizon would do",
    it_is_rounded_down=({"rounds_up": False}, where_readings_fall_between_units),
    it_forgets_the_cost=({"issue_needed": lambda v, units, span, m: transitions.saturating_sub(v, span, m)}, everywhere),
    it_waits_for_one_unit_more=(
        {"issue_needed": lambda v, units, span, m: m.add(transitions.issue_needed(v, units, span, m), 1)},
        everywhere,
    ),
    it_ends_past_the_horizon=(
        {"most_issued": lambda at_horizon, span: LAST_ARRIVAL - span},
        where_a_nanosecond_issues_several_units,
    ),
)
def wait_is_exact(claim, rules, scale):
    """Refused at `now`: at the reading that `NotYet::ready_at` gives the cost fits, one nanosecond before it does not."""
    span = claim.capacity()
    units, arrival = claim.cost(span), claim.arrival()
    now, ready, other = claim.words("now ready other")
    last = claim.number(lambda reading: reading == horizon(scale, claim, span, rules))
    most_issued = rules.most_issued(scale.issued(claim, last), span)
    needed = rules.issue_needed(arrival, units, span, M)
    claim.assume(now <= last, other <= last, z3.Not(fits(claim, scale, arrival, now, units, span)))
    claim.assume(ready == z3.If(needed > most_issued, MAX, reached(scale, claim, needed, rules)))
    ends = z3.And(
        now < ready,
        ready <= last,
        fits(claim, scale, arrival, ready, units, span),
        z3.Not(fits(claim, scale, arrival, ready - 1, units, span)),
    )
    claim.goal = z3.If(ready < MAX, ends, z3.Not(fits(claim, scale, arrival, other, units, span)))


def fits(claim, scale, arrival, reading, units, span):
    return transitions.admits(arrival, scale.issued(claim, reading), units, span, M)
