"""Reads hash.json, frame.hex and group.json as doc.go describes them, with Python's standard library alone."""

import hashlib
import json
import struct

NAMES = [
    "ce-specversion", "ce-id", "ce-type", "ce-source", "ce-subject", "ce-time", "content-type", "Ledger-Schema",
    "Ledger-Revision", "Ledger-Command-Id", "Ledger-Correlation-Id", "Ledger-Actor", "Ledger-Prev-Seq", "Ledger-Hash",
]
NO_SHARD = 0xFFFF  # no witness
HASHED = 12  # the first lines; the last two are not hashed


def need(holds):
    """Raises an error, also under python3 -O, which leaves asserts out."""
    if not holds:
        raise ValueError("the bytes are not as doc.go describes them")


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def read_frame(data):
    """Returns the lines of the frame at the start of data, its body, and what follows it."""
    text, body = struct.unpack(">II", data[:8])
    lines = data[8:8 + text].decode().split("\n")
    need(lines.pop() == "")
    pairs = [line.split(":", 1) for line in lines]
    need([name for name, _ in pairs] == NAMES)
    end = 8 + text + body
    need(len(data) >= end)
    return pairs, data[8 + text:end], data[end:]


def event_hash(previous, pairs, body):
    lines = "".join(f"{name}:{value}\n" for name, value in pairs[:HASHED])
    return sha256(bytes.fromhex(previous) + lines.encode() + b"\n" + body)


def check_events():
    vectors = json.load(open("hash.json"))
    previous = "00" * 32
    for v in vectors:
        need(v["previous"] == previous and [name for name, _ in v["headers"]] == NAMES[:HASHED])
        need(event_hash(previous, v["headers"], bytes.fromhex(v["body"])) == v["hash"])
        previous = v["hash"]
    pairs, body, rest = read_frame(bytes.fromhex(open("frame.hex").read().replace("\n", "")))
    need(rest == b"" and body.hex() == vectors[1]["body"] and dict(pairs)["Ledger-Prev-Seq"] == "7.3")
    need(event_hash(vectors[0]["hash"], pairs, body) == dict(pairs)["Ledger-Hash"] == vectors[1]["hash"])
    return len(vectors)


def check_group(g, before):
    data = bytes.fromhex(g["message"])
    head, stored, check = data[:86], data[86:-8], data[-8:]
    magic, kind, compression, count, size, shard = struct.unpack(">4sBBHIH", head[:14])
    sequence, events, aggregates = struct.unpack(">QQQ", head[30:54])
    need(magic == b"PLJ1" and count == len(g["frames"]))
    witness_shard, witness_sequence, witness_hash = NO_SHARD, 0, bytes(32)
    if kind & 0x80:
        kind -= 0x80
        witness_shard, witness_sequence, witness_hash = struct.unpack(">HQ32s", stored[:42])
        stored = stored[42:]
    beside = (0, 0)
    if kind & 0x40:
        kind -= 0x40
        beside = struct.unpack(">QQ", stored[:16])
        stored = stored[16:]
    need(beside == (g["besideCheckpoints"], g["besideSecrets"]))
    need((kind, compression, size, shard, witness_shard) == (
        g["kind"], g["compression"], g["size"], g["shard"], g["witnessShard"]))
    need((sequence, events, aggregates, witness_sequence) == (
        g["sequence"], g["events"], g["aggregates"], g["witnessSequence"]))
    need((head[14:30].hex(), head[54:86].hex(), witness_hash.hex()) == (g["log"], g["before"], g["witnessHash"]))
    need(sha256(data[:-8]) == g["hash"] and g["hash"].startswith(check.hex()))
    if before:
        first = [f for f in before["frames"] if "Ledger-Revision:1\n" in bytes.fromhex(f).decode(errors="ignore")]
        need(g["before"] == before["hash"] and sequence == before["sequence"] + 1)
        need(events == before["events"] + len(before["frames"]) and aggregates == before["aggregates"] + len(first))
    if compression == 1:  # zstd with the dictionary: not in the standard library
        return
    need(compression == 0 and len(stored) == size)
    if kind == 2:
        need(struct.unpack(">I", stored)[0] == g["next"] and count == 0)
        return
    for want in g["frames"]:
        pairs, body, rest = read_frame(stored)
        need(stored[:len(stored) - len(rest)].hex() == want and dict(pairs)["Ledger-Prev-Seq"] == "0")
        need(event_hash("00" * 32, pairs, body) == dict(pairs)["Ledger-Hash"])
        stored = rest
    need(stored == b"")


def check_groups():
    groups = json.load(open("group.json"))
    for before, g in zip([None] + groups, groups):
        check_group(g, before)
    return len(groups)


print(f"{check_events()} events and {check_groups()} groups are as they should be")
