"""Clients of the examples describe their usage."""

import subprocess
import sys
from pathlib import Path

import pytest

CLIENTS = sorted((Path(__file__).parents[2] / "examples").glob("*/client.py"))


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.parent.name)
def test_a_client_without_an_address_prints_its_usage(client):
    ran = subprocess.run([sys.executable, str(client)], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert ran.stderr.startswith("usage: python client.py ADDRESS")
