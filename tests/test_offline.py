"""Nothing leaves the machine: the hook, the hosts that were allowed, and a process without a network."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fiqkit import offline
from fiqkit.errors import UserError

PRELUDE = "import socket; from fiqkit import offline; offline.enforce(); "


def in_a_process(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PRELUDE + code], capture_output=True, text=True, env={**os.environ, **variables}
    )


@pytest.mark.parametrize(
    ("code", "host"),
    [
        ("socket.create_connection(('192.0.2.7', 443), 1)", "192.0.2.7"),
        ("socket.create_connection(('2001:db8::7', 443), 1)", "2001:db8::7"),
        ("socket.socket().connect_ex(('192.0.2.7', 443))", "192.0.2.7"),
        ("socket.getaddrinfo('api.example.com', 443)", "api.example.com"),
        ("socket.gethostbyname('API.Example.com.')", "api.example.com"),
        ("socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.7', 53))", "192.0.2.7"),
        ("socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendmsg([b'x'], [], 0, ('192.0.2.7', 53))", "192.0.2.7"),
        ("socket.create_connection(('localhost.example.com', 80), 1)", "localhost.example.com"),
        ("socket.create_connection(('::ffff:192.0.2.7', 80), 1)", "::ffff:192.0.2.7"),
    ],
)
def test_what_would_leave_the_machine_is_refused_by_name(code: str, host: str) -> None:
    done = in_a_process(code)
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 1
    assert last.endswith(
        f"a connection to {host} was refused: nothing leaves this machine; allow it with --allow-host {host}"
    )


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "localhost", "::1"])
def test_this_machine_is_reached(host: str) -> None:
    family = "AF_INET6" if ":" in host else "AF_INET"
    code = (
        f"server = socket.socket(socket.{family}); server.bind(({host!r}, 0)); server.listen(); "
        f"socket.create_connection(({host!r}, server.getsockname()[1]), 5); print('reached')"
    )
    done = in_a_process(code)
    if "Cannot assign requested address" in done.stderr:
        pytest.skip(f"no {host} on this machine")
    assert done.stdout == "reached\n", done.stderr


def test_unix_sockets_are_none_of_its_business(tmp_path: Path) -> None:
    code = (
        "server = socket.socket(socket.AF_UNIX); server.bind('s'); server.listen(); "
        "socket.socket(socket.AF_UNIX).connect('s'); print('reached')"
    )
    done = subprocess.run([sys.executable, "-c", PRELUDE + code], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout == "reached\n", done.stderr


def test_an_allowed_host_is_let_through_to_the_system() -> None:
    # The name resolves nowhere: what comes back is the resolver's own error, not a refusal.
    done = in_a_process("offline.allow('host.invalid'); socket.create_connection(('host.invalid', 80), 1)")
    assert done.returncode == 1
    assert "gaierror" in done.stderr
    assert "refused: nothing leaves" not in done.stderr


def test_the_address_of_an_allowed_name_is_allowed() -> None:
    code = (
        "real = socket.getaddrinfo\n"
        "socket.getaddrinfo = lambda host, port, *rest, **more: [(2, 1, 6, '', ('192.0.2.7', 0))]\n"
        "offline.allow('api.example.com')\n"
        "offline._check('192.0.2.7'); print('known')\n"
        "offline._check('192.0.2.8')"
    )
    done = subprocess.run([sys.executable, "-c", PRELUDE.strip() + "\n" + code], capture_output=True, text=True)
    assert done.stdout == "known\n", done.stderr
    assert "192.0.2.8 was refused" in done.stderr


@pytest.mark.parametrize("host", ["", "https://api.example.com", "api.example.com:443", "*", "two hosts", "me@host"])
def test_what_is_no_host_cannot_be_allowed(host: str) -> None:
    with pytest.raises(UserError, match="a host's name or address alone"):
        offline.allow(host)


def test_every_hub_and_every_telemetry_is_off_in_children_too() -> None:
    names = ("HF_HUB_OFFLINE", "VLLM_NO_USAGE_STATS", "USE_HUB_KERNELS")
    child = f"import os; print(*(os.environ[name] for name in {names!r}))"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}], check=True)"
    assert in_a_process(code, HF_HUB_OFFLINE="0").stdout == "1 1 NO\n"


def test_the_package_that_fetches_compiled_code_cannot_be_imported(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text("def get_kernel(*a, **k): print('FETCHED')\n")
    code = "import importlib.util; print(importlib.util.find_spec('kernels')); import kernels"
    done = in_a_process(code, PYTHONPATH=f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    assert done.stdout == "None\n"
    assert "ModuleNotFoundError" in done.stderr


@pytest.mark.slow
def test_transformers_loads_with_that_package_shut_out() -> None:
    done = in_a_process("from transformers import AutoModelForCausalLM, Qwen3ForCausalLM; print('loaded')")
    assert done.stdout == "loaded\n", done.stderr


# --- no network at all ----------------------------------------------------------------------------------------------


def isolated(code: str) -> subprocess.CompletedProcess[str]:
    done = in_a_process(f"offline.isolate(); {code}")
    if "gives no network namespace" in done.stderr:
        pytest.skip("this system gives no network namespace")
    return done


def test_an_isolated_process_has_loopback_and_nothing_else() -> None:
    code = (
        "server = socket.socket(); server.bind(('127.0.0.1', 0)); server.listen(); "
        "socket.create_connection(server.getsockname(), 5); "
        "print([name for _, name in socket.if_nameindex()], offline.state()['isolated'])"
    )
    assert isolated(code).stdout == "['lo'] True\n"


def test_what_no_hook_sees_has_no_network_either() -> None:
    # A child that is no Python: the routing table holds its heading alone.
    code = "import subprocess; print(subprocess.check_output(['cat', '/proc/net/route']).count(b'\\n'))"
    assert isolated(code).stdout == "1\n"


def test_a_model_at_a_url_cannot_be_run_isolated(tmp_path: Path) -> None:
    arguments = [
        "run",
        "--isolate",
        "--agent",
        "http://127.0.0.1:9/v1#m",
        "--limit",
        "1",
        "--store",
        str(tmp_path / "s.db"),
    ]
    done = subprocess.run([sys.executable, "-m", "fiqkit", *arguments], capture_output=True, text=True)
    if "gives no network namespace" in done.stderr:
        pytest.skip("this system gives no network namespace")
    assert done.returncode == 2
    assert "--isolate leaves no way to the server at 127.0.0.1" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_an_isolated_run_says_so_in_its_manifest(tmp_path: Path) -> None:
    import json
    import sqlite3

    store = tmp_path / "s.db"
    arguments = [
        "run",
        "--isolate",
        "--agent",
        "default-reader",
        "--limit",
        "2",
        "--modes",
        "answer",
        "--store",
        str(store),
    ]
    done = subprocess.run([sys.executable, "-m", "fiqkit", *arguments], capture_output=True, text=True)
    if "gives no network namespace" in done.stderr:
        pytest.skip("this system gives no network namespace")
    assert done.returncode == 0, done.stderr
    manifest = json.loads(sqlite3.connect(store).execute("SELECT manifest FROM runs").fetchone()[0])
    assert manifest["offline"] == {"enforced": True, "allowed_hosts": [], "isolated": True}


def test_no_code_of_a_model_is_ever_trusted() -> None:
    sources = Path(offline.__file__).parent.rglob("*.py")
    assert [path.name for path in sources if "trust_remote_code=True" in path.read_text("utf-8")] == []
