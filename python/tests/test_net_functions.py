"""Signed addresses against published examples and against values of the clouds' own libraries."""

import base64
import calendar
import hashlib
import json
import random
import time
from urllib.parse import parse_qs, urlsplit

import pytest

from appdb.media import signing
from appdb.functions.net import presigned_url


NAMES = (
    *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SESSION_TOKEN"),
    *("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "GOOGLE_CREDENTIALS", "GOOGLE_APPLICATION_CREDENTIALS"),
    *("STORAGE_EMULATOR_HOST", "AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_KEY"),
    "AZURE_STORAGE_ENDPOINT",
)


@pytest.fixture(autouse=True)
def no_secrets(monkeypatch):
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def at(monkeypatch):
    def freeze(*moment):
        seconds = calendar.timegm(moment)
        gmtime = time.gmtime
        monkeypatch.setattr(time, "gmtime", lambda given=None: gmtime(seconds if given is None else given))
        monkeypatch.setattr(time, "time", lambda: seconds)

    return freeze


def query(url):
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


def test_the_published_example_of_aws_is_signed_alike(at, monkeypatch):
    at(2013, 5, 24, 0, 0, 0)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    # The example's host has no region: an endpoint for a bucket of no name gives its path.
    monkeypatch.setattr(
        signing, "_s3_place", lambda bucket, path, region: ("https://examplebucket.s3.amazonaws.com", path)
    )
    signature = "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
    assert query(presigned_url("s3://examplebucket/test.txt", 86400))["X-Amz-Signature"] == signature


def test_buckets_have_hosts_where_certificates_allow_it(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "A")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "B")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    assert presigned_url("s3://box/a b/é.png", 60).startswith(
        "https://box.s3.eu-central-1.amazonaws.com/a%20b/%C3%A9.png?X-Amz-"
    )
    assert presigned_url("s3://my.box/x", 60).startswith("https://s3.eu-central-1.amazonaws.com/my.box/x?")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "tok+en")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9000/")
    url = presigned_url("s3://box/x", 60)
    assert url.startswith("http://127.0.0.1:9000/box/x?") and query(url)["X-Amz-Security-Token"] == "tok+en"


def test_azure_is_signed_like_by_its_library(at, monkeypatch):
    at(2026, 1, 2, 3, 4, 5)
    monkeypatch.setenv("AZURE_STORAGE_KEY", base64.b64encode(b"0123456789abcdef").decode())
    url = presigned_url("wasbs://box@acct.blob.core.windows.net/a b/é+%.png", 600)
    assert url.startswith("https://acct.blob.core.windows.net/box/a%20b/%C3%A9%2B%25.png?")
    assert query(url) == {
        "sv": "2020-12-06",
        "se": "2026-01-02T03:14:05Z",
        "sr": "b",
        "sp": "r",
        "sig": "YH/IVd7mt00pSyKRyowPZi3QCf0pC0hPU8rRAfftiWM=",
    }


def test_google_is_signed_by_the_key_of_the_service_account(at, monkeypatch, tmp_path):
    at(2026, 1, 2, 3, 4, 5)
    modulus, exponent, pem = rsa_key()
    account = {"client_email": "me@x.iam.gserviceaccount.com", "private_key": pem}
    monkeypatch.setenv("GOOGLE_CREDENTIALS", json.dumps(account))
    url = presigned_url("gs://my-bucket/a b/é+%.png", 600)
    base, _, sent = url.partition("?")
    signed, _, signature = sent.partition("&X-Goog-Signature=")
    assert base == "https://storage.googleapis.com/my-bucket/a%20b/%C3%A9%2B%25.png"
    path = base.removeprefix("https://storage.googleapis.com")
    request = f"GET\n{path}\n{signed}\nhost:storage.googleapis.com\n\nhost\nUNSIGNED-PAYLOAD"
    text = f"GOOG4-RSA-SHA256\n20260102T030405Z\n20260102/auto/storage/goog4_request\n{hashlib.sha256(request.encode()).hexdigest()}"
    opened = pow(int(signature, 16), 65537, modulus).to_bytes(len(signature) // 2, "big")
    assert opened.startswith(b"\0\1\xff") and opened.endswith(hashlib.sha256(text.encode()).digest())
    (tmp_path / "key.json").write_text(json.dumps(account))
    monkeypatch.delenv("GOOGLE_CREDENTIALS")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "key.json"))
    assert presigned_url("gs://my-bucket/a b/é+%.png", 600) == url


def rsa_key():
    """(modulus, private exponent, PEM of PKCS #1) of a new key of 1024 bits."""
    chance = random.Random(1)

    def prime():
        while True:
            number = chance.getrandbits(512) | 1 | 3 << 510
            if number % 65537 != 1 and all(pow(base, number - 1, number) == 1 for base in (2, 3, 5, 7)):
                return number

    p, q = prime(), prime()
    modulus, exponent = p * q, pow(65537, -1, (p - 1) * (q - 1))
    body = b"".join(integer(one) for one in (0, modulus, 65537, exponent, p, q))
    text = base64.encodebytes(b"\x30" + length(body) + body).decode()
    return modulus, exponent, f"-----BEGIN RSA PRIVATE KEY-----\n{text}-----END RSA PRIVATE KEY-----\n"


def integer(value):
    data = value.to_bytes(value.bit_length() // 8 + 1, "big")
    return b"\x02" + length(data) + data


def length(data):
    size = len(data)
    if size < 128:
        return bytes([size])
    found = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([0x80 | len(found)]) + found


@pytest.mark.parametrize(
    ("uri", "secrets", "message"),
    [
        ("s3://box/x", {}, "needs the secrets AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
        ("gs://box/x", {}, "needs the secret GOOGLE_CREDENTIALS"),
        ("gs://box/x", {"GOOGLE_CREDENTIALS": "hush"}, "GOOGLE_CREDENTIALS is not the JSON key of a service account"),
        ("gs://box/x", {"GOOGLE_CREDENTIALS": "{}"}, "GOOGLE_CREDENTIALS has no client_email or private_key"),
        (
            "gs://box/x",
            {"GOOGLE_CREDENTIALS": '{"client_email":"me","private_key":"hush"}'},
            "the private_key of the secret GOOGLE_CREDENTIALS is not an RSA key in PEM",
        ),
        ("wasbs://box@acct.blob.core.windows.net/x", {}, "AZURE_STORAGE_KEY"),
        (
            "wasbs://box@acct.blob.core.windows.net/x",
            {"AZURE_STORAGE_KEY": "hush!"},
            "AZURE_STORAGE_KEY is not a key in base64",
        ),
        ("ftp://host/x", {}, "takes the address of an object"),
        ("/etc/passwd", {}, "takes the address of an object"),
    ],
)
def test_a_missing_or_wrong_secret_is_named_and_never_shown(monkeypatch, uri, secrets, message):
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=message) as error:
        presigned_url(uri, 60)
    assert "hush" not in str(error.value)
