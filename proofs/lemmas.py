"""The lemmas about the transitions, each with broken rules that must be refuted.

Words are integers from 0 to 2^64 - 1 and the machine's operations wrap at 2^64, so a lemma speaks of every word; no
width is cut down. A lemma that holds is `unsat` when negated. Each names known-bad variants, under which the same
lemma must come out `sat`: a proof that cannot fail proves nothing.
"""

from types import SimpleNamespace

import z3

import transitions
from transitions import LAST_ARRIVAL, MAX

WORDS = 2**64


class Symbols:
    """The machine's operations on integer terms."""

    add = staticmethod(lambda a, b: z3.If(a + b >= WORDS, a + b - WORDS, a + b))
    sub = staticmethod(lambda a, b: z3.If(a < b, a - b + WORDS, a - b))
    mul = staticmethod(lambda a, b: (a * b) % WORDS)
    saturating_mul = staticmethod(lambda a, b: z3.If(a * b > MAX, MAX, a * b))
    choose = staticmethod(z3.If)


M = Symbols
RULES = SimpleNamespace(
    valid_cost=transitions.valid_cost,
    units=transitions.units,
    admits=transitions.admits,
    admitted=transitions.admitted,
    issue_needed=transitions.issue_needed,
    charge=transitions.charge,
    refund=transitions.refund,
    undo=transitions.undo,
    holding=transitions.holding,
    tokens_round_up=False,
    refunds_are_counted=True,
    rounds_up=True,
    issue_rounds_up=False,
    horizon_off=0,
    horizon_is_kept=True,
    most_issued=lambda at_horizon, span: at_horizon,
)

LEMMAS = []


class Claim:
    """Hypotheses and a goal, with helpers that declare words."""

    def __init__(self):
        self.hypotheses = []
        self.goal = None
        self.fresh = 0

    def assume(self, *facts):
        self.hypotheses.extend(facts)

    def words(self, names):
        words = z3.Ints(names)
        self.assume(*(z3.And(0 <= word, word <= MAX) for word in words))
        return words

    def number(self, *bounds):
        """A new integer that satisfies the bounds, each a function of it."""
        self.fresh += 1
        number = z3.Int(f"x{self.fresh}")
        self.assume(*(bound(number) for bound in bounds))
        return number

    def floor_div(self, a, b):
        return self.number(lambda x: x * b <= a, lambda x: a < (x + 1) * b)

    def ceil_div(self, a, b):
        return self.number(lambda x: x * b >= a, lambda x: a > (x - 1) * b)

    def capacity(self):
        (span,) = self.words("span")
        self.assume(span >= 1, span < 2**61)
        return span

    def cost(self, span):
        (units,) = self.words("units")
        self.assume(units >= 1, units <= span)
        return units

    def arrival(self, name="arrival"):
        (arrival,) = self.words(name)
        self.assume(arrival <= LAST_ARRIVAL)
        return arrival

    def issued(self, span, name="issued", within_horizon=True):
        """Units issued by some reading, within the horizon: see the lemma on the horizon."""
        (issued,) = self.words(name)
        if within_horizon:
            self.assume(issued + span <= LAST_ARRIVAL)
        return issued


def lemma(name, **broken):
    """Registers a lemma; `broken` maps the name of each known-bad variant to the rules it replaces."""

    def register(build):
        LEMMAS.append((name, build, {variant.replace("_", " "): rules for variant, rules in broken.items()}))
        return build

    return register


def greater(a, b):
    return z3.If(a >= b, a, b)


# ---- costs and words -------------------------------------------------------------------------------------------------


@lemma(
    "a valid cost is at most the capacity, and its units do not wrap",
    the_capacity_is_not_looked_at={"valid_cost": lambda cost, capacity, m: cost >= 1},
    zero_is_valid={"valid_cost": lambda cost, capacity, m: cost <= capacity},
)
def cost_in_units(claim, rules):
    cost, capacity, unit = claim.words("cost capacity unit")
    claim.assume(capacity >= 1, unit >= 1, capacity * unit < 2**61, rules.valid_cost(cost, capacity, M))
    units = rules.units(cost, unit, M)
    claim.goal = z3.And(units == cost * unit, units >= 1, units <= capacity * unit)


@lemma(
    "complete: admitted exactly if max(V, n) + c*U <= n + B*U, and the next word is max(V, n) + c*U",
    the_last_token_is_refused={
        "admits": lambda v, n, units, span, m: v < m.add(n, m.sub(span, units))
    },
    both_sides_wrap={"admits": lambda v, n, units, span, m: m.add(v, units) <= m.add(n, span)},
    a_reading_past_the_horizon_counts={"horizon_is_kept": False},
)
def complete(claim, rules):
    span = claim.capacity()
    units, arrival = claim.cost(span), claim.arrival()
    issued = claim.issued(span, within_horizon=rules.horizon_is_kept)
    admits = rules.admits(arrival, issued, units, span, M)
    new = greater(arrival, issued) + units
    claim.goal = z3.And(
        admits == (new <= issued + span),
        z3.Implies(admits, rules.admitted(arrival, issued, units, M) == new),
    )


@lemma(
    "monotone: no admission and no charge lowers the word",
    an_old_reading_overwrites={"admitted": lambda v, n, units, m: m.add(n, units)},
    a_charge_wraps={"charge": lambda v, n, units, m: m.add(greater(v, n), units)},
)
def monotone(claim, rules):
    span = claim.capacity()
    units, arrival, issued = claim.cost(span), claim.arrival(), claim.issued(span)
    (any_units,) = claim.words("any_units")
    admits = rules.admits(arrival, issued, units, span, M)
    claim.goal = z3.And(
        z3.Implies(admits, rules.admitted(arrival, issued, units, M) > arrival),
        rules.charge(arrival, issued, any_units, M) >= arrival,
    )


@lemma(
    "bounded: an admission leaves the word at most n + B*U, and never the reserved word",
    the_cost_is_not_looked_at={"admits": lambda v, n, units, span, m: v <= m.add(n, span)},
    loose_conformance={"admits": lambda v, n, units, span, m: v < m.add(n, span)},
)
def bounded(claim, rules):
    span = claim.capacity()
    units, arrival, issued = claim.cost(span), claim.arrival(), claim.issued(span)
    word = rules.admitted(arrival, issued, units, M)
    claim.goal = z3.Implies(
        rules.admits(arrival, issued, units, span, M),
        z3.And(word <= issued + span, word <= LAST_ARRIVAL),
    )


@lemma(
    "interval step: what is admitted at readings in [s, e] stays within B*U + n(e) - n(s), in any order of readings",
    idle_credit_piles_up={"admitted": lambda v, n, units, m: m.add(v, units)},
    an_old_reading_overwrites={"admitted": lambda v, n, units, m: m.add(n, units)},
    loose_conformance={"admits": lambda v, n, units, span, m: v < m.add(n, span)},
    a_charge_overwrites={"charge": lambda v, n, units, m: m.add(n, units)},
)
def interval_step(claim, rules):
    """One step keeps the invariant `total = 0 or V >= n(s) + total` and `total <= B*U + n(e) - n(s)`."""
    span = claim.capacity()
    units, arrival, issued = claim.cost(span), claim.arrival(), claim.issued(span)
    start, end = claim.issued(span, "start"), claim.issued(span, "end")
    (debt,) = claim.words("debt")
    total = claim.number(lambda total: total >= 0)
    claim.assume(start <= end)

    def invariant(word, total):
        return z3.And(z3.Or(total == 0, word >= start + total), total <= span + end - start)

    inside = z3.And(start <= issued, issued <= end)
    admits = rules.admits(arrival, issued, units, span, M)
    after = z3.If(inside, total + units, total)
    claim.assume(invariant(arrival, total))
    claim.goal = z3.And(
        z3.Implies(admits, invariant(rules.admitted(arrival, issued, units, M), after)),
        invariant(rules.charge(arrival, issued, debt, M), total),
    )


@lemma(
    "a charge is exact up to the last word, where it saturates; it never wraps and never writes the reserved word",
    it_wraps={"charge": lambda v, n, units, m: m.add(greater(v, n), units)},
    it_saturates_at_the_reserved_word={
        "charge": lambda v, n, units, m: transitions.saturating_add(greater(v, n), units, m)
    },
)
def charge_saturates(claim, rules):
    arrival, issued = claim.arrival(), claim.arrival("issued")
    (units,) = claim.words("units")
    exact = greater(arrival, issued) + units
    claim.goal = rules.charge(arrival, issued, units, M) == z3.If(exact <= LAST_ARRIVAL, exact, LAST_ARRIVAL)


@lemma(
    "a refund lowers the word by at most its units, and never below what is issued",
    no_clamp={"refund": lambda v, n, units, m: transitions.saturating_sub(v, units, m)},
    down_to_what_is_issued={"refund": lambda v, n, units, m: transitions.smaller(v, n, m)},
)
def refund_clamps(claim, rules):
    arrival, issued = claim.arrival(), claim.arrival("issued")
    (units,) = claim.words("units")
    word = rules.refund(arrival, issued, units, M)
    lowest = z3.If(arrival <= issued, arrival, issued)
    claim.goal = z3.And(lowest <= word, word <= arrival, arrival - word <= units, z3.Or(
        arrival - word == units, word == lowest
    ))


@lemma(
    "a bucket made to hold some tokens has them available and no more, and what is available is admitted",
    tokens_are_rounded_up={"tokens_round_up": True},
    holds_one_unit_less={
        "holding": lambda n, tokens, unit, span, m: m.add(transitions.holding(n, tokens, unit, span, m), 1)
    },
)
def available_is_admitted(claim, rules):
    """Whole tokens at a deficit: `held` of the word that `holding` makes, `there` of any word."""
    capacity, unit, tokens = claim.words("capacity unit tokens")
    span = claim.capacity()
    claim.assume(capacity >= 1, unit >= 1, span == capacity * unit, tokens <= capacity)
    arrival, issued = claim.arrival(), claim.issued(span)
    divide = claim.ceil_div if rules.tokens_round_up else claim.floor_div

    def available(word):
        deficit = transitions.saturating_sub(word, issued, M)
        return divide(transitions.left(deficit, span, M), unit)

    made, there = rules.holding(issued, tokens, unit, span, M), available(arrival)
    admits = lambda tokens: transitions.admits(arrival, issued, tokens * unit, span, M)
    claim.goal = z3.And(
        made <= LAST_ARRIVAL,
        available(made) == tokens,
        z3.Implies(there >= 1, admits(there)),
        z3.Implies(there < capacity, z3.Not(admits(there + 1))),
    )


# ---- the prompt undo -------------------------------------------------------------------------------------------------


@lemma(
    "a prompt undo gives back no more than the exact rule with full history",
    the_plain_clamp={"undo": lambda v, n, units, written, lowered, m: transitions.refund(v, n, units, m)},
    other_refunds_are_not_counted={
        "undo": lambda v, n, units, written, lowered, m: transitions.undo(v, n, units, written, 0, m)
    },
)
def undo_within_exact(claim, rules):
    """`remembered` is the deficit at any moment since the charge, less what refunds since then took from it.

    The invariant of `undo_step` holds, the rule reads a reading no older than any before it.
    """
    arrival, written = claim.arrival(), claim.arrival("written")
    issued = claim.arrival("issued")
    units, lowered, remembered = claim.words("units lowered remembered")
    claim.assume(undo_invariant(arrival, written, issued, lowered, remembered))
    word = rules.undo(arrival, issued, units, written, lowered, M)
    claim.goal = z3.And(word <= arrival, arrival - word <= units, arrival - word <= remembered)


def undo_invariant(arrival, written, issued, lowered, remembered):
    """The word has not fallen below `written - lowered`, nor a deficit since the charge below that less what is issued."""
    return z3.And(arrival >= written - lowered, remembered >= written - lowered - issued)


@lemma(
    "the invariant behind the undo survives time, raises and refunds, when every refund is counted",
    a_refund_is_not_counted={"refunds_are_counted": False},
    a_raise_lowers={"charge": lambda v, n, units, m: m.add(n, units)},
)
def undo_step(claim, rules):
    arrival, written = claim.arrival(), claim.arrival("written")
    issued, later = claim.arrival("issued"), claim.arrival("later")
    units, lowered, remembered, given = claim.words("units lowered remembered given")
    claim.assume(issued <= later, undo_invariant(arrival, written, issued, lowered, remembered))
    raised = rules.charge(arrival, later, units, M)
    now = z3.If(arrival >= later, arrival - later, 0)
    # A refund of `given` by someone else: at most the deficit; it takes `given` from what is remembered, or nothing if
    # the remembered moment lies before that charge.
    less = z3.If(remembered >= given, remembered - given, 0)
    after = rules.refund(arrival, later, given, M)
    counted = lowered + given if rules.refunds_are_counted else lowered
    claim.goal = z3.And(
        undo_invariant(arrival, written, later, lowered, remembered),
        undo_invariant(arrival, written, later, lowered, now),
        undo_invariant(raised, written, later, lowered, remembered),
        undo_invariant(after, written, later, counted, remembered),
        undo_invariant(after, written, later, counted, less),
        undo_invariant(arrival, written, later, lowered + given, remembered),
    )
