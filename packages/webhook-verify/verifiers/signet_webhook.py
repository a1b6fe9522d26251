"""Verifies deliveries of Signet webhooks. Python 3.9 or later, standard library only.

    event = verify(raw_body, headers, secret)

Copy this file into your program. It is checked against vectors.json of @signet/webhook-verify.
"""

import base64
import binascii
import hashlib
import hmac
import json
import re
import time

_TIMESTAMP = re.compile(r"[0-9]{1,12}")
_SIGNATURE = re.compile(r"sha256=[0-9a-f]{64}")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")


class WebhookRefused(Exception):
    """A delivery to answer 400. `code` says why; it is safe to log."""

    def __init__(self, code: str):
        super().__init__(code)
        self.code = code


def verify(raw_body: bytes, headers, secret, tolerance_seconds: int = 300, now=time.time) -> dict:
    """Returns the event, or raises WebhookRefused.

    raw_body: the bytes as received: request.get_data() in Flask, request.body in Django, await request.body() in
    Starlette and FastAPI. headers: a mapping of names to values. secret: whsec_..., or a list of them while one
    replaces another; ValueError says that one cannot be used.
    """
    secrets = [secret] if isinstance(secret, str) else list(secret)
    keys = [_standard_key(one) for one in secrets]
    if not keys:
        raise ValueError("no secret was given")
    received = {name.lower(): value for name, value in headers.items()}
    # The Standard Webhooks headers come first: while one secret replaces another, they carry the signatures of both.
    if "webhook-signature" in received:
        message_id = _bytes(_header(received, "webhook-id"))
        timestamp = _timestamp(received, "webhook-timestamp")
        claimed = _header(received, "webhook-signature").split(" ")
        message = message_id + b"." + timestamp.encode() + b"." + raw_body
        expected = [b"v1," + base64.b64encode(_mac(key, message)) for key in keys]
    else:
        timestamp = _timestamp(received, "x-service-timestamp")
        claimed = [_header(received, "x-service-signature")]
        if not _SIGNATURE.fullmatch(claimed[0]):
            raise WebhookRefused("malformed_header")
        message = timestamp.encode() + b"." + raw_body
        expected = [b"sha256=" + _mac(one.encode(), message).hex().encode() for one in secrets]

    # Bytes: compare_digest refuses text beyond ASCII, and the header is the caller's.
    equal = [hmac.compare_digest(right, _bytes(one)) for right in expected for one in claimed]
    if not any(equal):
        raise WebhookRefused("signature_mismatch")
    age = int(now()) - int(timestamp)
    if age > tolerance_seconds:
        raise WebhookRefused("timestamp_too_old")
    if -age > tolerance_seconds:
        raise WebhookRefused("timestamp_in_future")
    return _event(raw_body)


def _bytes(header: str) -> bytes:
    # Some servers read bytes that are not UTF-8 as lone surrogates, which cannot be encoded.
    return header.encode("utf-8", "surrogatepass")


def _header(received: dict, name: str) -> str:
    value = received.get(name)
    if not value:
        raise WebhookRefused("missing_header")
    return value


def _timestamp(received: dict, name: str) -> str:
    value = _header(received, name)
    if not _TIMESTAMP.fullmatch(value):
        raise WebhookRefused("malformed_header")
    return value


def _mac(key: bytes, message: bytes) -> bytes:
    return hmac.new(key, message, hashlib.sha256).digest()


def _standard_key(secret: str) -> bytes:
    if not isinstance(secret, str) or not secret.startswith("whsec_"):
        raise ValueError("the secret must be whole, with its whsec_ in front")
    encoded = secret[len("whsec_") :]
    try:
        if not _BASE64.fullmatch(encoded):
            raise binascii.Error
        plain = encoded.rstrip("=").translate(str.maketrans("-_", "+/"))
        key = base64.b64decode(plain + "=" * (-len(plain) % 4))
    except binascii.Error:
        key = b""
    if not 24 <= len(key) <= 64:
        raise ValueError("after whsec_ the secret must be the Base64 of 24 to 64 bytes; was it cut?")
    return key


def _event(raw_body: bytes) -> dict:
    try:
        event = json.loads(raw_body.decode("utf-8"))
    except ValueError:
        raise WebhookRefused("invalid_payload") from None
    if not isinstance(event, dict) or not isinstance(event.get("data"), dict):
        raise WebhookRefused("invalid_payload")
    if not all(isinstance(event.get(name), str) for name in ("id", "type", "created_at")):
        raise WebhookRefused("invalid_payload")
    return event
