"""The one exception that a person is meant to read."""


class UserError(Exception):
    """Bad input: one line that says what is wrong, where, and how to mend it.

    The command line prints it without a traceback and exits with code 2. Anything else that escapes is a bug and keeps
    its traceback.
    """


class MissingExtra(UserError):
    """A feature needs an optional dependency that is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f'{feature} needs packages that are not installed: pip install "fiqkit[{extra}]"')
