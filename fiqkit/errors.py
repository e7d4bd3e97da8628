"""The one exception that a person is meant to read."""

from importlib.util import find_spec


class UserError(Exception):
    """Bad input: one line that says what is wrong, where, and how to mend it.

    The command line prints it without a traceback and exits with code 2. Anything else that escapes is a bug and keeps
    its traceback.
    """


class MissingExtra(UserError):
    """A feature needs an optional dependency that is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f'{feature} needs packages that are not installed: pip install "fiqkit[{extra}]"')


def need(feature: str, extra: str, *modules: str) -> None:
    """Say now, and not in the middle of the work, that a feature lacks packages. Imports nothing.

    Raises:
        MissingExtra: one of the modules cannot be found.
    """
    if any(find_spec(module) is None for module in modules):
        raise MissingExtra(feature, extra)
