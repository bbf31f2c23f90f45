"use strict";
// Checks a proof as eventstore/proof describes it, with WebCrypto and without a connection.

const lineNames = ["ce-specversion", "ce-id", "ce-type", "ce-source", "ce-subject", "ce-time", "content-type", "Ledger-Schema",
  "Ledger-Revision", "Ledger-Command-Id", "Ledger-Correlation-Id", "Ledger-Actor"];
const utf8 = new TextEncoder();

// Fault names the event that does not hold.
class Fault extends Error {
  constructor(revision, type, reason) {
    super("Event " + revision + (type ? " (" + type + ")" : "") + ": " + reason);
    this.revision = revision;
  }
}

function join(...parts) {
  const all = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

const sha256 = async (...parts) => new Uint8Array(await crypto.subtle.digest("SHA-256", join(...parts)));
const hex = (bytes) => Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
const equal = (a, b) => hex(a) === hex(b);

// bytesOf decodes base64; other forms of the same bytes are refused.
function bytesOf(text, what) {
  let binary;
  try {
    binary = atob(text);
  } catch {
    binary = null;
  }
  if (typeof text !== "string" || binary === null || btoa(binary) !== text) {
    throw new Error(what + " is not valid base64.");
  }
  return Uint8Array.from(binary, (c) => c.charCodeAt(0));
}

// NoProof is the error of a file that is no proof: there is nothing that could hold.
class NoProof extends Error {
  constructor() { super("Choose the file of a payment’s proof: a download of the dashboard, of the API or of payledger prove."); }
}

const notProof = () => new NoProof();

// parse reads JSON in which no object has a name twice: of two, another reader may take the other one.
function parse(text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    throw notProof();
  }
  const open = [];
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"(?:\s*:)?|[{}]/g)) {
    if (token === "{") open.push(new Set());
    else if (token === "}") open.pop();
    else if (token.endsWith(":")) {
      const names = open[open.length - 1], name = JSON.parse(token.slice(0, -1));
      if (names.has(name)) throw notProof();
      names.add(name);
    }
  }
  return value;
}

// named reports whether a value is an object with exactly these names, spelled so.
const named = (value, names) => value !== null && typeof value === "object" && !Array.isArray(value) &&
  Object.keys(value).sort().join() === [...names].sort().join();
const fileNames = ["format", "account", "payment", "checkpoint", "newest", "events"];
const eventNames = ["revision", "position", "hash", "raw", "path"];

// keyOf reads "origin+8 digits+base64".
async function keyOf(text) {
  const wrong = new Error("The verifier key is not valid. It has the form origin+8 digits+base64.");
  const [, name, digits, base64] = /^([^+\s]+)\+([0-9a-f]{8})\+(\S+)$/.exec(text.trim()) || [];
  if (!name) throw wrong;
  const bytes = bytesOf(base64, "The verifier key");
  const sum = await sha256(utf8.encode(name + "\n"), bytes);
  if (bytes.length !== 33 || bytes[0] !== 1 || hex(sum.slice(0, 4)) !== digits) throw wrong;
  return { name, digits, key: await crypto.subtle.importKey("raw", bytes.slice(1), { name: "Ed25519" }, false, ["verify"]) };
}

// openNote returns the lines of a signed note, without the last empty one.
async function openNote(signed, key, what) {
  const end = typeof signed === "string" ? signed.lastIndexOf("\n\n") : -1;
  if (end < 0) throw new Error(what + " is no signed note.");
  const text = signed.slice(0, end + 1);
  const [, name, base64] = /^\u2014 (\S+) (\S+)\n$/.exec(signed.slice(end + 2)) || [];
  if (!name) throw new Error(what + " has no signature.");
  const bytes = bytesOf(base64, "The signature of " + what.toLowerCase());
  if (name !== key.name || hex(bytes.slice(0, 4)) !== key.digits) {
    throw new Error(what + " is signed with another key than the verifier key above.");
  }
  if (!await crypto.subtle.verify({ name: "Ed25519" }, key.key, bytes.slice(4), utf8.encode(text))) {
    throw new Error(what + " was changed: its signature does not fit its text.");
  }
  return text.slice(0, -1).split("\n");
}

// attributes reads the lines of an event, which end before its body.
function attributes(raw) {
  const values = {};
  let at = 0;
  for (const name of lineNames) {
    const end = raw.indexOf(10, at);
    const line = end < 0 ? "" : new TextDecoder().decode(raw.slice(at, end));
    if (!line.startsWith(name + ":")) return { values, fault: "its bytes lack the line " + name + "." };
    values[name] = line.slice(name.length + 1);
    at = end + 1;
  }
  return { values, body: raw.slice(at + 1), fault: raw[at] === 10 ? "" : "its bytes have no empty line before the body." };
}

// fieldsOf reads an event's body, a map in msgpack: "event" has the event's own fields. Of the values it keeps numbers, texts and booleans. It throws at other bytes.
function fieldsOf(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const uint = (size) => {
    let n = 0;
    for (let i = 0; i < size; i++) n = n * 256 + view.getUint8(at++);
    return n;
  };
  const int = (size) => {
    const n = uint(size);
    return n < 2 ** (8 * size - 1) ? n : n - 2 ** (8 * size);
  };
  const skip = (n) => { at += n; return null; };
  const text = (n) => { at += n; return new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(at - n, at)); };
  const list = (n) => { for (; n > 0; n--) value(); return null; };
  const map = (n) => {
    const all = new Map();
    for (; n > 0; n--) { const name = value(); all.set(name, value()); }
    return all;
  };
  function value() {
    const c = uint(1);
    if (c <= 0x7f) return c;
    if (c <= 0x8f) return map(c & 15);
    if (c <= 0x9f) return list(c & 15);
    if (c <= 0xbf) return text(c & 31);
    if (c === 0xc0) return null;
    if (c === 0xc2 || c === 0xc3) return c === 0xc3;
    if (c >= 0xc4 && c <= 0xc6) return skip(uint(1 << (c - 0xc4))); // bytes
    if (c >= 0xc7 && c <= 0xc9) return skip(uint(1 << (c - 0xc7)) + 1); // an extension, and its type
    if (c === 0xca || c === 0xcb) return skip(c === 0xca ? 4 : 8); // a float
    if (c >= 0xcc && c <= 0xcf) return uint(1 << (c - 0xcc));
    if (c >= 0xd0 && c <= 0xd3) return int(1 << (c - 0xd0));
    if (c >= 0xd4 && c <= 0xd8) return skip(1 + (1 << (c - 0xd4)));
    if (c >= 0xd9 && c <= 0xdb) return text(uint(1 << (c - 0xd9)));
    if (c === 0xdc || c === 0xdd) return list(uint(2 << (c - 0xdc)));
    if (c === 0xde || c === 0xdf) return map(uint(2 << (c - 0xde)));
    if (c >= 0xe0) return c - 256;
    throw new RangeError();
  }
  const all = value();
  if (!(all instanceof Map) || at !== bytes.length) throw new RangeError();
  return all;
}

// leadsTo follows a path from a leaf to the root (RFC 9162, section 2.1.3.2).
async function leadsTo(root, leaf, index, size, path) {
  let f = index, s = size - 1n, hash = leaf;
  for (const step of path) {
    if (s === 0n) return false;
    if (f % 2n === 1n || f === s) {
      hash = await sha256([1], step, hash);
      while (f % 2n === 0n && f !== 0n) {
        f /= 2n;
        s /= 2n;
      }
    } else {
      hash = await sha256([1], hash, step);
    }
    f /= 2n;
    s /= 2n;
  }
  return s === 0n && equal(hash, root);
}

// checkEvent checks one event, and returns its hash.
async function checkEvent(e, revision, before, proof, tree) {
  const raw = bytesOf(e.raw, "Event " + revision);
  const { values, fault } = attributes(raw);
  const wrong = (reason) => new Fault(revision, values["ce-type"], reason);
  const sum = await sha256(before, raw);
  if (hex(sum) !== e.hash) throw wrong("its bytes do not have its hash. It was changed, or the event before it is missing.");
  if (fault) throw wrong(fault);
  if (e.revision !== revision || values["Ledger-Revision"] !== String(revision)) throw wrong("its revision is wrong.");
  const subject = proof.account + ".payment." + proof.payment;
  if (values["ce-subject"] !== subject) throw wrong("it belongs to " + values["ce-subject"] + ", not to this payment.");
  if (!Number.isSafeInteger(e.position) || e.position < 1 || BigInt(e.position) > tree.size) throw wrong("its position is not in the log.");
  const path = Array.from(e.path, (step) => bytesOf(step, "A path of event " + revision));
  if (path.some((step) => step.length !== 32) ||
      !await leadsTo(tree.root, await sha256([0], sum), BigInt(e.position) - 1n, tree.size, path)) {
    throw wrong("it does not stand at position " + e.position + " of the signed log, or its path was changed.");
  }
  return sum;
}

// check throws the first fault; progress takes each event that holds.
async function check(proof, keyText, progress) {
  if (!named(proof, fileNames) && !named(proof, [...fileNames, "consistency"]) || proof.format !== "payledger-proof-1" ||
      typeof proof.account !== "string" || typeof proof.payment !== "string" || !Array.isArray(proof.events) ||
      !proof.events.every((e) => named(e, eventNames) && Array.isArray(e.path))) {
    throw notProof();
  }
  const key = await keyOf(keyText);
  const lines = await openNote(proof.checkpoint, key, "The checkpoint");
  if (lines[0] !== key.name || !/^[1-9][0-9]{0,18}$/.test(lines[1])) throw new Error("The checkpoint is no checkpoint of a payledger.");
  const tree = { size: BigInt(lines[1]), root: bytesOf(lines[2], "The root"), text: lines[2] };
  let last = new Uint8Array(32), position = 0;
  for (const [i, e] of proof.events.entries()) {
    last = await checkEvent(e, i + 1, last, proof, tree);
    if (e.position <= position) throw new Fault(i + 1, "", "its position is not behind that of the event before.");
    position = e.position;
    progress(i + 1);
  }
  const newest = await openNote(proof.newest, key, "The note about the newest event");
  const want = [key.name + " history", lines[1], lines[2], proof.account + ".payment." + proof.payment];
  if (newest.length !== 6 || want.some((line, i) => newest[i] !== line)) {
    throw new Error("The note about the newest event is about another payment or another checkpoint.");
  }
  if (newest[4] !== String(proof.events.length) || newest[5] !== hex(last)) {
    throw new Error("Events are missing at the end: the ledger signed that event " + newest[4] + " is the newest one, and the file ends with event " + proof.events.length + ".");
  }
  return { ...tree, signer: key.name + "+" + key.digits };
}

const at = (id) => document.getElementById(id);

function element(name, text, className) {
  const e = document.createElement(name);
  e.textContent = text;
  if (className) e.className = className;
  return e;
}

// list shows the events: those up to `good` hold, the event `bad` does not, the others were not reached.
function list(events, good, bad) {
  let currency = ""; // the first event names it
  const items = events.map((e, i) => {
    const n = i + 1, item = element("li", "", n === bad ? "bad" : n <= good ? "good" : "");
    let values = {}, fields = new Map();
    try {
      const event = attributes(bytesOf(e.raw, ""));
      values = event.values;
      const inner = n <= good ? fieldsOf(event.body).get("event") : null;
      if (inner instanceof Map) fields = inner;
    } catch { /* the event that does not hold may be unreadable */ }
    currency = fields.get("currencyCode") || currency;
    const line = element("div", "", "line");
    line.append(element("span", n + ". " + (values["ce-type"] || "unreadable"), "type"),
      element("span", n === bad ? "\u2717 does not hold" : n <= good ? "\u2713 holds" : "not checked", "state"));
    item.append(line, element("div", (values["ce-time"] || "") + " by " + (values["Ledger-Actor"] || "unknown"), "quiet"),
      ...(Number.isSafeInteger(fields.get("amount")) ? [element("div", "Amount " + fields.get("amount") + ", in minor units of " + (currency || "its currency"))] : []),
      element("span", "hash " + e.hash, "hash"));
    return item;
  });
  at("events").replaceChildren(...items);
  at("history").hidden = items.length === 0;
}

function show(good, verdict, reason, facts) {
  at("result").hidden = false;
  at("result").className = good ? "good" : "bad";
  at("verdict").textContent = verdict;
  at("reason").textContent = reason;
  at("meaning").hidden = !good;
  at("facts").replaceChildren(...facts.flatMap(([name, value]) => [element("dt", name), element("dd", value)]));
}

let turn = 0;

async function run() {
  const file = at("file").files[0], mine = ++turn;
  if (!file) return;
  let proof = null, held = 0;
  try {
    if (!window.crypto || !crypto.subtle) throw new Error("This browser checks signatures on https and on localhost only. Open the page there, or use payledger check-proof.");
    proof = parse(await file.text());
    const tree = await check(proof, at("key").value, (n) => { held = n; });
    if (mine !== turn) return;
    show(true, "This proof holds", "All " + held + " events of the payment stand unchanged in the log that the ledger signed, none is missing, and event " + held + " is the newest one there.",
      [["Payment", proof.payment], ["Account", proof.account], ["Checked against", "the checkpoint of the log’s first " + tree.size + " events"], ["Root of that log", tree.text], ["Signed with the key", tree.signer]]);
    list(proof.events, held, 0);
  } catch (error) {
    if (mine !== turn) return;
    const reason = error.name === "NotSupportedError" ? "This browser cannot check Ed25519 signatures. Use a newer one, or payledger check-proof." : error.message;
    show(false, error instanceof NoProof ? "This is no proof file of payledger" : "This proof does not hold", reason, []);
    list(proof && Array.isArray(proof.events) && !(error instanceof NoProof) ? proof.events : [], held, error instanceof Fault ? error.revision : 0);
  }
  at("verdict").focus();
}

at("file").addEventListener("change", run);
at("key").addEventListener("change", run);
