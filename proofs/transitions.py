"""The rules of `src/gcra.rs`, written once over an abstract 64-bit word.

The proof (`lemmas.py`) reads them over symbols, the shared vectors (`vectors.py`) over Python's integers, so what is
proven and what the Rust code is compared with are the same text. Every operation is the machine's: `add`, `sub` and
`mul` wrap unless their name says that they saturate. `arrival` is the state word, `issued` the units issued by the
reading, `units` a cost, `span` the capacity in units (`GUARANTEES` section 1).
"""

MAX = 2**64 - 1
LAST_ARRIVAL = MAX - 1  # MAX itself is reserved for a word that has moved


class Integers:
    """The machine's operations on Python's integers."""

    add = staticmethod(lambda a, b: (a + b) & MAX)
    sub = staticmethod(lambda a, b: (a - b) & MAX)
    mul = staticmethod(lambda a, b: (a * b) & MAX)
    saturating_mul = staticmethod(lambda a, b: min(a * b, MAX))
    choose = staticmethod(lambda condition, a, b: a if condition else b)


def smaller(a, b, m):
    return m.choose(a <= b, a, b)


def saturating_add(a, b, m):
    return m.choose(m.add(a, b) < a, MAX, m.add(a, b))


def saturating_sub(a, b, m):
    return m.choose(a <= b, 0, m.sub(a, b))


def valid_cost(cost, capacity, m):
    """Whether a cost can ever be admitted: 1 to the capacity."""
    return m.sub(cost, 1) < capacity


def units(cost, unit, m):
    """Units of a valid cost."""
    return m.mul(cost, unit)


def units_of(cost, unit, m):
    """Units of a cost that does not ask."""
    return m.saturating_mul(cost, unit)


def spare(units, span, m):
    """What a cost leaves of a full bucket: the largest deficit at which it is admitted."""
    return m.sub(span, units)


def admits(arrival, issued, units, span, m):
    """Whether `units`, at most the capacity, are there."""
    return arrival <= m.add(issued, spare(units, span, m))


def admitted(arrival, issued, units, m):
    """The next word after an admission."""
    return m.add(m.choose(arrival > issued, arrival, issued), units)


def issue_needed(arrival, units, span, m):
    """What must have been issued before `units` fit."""
    return saturating_sub(arrival, spare(units, span, m), m)


def charge(arrival, issued, units, m):
    """The next word when `units` are charged without asking: debt, which saturates."""
    ahead = m.choose(arrival <= issued, issued, arrival)
    return smaller(saturating_add(ahead, units, m), LAST_ARRIVAL, m)


def refund(arrival, issued, units, m):
    """The next word when `units` are given back, up to a full bucket."""
    return m.sub(arrival, smaller(units, saturating_sub(arrival, issued, m), m))


def undo(arrival, issued, units, written, lowered, m):
    """The next word when a charge of `units` that wrote `written` is undone by the prompt rule.

    `lowered` is what others may have given back since the charge.
    """
    least_deficit = saturating_sub(saturating_sub(written, lowered, m), issued, m)
    return refund(arrival, issued, smaller(units, least_deficit, m), m)


def holding(issued, tokens, unit, span, m):
    """The word of a bucket that holds `tokens`, at most the capacity."""
    return m.add(issued, m.sub(span, m.mul(tokens, unit)))


def left(deficit, span, m):
    """What is there at a deficit, in units; whole tokens are this divided by the unit, rounded down."""
    return saturating_sub(span, deficit, m)
