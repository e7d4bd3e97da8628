"""Financial values out of text, English and Chinese.

`find` reads every value in a text, whatever its markup (`plain` strips that), `same` decides whether two of them are
one, `mentions` whether a text holds a value in any notation; `find_periods` reads the periods that a text names,
`find_years` every mention of a year, and `split_comparison` tells the years reported on from those compared against.
Simulator, grader, construction rules and miners use nothing else, so that "the same number" and "the same year" mean
one thing throughout.

    >>> [v.number for v in find("Net loss of $(1,234) million, down 4.5%")]
    [-1234000000.0, -4.5]
"""

from fiqkit.values.compared import split_comparison
from fiqkit.values.markup import Plain, plain
from fiqkit.values.mention import mentions
from fiqkit.values.period import Period, find_periods, find_years
from fiqkit.values.scan import find, find_in_plain
from fiqkit.values.sentences import sentence_ends
from fiqkit.values.units import stated_scale
from fiqkit.values.value import Value, same, same_digits

__all__ = [
    "Period",
    "Plain",
    "Value",
    "find",
    "find_in_plain",
    "find_periods",
    "find_years",
    "mentions",
    "plain",
    "same",
    "same_digits",
    "sentence_ends",
    "split_comparison",
    "stated_scale",
]
