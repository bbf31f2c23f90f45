# Checks a proof of a payment (payledger prove) without payledger: python3 check.py proof.json KEY
import base64, hashlib, json, sys
P, Q, D = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493, -121665 * pow(121666, -1, 2**255 - 19)
sha256 = lambda *parts: hashlib.sha256(b"".join(parts)).digest()

def need(holds, fault):
    if not holds: raise SystemExit("The proof does not hold: " + fault)

def b64(text):
    data = base64.b64decode(text, validate=True)
    need(base64.b64encode(data).decode() == text, "a text is no base64")
    return data

def exact(pairs):  # of two equal names another program may take the other one
    need(len(dict(pairs)) == len(pairs), "a name stands twice in an object")
    return dict(pairs)

def point(data):  # Ed25519 (RFC 8032): a point from its 32 bytes
    y = int.from_bytes(data, "little") & (2**255 - 1)
    xx = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(xx, (P + 3) // 8, P)
    x = x if x * x % P == xx else x * pow(2, (P - 1) // 4, P) % P
    need(y < P and x * x % P == xx, "a key or signature is no point of the curve")
    return (x if x & 1 == data[31] >> 7 else P - x, y)

def add(a, b):
    (x1, y1), (x2, y2), d = a, b, D * a[0] * b[0] * a[1] * b[1]
    return (x1 * y2 + x2 * y1) * pow(1 + d, -1, P) % P, (y1 * y2 + x1 * x2) * pow(1 - d, -1, P) % P

def times(n, a):
    total = (0, 1)
    while n:
        total, a, n = add(total, a) if n & 1 else total, add(a, a), n >> 1
    return total
BASE = point((4 * pow(5, -1, P) % P).to_bytes(32, "little"))

def signed_text(note, key):  # the lines of a signed note, if the key signed it
    (name, digits, public), (text, line) = key.strip().split("+", 2), note.rsplit("\n\n", 1)
    dash, signer, signature = line.rstrip("\n").split(" ")
    text, public, signature = text + "\n", b64(public), b64(signature)
    need((dash, signer) == ("\u2014", name) and signature[:4].hex() == digits == sha256(name.encode(), b"\n", public)[:4].hex(), "it is signed with another key")
    r, s, public = signature[4:36], int.from_bytes(signature[36:], "little"), public[1:]
    k = int.from_bytes(hashlib.sha512(r + public + text.encode()).digest(), "little") % Q
    need(s < Q and times(s, BASE) == add(point(r), times(k, point(public))), "a signature does not fit")
    return text.split("\n")

def root_of(leaf, index, size, path):  # RFC 9162, section 2.1.3.2
    last = size - 1
    for step in map(b64, path):
        if last == 0: return b""
        if index & 1 or index == last:
            leaf = sha256(b"\1", step, leaf)
            while not index & 1 and index:
                index, last = index >> 1, last >> 1
        else:
            leaf = sha256(b"\1", leaf, step)
        index, last = index >> 1, last >> 1
    return leaf if last == 0 else b""

with open(sys.argv[1], encoding="utf-8") as file: proof = json.load(file, object_pairs_hook=exact)
need({*proof} - {"consistency"} == {"format", "account", "payment", "checkpoint", "newest", "events"} and proof["format"] == "payledger-proof-1", "it is no proof file")
origin, size, root = signed_text(proof["checkpoint"], sys.argv[2])[:3]
need(origin == sys.argv[2].split("+")[0], "its checkpoint is of another ledger")
subject, before, position = proof["account"] + ".payment." + proof["payment"], bytes(32), 0
for number, event in enumerate(proof["events"], 1):
    raw, fault = b64(event["raw"]), f"event {number} does not hold"
    lines = raw.split(b"\n\n", 1)[0].decode().split("\n")
    need({*event} == {"revision", "position", "hash", "raw", "path"} and type(event["position"]) is type(event["revision"]) is int, fault)
    need(event["revision"] == number and position < event["position"] <= int(size) and event["hash"] == sha256(before, raw).hex(), fault)
    before, position = sha256(before, raw), event["position"]
    need(root_of(sha256(b"\0", before), position - 1, int(size), event["path"]) == b64(root), fault)
    need(len(lines) == 12 and lines[4] == "ce-subject:" + subject and lines[8] == f"Ledger-Revision:{number}", fault)
newest = [origin + " history", size, root, subject, str(len(proof["events"])), before.hex(), ""]
need(signed_text(proof["newest"], sys.argv[2]) == newest, "events are missing at the end")
print(f"The proof holds: {len(proof['events'])} events of {proof['payment']} in a log of {size}")
