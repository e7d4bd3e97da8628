"""Financial values out of text, English and Chinese.

`find` reads every value in a text, `same` decides whether two of them are one, `mentions` whether a text holds a value
in any notation, and `find_periods` reads the periods that a text names. Grader, construction rules and miners use
nothing else, so that "the same number" means one thing throughout.

    >>> [v.number for v in find("Net loss of $(1,234) million, down 4.5%")]
    [-1234000000.0, -4.5]
"""

from fiqkit.values.mention import mentions
from fiqkit.values.period import Period, find_periods
from fiqkit.values.scan import find
from fiqkit.values.value import Value, same, same_digits

__all__ = ["Period", "Value", "find", "find_periods", "mentions", "same", "same_digits"]
