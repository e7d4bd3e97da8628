"""What this process may reach over a network: its own machine, and hosts that were allowed by name.

`enforce()` comes before any other import of a command. It sets the variables that keep other libraries from their hubs
and their telemetry, in child processes too, and installs a Python audit hook that refuses every connection, datagram
and name look-up that would leave the machine:

    a connection to api.example.com was refused: nothing leaves this machine; allow it with --allow-host api.example.com

A hook sees what Python does. What C code does by itself (llama.cpp, NCCL, a child that is no Python) is out of its
sight: `isolate()` takes the network away from the process and its children instead.
"""

from __future__ import annotations

import ipaddress
import os
import sys
import threading
from typing import Any

from fiqkit.errors import UserError

# Set, not merely defaulted: a shell profile that turns a hub on for other work must not open this kit.
VARIABLES = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_UPDATE_CHECK": "1",
    "USE_HUB_KERNELS": "NO",  # transformers would fetch compiled code
    "DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_DO_NOT_TRACK": "1",
    "VLLM_HOST_IP": "127.0.0.1",  # else it finds its own address by a socket towards a public one
    "RAY_USAGE_STATS_ENABLED": "0",
    "WANDB_MODE": "disabled",
}

_CONNECTING = ("socket.connect", "socket.sendto", "socket.sendmsg")
_NAMING = ("socket.getaddrinfo", "socket.gethostbyname")
_INTERNET = ("AF_INET", "AF_INET6")

_lock = threading.RLock()
_allowed: set[str] = set()  # host names and addresses, lower case
_addresses: set[str] = set()  # what the allowed names resolve to
_enforced = False
_isolated = False


class OfflineError(UserError, PermissionError):
    """A connection that would leave the machine; an `OSError` too, as libraries expect of a connection that fails."""

    def __str__(self) -> str:
        return str(self.args[0])


def enforce() -> None:
    """Set the variables and install the hook. Safe to call again; there is no way back within the process."""
    global _enforced
    os.environ.update(VARIABLES)
    with _lock:
        if not _enforced:
            _enforced = True
            # Some processors make bitsandbytes ask a hub for compiled code where the package `kernels` is installed.
            sys.modules.setdefault("kernels", None)  # type: ignore[arg-type]
            sys.addaudithook(_hook)


def allow(host: str) -> None:
    """Let this process connect to a host, by name or address, on any port.

    Raises:
        UserError: not a host; a URL, a port or a wildcard is not meant here.
    """
    name = _normal(host)
    if not name or any(mark in name for mark in "/*?#@ \t\n") or (":" in name and not _is_address(name)):
        raise UserError(f"--allow-host {host!r}: give a host's name or address alone, such as api.example.com")
    if not is_local(name):
        with _lock:
            _allowed.add(name)


def allow_server(host: str, who: str) -> None:
    """Allow the server that a model was given by URL: naming it is permission enough.

    Raises:
        UserError: the process is isolated, and no running server can be reached from it.
    """
    if _isolated:
        raise UserError(
            f"{who}: --isolate leaves no way to the server at {host}; run it without, or a model in process"
        )
    allow(host)


def state() -> dict[str, Any]:
    """What a manifest records: whether the hook stands, which hosts were allowed, whether there is a network at all."""
    return {"enforced": _enforced, "allowed_hosts": sorted(_allowed), "isolated": _isolated}


def _normal(host: str) -> str:
    return host.strip().strip("[]").rstrip(".").partition("%")[0].lower()


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_local(host: str) -> bool:
    """Whether a host is this machine by its very name: loopback, the unspecified address, `localhost`, or nothing."""
    name = _normal(host)
    if name in ("", "localhost", "localhost.localdomain", "ip6-localhost") or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback or address.is_unspecified


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _CONNECTING:
        sock, address = arguments[0], arguments[-1]
        if getattr(sock.family, "name", "") in _INTERNET and isinstance(address, tuple):
            _check(str(address[0]))
    elif event in _NAMING and arguments[0] is not None:
        host = arguments[0]
        _check(host.decode("ascii", "replace") if isinstance(host, bytes) else str(host))


def _check(host: str) -> None:
    name = _normal(host)
    if is_local(name):
        return
    with _lock:
        if name in _allowed or name in _addresses:
            return
        if _is_address(name) and _resolves_to(name):
            return
    raise OfflineError(
        f"a connection to {name} was refused: nothing leaves this machine; allow it with --allow-host {name}"
    )


def _resolves_to(address: str) -> bool:
    """Whether an allowed name has this address. Looked up again each time it is not known: addresses change."""
    import socket

    for name in sorted(_allowed):
        try:
            _addresses.update(str(found[4][0]) for found in socket.getaddrinfo(name, None))
        except OSError:
            continue
    return address in _addresses


# --- no network at all ----------------------------------------------------------------------------------------------

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1


def isolate() -> None:
    """Move this process into a network namespace of its own in which only loopback exists (Linux).

    Children inherit it, and so does every library, whatever it is written in. It must come first: a process that has
    started threads cannot change its user namespace. Servers that already run on this machine are out of its reach.

    Raises:
        UserError: the system does not allow it.
    """
    global _isolated
    user, group = os.getuid(), os.getgid()
    try:
        if user == 0:
            _unshare(_CLONE_NEWNET)
        else:
            _unshare(_CLONE_NEWUSER | _CLONE_NEWNET)
            _write("/proc/self/setgroups", "deny")
            _write("/proc/self/uid_map", f"{user} {user} 1")
            _write("/proc/self/gid_map", f"{group} {group} 1")
        _loopback_up()
    except (OSError, AttributeError) as error:
        raise UserError(
            f"--isolate: this system gives no network namespace of its own ({error}); run it as root, or inside "
            "`unshare --user --map-root-user --net`"
        ) from error
    _isolated = True


def _unshare(flags: int) -> None:
    import ctypes
    import errno

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(flags):
        number = ctypes.get_errno()
        raise OSError(number, errno.errorcode.get(number, "unshare failed"))


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:  # noqa: PTH123 - pathlib would be one more import at start-up
        file.write(text)


def _loopback_up() -> None:
    import fcntl
    import socket
    import struct

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(sock, _SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(sock, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | _IFF_UP))
