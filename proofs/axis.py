"""The axis of `src/axis.rs` in plain integers, from its definition in `GUARANTEES` section 1."""

from dataclasses import dataclass
from math import gcd

from transitions import LAST_ARRIVAL, MAX

SPAN_LIMIT = 2**61
MAX_SHIFT = 127


def ceil_div(a, b):
    return -(-a // b)


@dataclass(frozen=True)
class Axis:
    """`multiplier / 2**shift` units a nanosecond (the exact scale has shift 0), `unit` units a token."""

    multiplier: int
    shift: int
    unit: int
    capacity: int

    @staticmethod
    def of(tokens, period, capacity):
        """The exact scale where it fits, else the finest binary one."""
        divisor = gcd(tokens, period)
        p, q = tokens // divisor, period // divisor
        if p <= 8 and capacity * q < SPAN_LIMIT:
            return Axis(p, 0, q, capacity)
        fits = [f for f in range(1, 61) if capacity << f < SPAN_LIMIT and p << f <= 2 * q]
        fraction = max(fits, default=0)
        shift = next((s for s in range(MAX_SHIFT) if (p << fraction + s) // q >= 2**63), MAX_SHIFT)
        return Axis((p << fraction + shift) // q, shift, 1 << fraction, capacity)

    @property
    def is_exact(self):
        return self.shift == 0

    @property
    def span(self):
        return self.capacity * self.unit

    @property
    def horizon(self):
        """The last reading at which what is issued, and a capacity more, is a word."""
        return self.reached(LAST_ARRIVAL - self.span + 1) - 1

    def issued(self, reading):
        """Units issued by a reading; past the horizon nothing more is issued."""
        return min(reading, self.horizon) * self.multiplier >> self.shift

    def reached(self, issued):
        """The first reading at which so many units have been issued; MAX if there is none."""
        return min(ceil_div(issued << self.shift, self.multiplier), MAX)
