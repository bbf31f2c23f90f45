package checkpoint

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"payledger/eventstore/proof"
)

// A checkpoint's message, numbers as unsigned varints: the byte 2, the length and the bytes of the
// origin, the size, the number of shards, per shard the last group and the number of events, the
// root (32 bytes), the length and the bytes of the signature (4 of the key's hash, 64 of Ed25519),
// the number of nodes of the edge, per node its index and its hash (32 bytes).

//
// The message of a ledger with proof.FirstOrigin has the byte 1, and no origin.

const (
	formatFirst  = 1
	formatOrigin = 2
)

// signaturePrefix begins the signature line of a signed note by the origin.
func (c Checkpoint) signaturePrefix() string { return "— " + c.origin() + " " }

var errMalformed = errors.New("eventstore: malformed checkpoint")

// Encode returns the checkpoint's message, with its edge or without.
func (c Checkpoint) Encode(withEdge bool) ([]byte, error) {
	text, ok := strings.CutPrefix(strings.TrimSuffix(c.Signature, "\n"), c.signaturePrefix())
	signature, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(c.Root) != tlog.HashSize || len(c.LastSeq) != len(c.Events) {
		return nil, fmt.Errorf("%w: %q", errMalformed, c.Signature)
	}
	b := []byte{formatFirst}
	if c.origin() != proof.FirstOrigin {
		b = append(binary.AppendUvarint([]byte{formatOrigin}, uint64(len(c.Origin))), c.Origin...)
	}
	b = binary.AppendUvarint(b, c.Size)
	b = binary.AppendUvarint(b, uint64(len(c.LastSeq)))
	for i, seq := range c.LastSeq {
		b = binary.AppendUvarint(binary.AppendUvarint(b, seq), c.Events[i])
	}
	b = append(b, c.Root...)
	b = append(binary.AppendUvarint(b, uint64(len(signature))), signature...)
	if !withEdge {
		c.Edge = nil
	}
	b = binary.AppendUvarint(b, uint64(len(c.Edge)))
	for _, n := range c.Edge {
		b = append(binary.AppendUvarint(b, uint64(n.Index)), n.Hash...)
	}
	return b, nil
}

// Parse is the inverse of Encode. It does not know the number.
func Parse(b []byte) (Checkpoint, error) {
	p := parser{b: b}
	c := Checkpoint{Origin: proof.FirstOrigin}
	switch p.number() {
	case formatFirst:
	case formatOrigin:
		if c.Origin = string(p.next(p.count(1))); c.Origin == proof.FirstOrigin || !proof.ValidOrigin(c.Origin) {
			return Checkpoint{}, fmt.Errorf("%w: its origin is not valid", errMalformed)
		}
	default:
		return Checkpoint{}, fmt.Errorf("%w: unknown format", errMalformed)
	}
	c.Size = p.number()
	for range p.count(2) {
		c.LastSeq, c.Events = append(c.LastSeq, p.number()), append(c.Events, p.number())
	}
	c.Root = p.next(tlog.HashSize)
	c.Signature = c.signaturePrefix() + base64.StdEncoding.EncodeToString(p.next(p.count(1))) + "\n"
	for range p.count(1 + tlog.HashSize) {
		c.Edge = append(c.Edge, Node{Index: int64(p.number()), Hash: p.next(tlog.HashSize)})
	}
	if p.failed || len(p.b) > 0 {
		return Checkpoint{}, errMalformed
	}
	return c, nil
}

// parser reads a message from its beginning; a fault makes all that follows zero.
type parser struct {
	b      []byte
	failed bool
}

func (p *parser) number() uint64 {
	n, size := binary.Uvarint(p.b)
	if size <= 0 {
		p.failed, p.b, size = true, nil, 0
	}
	p.b = p.b[size:]
	return n
}

// count reads a number of things of at least the given size, in bytes; more than there can be is a
// fault.
func (p *parser) count(size int) int {
	n := p.number()
	if n > uint64(len(p.b)/size) {
		p.failed, p.b = true, nil
		return 0
	}
	return int(n)
}

// next returns the next n bytes; nil if there are fewer.
func (p *parser) next(n int) []byte {
	if n > len(p.b) {
		p.failed, p.b = true, nil
		return nil
	}
	part := p.b[:n:n]
	p.b = p.b[n:]
	return part
}
