"""How many requests one server should have in flight: grown while that pays, shrunk when it does not."""

from __future__ import annotations

PAYS = 0.3  # share of a proportional gain in throughput that a larger window must bring to be kept
TRIES = 3  # rounds that must agree before the window is made smaller: one slow round may be anybody's fault
REST = 8  # rounds at the knee before the next step up is tried
SLOWER = 2.0  # time per token, against that at the knee, from which the server is busy with somebody else's work


class Window:
    """A limit on requests in flight that follows latency as well as errors.

    The server's throughput follows from the time that requests take (Little's law: limit ÷ time per output token), so
    nothing but the replies is needed. A round is `limit` replies, at least 16. The limit doubles from round to round
    while each doubling brings at least `PAYS` of a proportional gain. A step that does not pay in any of `TRIES` rounds
    is taken back; that is the knee. After `REST` rounds there it tries steps of a quarter under the same rule. It falls
    by three tenths when the server says that it is overloaded, at most once a round, and when a token takes `SLOWER`
    times as long as before for `TRIES` rounds. In doubt it stays large: a server queues what is too much, but what is
    too little is lost.

    Attributes:
        limit: requests that may be in flight now.
    """

    def __init__(self, most: int, start: int = 16) -> None:
        self.most = most
        self.limit = min(start, most)
        self._doubling = True
        self._knee: tuple[int, float] | None = None  # the limit that last paid, and its seconds per token
        self._against = 0  # rounds in a row that speak for a smaller window
        self._rest = 0
        self._new_round()

    def _new_round(self) -> None:
        self._replies = 0
        self._seconds = 0.0
        self._tokens = 0
        self._full = False
        self._fell = False

    def replied(self, seconds: float, tokens: int, in_flight: int) -> None:
        """Count one reply in: what it took, what it held, and how many were in flight with it, itself included."""
        self._replies += 1
        self._seconds += seconds
        self._tokens += max(1, tokens)
        self._full = self._full or in_flight >= self.limit
        if self._replies >= max(16, self.limit):
            if self._full and not self._fell:
                self._judge(self._seconds / self._tokens)
            self._new_round()

    def overloaded(self) -> None:
        """The server refused or timed out: fall, once a round."""
        if not self._fell:
            self._fell = True
            self._fall()

    def _fall(self) -> None:
        self.limit = max(1, int(self.limit * 0.7))
        self._doubling = False
        self._knee = None
        self._against = 0
        self._rest = 1

    def _judge(self, cost: float) -> None:
        """Draw the conclusion of a round whose replies took `cost` seconds a token."""
        if self._knee is None:
            self._knee = (self.limit, cost)
        limit, before = self._knee
        growth = self.limit / limit
        good = growth * before / cost >= 1 + PAYS * (growth - 1) if growth > 1 else cost <= SLOWER * before
        self._against = 0 if good else self._against + 1
        if self._against >= TRIES:
            self._shrink()
        elif good and growth == 1 and self._rest:
            self._rest -= 1
            self._knee = (limit, 0.8 * before + 0.2 * cost)  # the work may change slowly: other turns, other lengths
        elif good:
            self._knee = (self.limit, cost)
            more = self.limit if self._doubling else max(1, self.limit // 4)
            self.limit = min(self.most, self.limit + more)

    def _shrink(self) -> None:
        """Back to the knee, or below it if that is where the window is."""
        assert self._knee is not None
        if self.limit > self._knee[0]:
            self.limit, self._doubling, self._rest, self._against = self._knee[0], False, REST, 0
        else:
            self._fall()
