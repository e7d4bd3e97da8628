"""How much of a reply is read: bounded by what it unpacks to, whatever its headers say."""

import asyncio
import gzip

import pytest
from aiohttp import web

from fiqkit.models.served.faults import Fault
from fiqkit.models.served.http import exchange, open_session

REPLY = b'{"a": 1}'
PADDED = REPLY + b" " * 100_000


async def exchanged(response: web.StreamResponse, limit: int = 1000) -> object:
    async def answer(_request: web.BaseRequest) -> web.StreamResponse:
        return response

    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    session = open_session({})
    try:
        return await exchange(session, f"http://127.0.0.1:{runner.addresses[0][1]}/", b"{}", 5.0, limit)
    finally:
        await session.close()
        await runner.cleanup()


def response(body: bytes, *, packed: bool = False, chunked: bool = False) -> web.Response:
    made = web.Response(body=gzip.compress(body) if packed else body)
    if packed:
        made.headers["Content-Encoding"] = "gzip"
    if chunked:
        made.enable_chunked_encoding()
    return made


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("chunked", [False, True])
def test_a_reply_is_read_up_to_the_limit(packed: bool, chunked: bool) -> None:
    assert asyncio.run(exchanged(response(REPLY, packed=packed, chunked=chunked))) == {"a": 1}
    assert asyncio.run(exchanged(response(REPLY, packed=packed, chunked=chunked), limit=len(REPLY))) == {"a": 1}
    assert len(gzip.compress(PADDED)) < 1000
    with pytest.raises(Fault, match="longer than 1,000 bytes"):
        asyncio.run(exchanged(response(PADDED, packed=packed, chunked=chunked)))
