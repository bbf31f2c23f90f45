import base64, hashlib, hmac, json, re, time


def verify_webhook(headers, body, secrets, now=None, tolerance=180):
    """headers: the request's headers. body: the raw bytes. secrets: a list, two during a rotation."""
    if not secrets or "" in secrets:
        return False
    given = [headers.get(name) or "" for name in ("X-Signature-Primary", "X-Signature-Secondary")]
    fits = False
    for secret in secrets:
        expected = base64.b64encode(hmac.new(secret.encode(), body, hashlib.sha256).digest())
        for text in given:
            fits |= hmac.compare_digest(text.encode(), expected)
    if not fits:
        return False
    try:
        fields = json.loads(body)
    except ValueError:
        return False
    if not isinstance(fields, dict):
        return False
    if "signedAt" not in fields:  # the dashboard's test message
        return len(fields) == 1 and isinstance(fields.get("message"), str)
    at = fields["signedAt"]
    if not isinstance(at, str) or not re.fullmatch("[0-9]{1,12}", at):
        return False
    return abs((time.time() if now is None else now) - int(at)) <= tolerance
