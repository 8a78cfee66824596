"""Signed addresses of objects in the clouds' stores, by the secrets that the stores of media use too.

Facts: AWS Signature Version 4 (query parameters), Cloud Storage V4 signing, Azure Blob service SAS.
"""

import os
from hashlib import sha256
from hmac import new as hmac
from urllib.parse import quote, urlsplit

MAX_SECONDS = 7 * 24 * 3600
_AZURE_VERSION = "2020-12-06"


def signed_url(uri, seconds):
    """The signed address of an object; web addresses stay as they are. Raises ValueError for others."""
    if not 1 <= seconds <= MAX_SECONDS:
        raise ValueError(f"presigned_url takes 1 to {MAX_SECONDS} seconds, not {seconds}")
    scheme, _, rest = uri.partition("://")
    if scheme in ("http", "https"):
        return uri
    place, _, key = rest.partition("/")
    signs = _SIGNERS.get(scheme)
    if signs is None or not place or not key:
        known = ", ".join(f"{one}://" for one in _SIGNERS)
        raise ValueError(f"presigned_url takes the address of an object ({known}), not {uri[:80]!r}")
    return signs(place, key, seconds)


def _s3(bucket, key, seconds):
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    access, secret = (_secret(names, name) for name in names)
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
    base, path = _s3_place(bucket, "/" + quote(key, safe="/-_.~"), region)
    token = os.environ.get("AWS_SESSION_TOKEN")
    more = {"X-Amz-Security-Token": token} if token else {}
    credential = f"{access}/{{day}}/{region}/s3/aws4_request"

    def sign(day, text):
        day_key = _chain(f"AWS4{secret}".encode(), day, region, "s3", "aws4_request")
        return hmac(day_key, text, sha256).hexdigest()

    return _signed("AWS4-HMAC-SHA256", "X-Amz", base, path, credential, seconds, more, sign)


def _s3_place(bucket, path, region):
    """(start of the address, path)."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if endpoint:
        return endpoint.rstrip("/"), f"/{bucket}{path}"
    if "." in bucket:  # No certificate is valid for such a host.
        return f"https://s3.{region}.amazonaws.com", f"/{bucket}{path}"
    return f"https://{bucket}.s3.{region}.amazonaws.com", path


def _gs(bucket, key, seconds):
    account = _google_account()
    base = os.environ.get("STORAGE_EMULATOR_HOST", "https://storage.googleapis.com").rstrip("/")
    path = f"/{bucket}/" + quote(key, safe="/-_.~")
    credential = f"{account['client_email']}/{{day}}/auto/storage/goog4_request"

    def sign(day, text):
        return _rsa_signature(account["private_key"], text).hex()

    return _signed("GOOG4-RSA-SHA256", "X-Goog", base, path, credential, seconds, {}, sign)


def _signed(algorithm, prefix, base, path, credential, seconds, more, sign):
    """Signs by the scheme that S3 and Cloud Storage have in common."""
    from time import gmtime, strftime

    moment = strftime("%Y%m%dT%H%M%SZ", gmtime())
    day = moment[:8]
    credential = credential.format(day=day)
    query = {
        f"{prefix}-Algorithm": algorithm,
        f"{prefix}-Credential": credential,
        f"{prefix}-Date": moment,
        f"{prefix}-Expires": str(seconds),
        f"{prefix}-SignedHeaders": "host",
        **more,
    }
    sorted_query = "&".join(f"{name}={quote(value, safe='-_.~')}" for name, value in sorted(query.items()))
    request = f"GET\n{path}\n{sorted_query}\nhost:{urlsplit(base).netloc}\n\nhost\nUNSIGNED-PAYLOAD"
    scope = credential.partition("/")[2]
    text = f"{algorithm}\n{moment}\n{scope}\n{sha256(request.encode()).hexdigest()}"
    return f"{base}{path}?{sorted_query}&{prefix}-Signature={sign(day, text.encode())}"


def _chain(key, *parts):
    for part in parts:
        key = hmac(key, part.encode(), sha256).digest()
    return key


def _google_account():
    """The service account's key, of GOOGLE_CREDENTIALS or in the file GOOGLE_APPLICATION_CREDENTIALS."""
    from json import loads

    text, path = os.environ.get("GOOGLE_CREDENTIALS"), os.environ.get("GOOGLE_APPLICATION_CREDENTIALS")
    if not text and path:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    if not text:
        raise ValueError("presigned_url needs the secret GOOGLE_CREDENTIALS")
    try:
        account = loads(text)
    except ValueError:
        account = None
    if not isinstance(account, dict):
        raise ValueError("the secret GOOGLE_CREDENTIALS is not the JSON key of a service account")
    if not {"client_email", "private_key"} <= account.keys():
        raise ValueError("the secret GOOGLE_CREDENTIALS has no client_email or private_key")
    return account


def _rsa_signature(pem, text):
    """The RSA signature (PKCS #1 v1.5, SHA-256) by a PEM key of PKCS #8 or PKCS #1."""
    modulus, exponent = _rsa_key(pem)
    size = (modulus.bit_length() + 7) // 8
    # The prefix says in ASN.1 that a digest of SHA-256 follows.
    digest = bytes.fromhex("3031300d060960864801650304020105000420") + sha256(text).digest()
    padded = b"\0\1" + b"\xff" * (size - len(digest) - 3) + b"\0" + digest
    return pow(int.from_bytes(padded, "big"), exponent, modulus).to_bytes(size, "big")


def _rsa_key(pem):
    """(modulus, private exponent)."""
    from base64 import b64decode

    try:
        lines = [line for line in pem.strip().splitlines() if not line.startswith("-----")]
        parts = _asn1(_asn1(b64decode("".join(lines), validate=True))[0])
        if type(parts[1]) is bytes:  # PKCS #8: an algorithm, and the key of PKCS #1 inside.
            parts = _asn1(_asn1(parts[2])[0])
        return parts[1], parts[3]
    except (ValueError, IndexError, TypeError):
        raise ValueError("the private_key of the secret GOOGLE_CREDENTIALS is not an RSA key in PEM") from None


def _asn1(data):
    """The elements of DER: integers as int, all others as their bytes."""
    found, at = [], 0
    while at < len(data):
        tag, size = data[at], data[at + 1]
        at += 2
        if size & 0x80:
            width = size & 0x7F
            size = int.from_bytes(data[at : at + width], "big")
            at += width
        content = data[at : at + size]
        found.append(int.from_bytes(content, "big", signed=True) if tag == 2 else content)
        at += size
    return found


def _azure(place, key, seconds):
    """`wasbs://<container>@<account>.blob.core.windows.net/<blob>`."""
    from base64 import b64decode, b64encode
    from time import gmtime, strftime, time

    container, _, host = place.partition("@")
    known = dict(
        part.split("=", 1) for part in os.environ.get("AZURE_STORAGE_CONNECTION_STRING", "").split(";") if "=" in part
    )
    account = host.partition(".")[0] or known.get("AccountName") or os.environ.get("AZURE_STORAGE_ACCOUNT") or ""
    names = ("AZURE_STORAGE_CONNECTION_STRING, or AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_KEY")
    secret = known.get("AccountKey") or _secret(names, "AZURE_STORAGE_KEY")
    base = (
        known.get("BlobEndpoint")
        or os.environ.get("AZURE_STORAGE_ENDPOINT")
        or f"https://{account}.blob.core.windows.net"
    )
    end = strftime("%Y-%m-%dT%H:%M:%SZ", gmtime(time() + seconds))
    text = "\n".join(
        [
            "r",
            "",
            end,
            f"/blob/{account}/{container}/{key}",
            "",
            "",
            "",
            _AZURE_VERSION,
            "b",
            "",
            "",
            "",
            "",
            "",
            "",
            "",
        ]
    )
    try:
        signature = b64encode(hmac(b64decode(secret, validate=True), text.encode(), sha256).digest()).decode()
    except ValueError:
        raise ValueError("the secret AZURE_STORAGE_KEY is not a key in base64") from None
    query = {"sv": _AZURE_VERSION, "se": end, "sr": "b", "sp": "r", "sig": signature}
    sent = "&".join(f"{name}={quote(value, safe='-_.~')}" for name, value in query.items())
    return f"{base.rstrip('/')}/{container}/{quote(key, safe='/-_.~')}?{sent}"


def _secret(names, name):
    value = os.environ.get(name)
    if not value:
        raise ValueError(f"presigned_url needs the secret{'s' if len(names) > 1 else ''} {' and '.join(names)}")
    return value


_SIGNERS = {"s3": _s3, "gs": _gs, **dict.fromkeys(("wasbs", "wasb", "abfss", "abfs"), _azure)}
