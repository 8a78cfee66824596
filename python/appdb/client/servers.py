"""How the daemon and the control plane are found, with the credential for them: by the rules of the command."""

import json
import os
import urllib.parse
from pathlib import Path

from appdb import __version__
from appdb.client.errors import AccessError, UnavailableError
from appdb.declare.errors import Error

VERSION_HEADER = "x-client-version"
SERVER_VERSION_HEADER = "x-server-version"


class Server:
    """The server of a database. `url` has no slash at its end; `base` is the path of the database's data routes."""

    __slots__ = ("url", "base", "headers", "is_local")

    def __init__(self, url, base, headers, is_local):
        self.url = url
        self.base = base
        self.headers = headers
        self.is_local = is_local


def home_folder(home=None):
    """The home of the command and the daemon."""
    return Path(home or os.environ.get("SERVICE_HOME") or Path.home() / ".service")


def find_server(organization, database, home=None):
    """Finds the server of a database: the daemon if `organization` is None, else the control plane. Raises Error."""
    folder = home_folder(home)
    if organization is None:
        return _daemon(folder, f"/v1/databases/{quoted(database)}")
    url = _control_plane(folder)
    base = f"/v1/orgs/{quoted(organization)}/databases/{quoted(database)}"
    return Server(url, base, {VERSION_HEADER: __version__, **_credential(folder, url)}, False)


def quoted(part):
    """A part of a URL's path."""
    return urllib.parse.quote(part, safe="")


def _daemon(home, base):
    try:
        daemon, token = _read_daemon(home)
    except (FileNotFoundError, NotADirectoryError):
        start_daemon(home)
        daemon, token = _read_daemon(home)
    headers = {VERSION_HEADER: __version__, "authorization": f"Bearer {token}"}
    return Server(f"http://127.0.0.1:{daemon['port']}", base, headers, True)


def _read_daemon(home):
    try:
        daemon = json.loads((home / "daemon.json").read_text("utf-8"))
        return daemon, (home / "daemon.token").read_text("utf-8").strip()
    except (PermissionError, IsADirectoryError) as error:
        raise UnavailableError(
            f"The home folder {home} cannot be read: {error.strerror}.",
            "Set SERVICE_HOME to a folder that you own.",
            "home_not_writable",
        ) from None


def start_daemon(home=None):
    """Starts the daemon by the command in the folder of this Python, or on the PATH. Raises Error if neither is there."""
    import shutil
    import subprocess
    import sys

    installed = Path(sys.executable).with_name("cli.exe" if os.name == "nt" else "cli")
    command = str(installed) if installed.exists() else shutil.which("cli")
    if command is None:
        raise not_running(home) from None
    environment = {**os.environ, "SERVICE_HOME": str(home_folder(home))}
    started = subprocess.run(
        [command, "daemon", "start"], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if started.returncode != 0:
        # Notes can come before the error, and lines of the daemon's log are part of it.
        told, _, hint = started.stderr.rpartition("error: ")[2].strip().partition("\nhint: ")
        reason = " ".join(told.split()) or "it gave no reason."
        raise UnavailableError(f"The daemon did not start: {reason}", hint or "See why: cli daemon start", "daemon_failed")


def not_running(home=None):
    """The error when no daemon listens."""
    return UnavailableError(
        f"No daemon runs on {home_folder(home)}.", "Start it: cli daemon start", "daemon_not_running"
    )


def _control_plane(home):
    url = os.environ.get("SERVICE_API_URL") or _home_config(home).get("api_url")
    if url is None and (home / "server.json").exists():
        url = json.loads((home / "server.json").read_text("utf-8"))["url"]
    if url is None:
        raise UnavailableError(
            f"No server is known: SERVICE_API_URL is not set, and {home} names none.",
            "Set yours: cli login --server https://...",
            "server_unreachable",
        )
    return url.rstrip("/")


def _credential(home, url):
    key = os.environ.get("SERVICE_API_KEY") or _project_key(Path.cwd()) or _home_config(home).get("api_key")
    if key is not None:
        return {"x-api-key": key}
    try:
        sessions = json.loads((home / "sessions.json").read_text("utf-8"))["sessions"]
        return {"authorization": f"Bearer {sessions[url]['token']}"}
    except (FileNotFoundError, KeyError, ValueError):
        raise AccessError(
            f"You are not signed in at {url}.", "Sign in: cli login. Or set SERVICE_API_KEY.", "not_signed_in"
        ) from None


def _home_config(home):
    return _toml(home / "config.toml").get("service", {})


def _project_key(folder):
    """`api_key` of the nearest project, as the command reads it."""
    for place in (folder, *folder.parents):
        if (place / "service.toml").exists():
            return _toml(place / "service.toml").get("service", {}).get("api_key")
        service = _toml(place / "pyproject.toml").get("tool", {}).get("service")
        if service is not None:
            return service.get("api_key")
    return None


def _toml(path):
    import tomllib

    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise Error(f"{path} is not valid TOML: {error}.", "Correct it.", "config_invalid") from None
