// Package proof is the portable proof of one payment: its whole history, and the evidence that
// every event of it stands in the ledger's log. Check needs the file and the ledger's verifier key,
// and nothing else: no server, no network, no code that knows payments.
//
// # The file
//
// JSON, one event a line. The same payment at the same checkpoint always gives the same bytes.
// Bytes are standard base64 with padding; hashes of events are hexadecimal, as `payledger history`
// prints them. Each name stands once in its object and is spelled as below; there are no other
// names. A reader that takes the last of two equal names, or a name in another case, reads other
// events than the check. The command, the page /proof and the script check.py refuse such a file.
//
//	format      "payledger-proof-1"
//	account     the merchant's account id
//	payment     the payment id
//	checkpoint  a signed note (C2SP tlog-checkpoint): the log's size and root
//	newest      a signed note: the payment's newest event at this checkpoint
//	consistency if wanted: {size, path}, the consistency proof with the log's first size events
//	events      the payment's events, by revision from 1 without a gap, each with
//	              revision   place among the payment's events
//	              position   place in the log, from 1
//	              hash       the event's hash
//	              raw        the event's bytes: 12 lines "name:value\n", "\n", and the body. The body of a change through the management
//	                         API has the address of its client ("origin", package eventstore): the hash covers it
//	              path       the inclusion proof: hashes from the leaf's sibling up to the root's child
//
// # The hashes
//
// All hashes are SHA-256; ‖ joins bytes.
//
//	hash of event r   SHA-256(hash of event r−1 ‖ raw), 32 zero bytes instead of a hash before the first
//	leaf              SHA-256(0x00 ‖ hash of the event)
//	inner node        SHA-256(0x01 ‖ left ‖ right)
//	root              of the tree of RFC 6962 over the leaves of positions 1 … size; a leaf's index is position−1
//
// The consistency proof is PROOF(size, all leaves) of RFC 6962, section 2.1.2.
//
// The path of leaf i in a tree of n leaves leads to the root. Take f = i and s = n−1. For each hash
// p of the path: if f is odd, or f = s, then h = node(p, h), and, while f is even and not 0, halve
// f and s; else h = node(h, p). Then halve f and s, rounding down. At the end s must be 0, and h
// must be the root (RFC 9162, section 2.1.3.2).
//
// # The notes
//
// Both notes are signed by the ledger's Ed25519 key. A note is its text, an empty line, and the
// line "— <origin> " ‖ base64(4 bytes key hash ‖ 64 bytes signature) ‖ "\n". The signature is over
// the text with its last "\n". A verifier key is "<origin>+" ‖ 8 hexadecimal digits of the key hash
// ‖ "+" ‖ base64(0x01 ‖ 32 bytes public key). The texts are
//
//	<origin>\n<size>\n<root in base64>\nshards <…>\nevents <…>\n
//	<origin> history\n<size>\n<root in base64>\n<account>.payment.<payment>\n<newest revision>\n<its hash in hexadecimal>\n
//
// The origin names the ledger, as C2SP's tlog-checkpoint asks: payledger/<id of the log>, or the
// text that its operator chose for it (`--origin`). It is the name of the key, and never changes.
// The origin of older ledgers is payledger; their keys and files stay valid.
//
// # A witness's file
//
// `payledger checkpoints --out FILE` writes each signed checkpoint, one a line. Every line is
// evidence. CheckOld finds two lines that contradict each other: two roots of one size. The number
// of a line is not signed: if a later number has fewer events, the numbers in the file are wrong.
// CheckSince compares a proof with the newest line that it covers; the lines before that one are
// checked against each other only.
//
// # What a checked proof says
//
// The holder of the key signed a log in which these events, and these bytes, have these positions.
// Nothing is missing before the newest event: the revisions have no gap, and each hash covers the
// hash before it. Nobody else can cut events off at the end: the second note names the newest
// event. Only the ledger itself could sign a false newest event. It then contradicts its own log:
// any later proof of the payment, or a reader of the log, shows an event with a higher revision at
// a position that the checkpoint covers, and both signatures remain as evidence. A proof does not
// say that the ledger shows the same log to everybody: a witness who keeps checkpoints finds a log
// that forked or was rewritten (CheckSince).
//
// A proof holds sealed personal data as the log does, and stays valid after the erasure of its key:
// the sealed bytes are hashed, and no text of them. It holds no card number and no secret.
//
// The package must not know: the store, the payment's rules, HTTP.
//
// # Place
//
//	outside       cmd, httpapi
//	application   secrets
//	log           prover
//	bytes         checkpoint
//	bytes       ► proof
package proof
