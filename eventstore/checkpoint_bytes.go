package eventstore

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// A checkpoint's message, numbers as unsigned varints (doc.go has a test vector): the byte 1, the size, the number of
// shards, per shard the last group and the number of events, the root (32 bytes), the length and the bytes of the
// signature (4 of the key's hash, 64 of Ed25519), the number of nodes of the edge, per node its index and its hash (32
// bytes). Few checkpoints have an edge: every edgeEvery-th, and the first after edgeEvents events.

const (
	checkpointFormat = 1
	// A checkpoint carries the edge of the tree at least once in edgeEvery checkpoints and once in edgeEvents events: to
	// find the edge again, a start reads no more than that. The tip store has the edge of a newer one.
	edgeEvery  = 256
	edgeEvents = 1 << 18
	// signaturePrefix begins the signature line of a signed note by checkpointOrigin.
	signaturePrefix = "— " + checkpointOrigin + " "
)

var errCheckpoint = errors.New("eventstore: malformed checkpoint")

// encode returns the checkpoint's message.
func (c Checkpoint) encode(withEdge bool) ([]byte, error) {
	text, ok := strings.CutPrefix(strings.TrimSuffix(c.Signature, "\n"), signaturePrefix)
	signature, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(c.Root) != tlog.HashSize || len(c.LastSeq) != len(c.Events) {
		return nil, fmt.Errorf("%w: %q", errCheckpoint, c.Signature)
	}
	b := []byte{checkpointFormat}
	b = binary.AppendUvarint(b, c.Size)
	b = binary.AppendUvarint(b, uint64(len(c.LastSeq)))
	for i, seq := range c.LastSeq {
		b = binary.AppendUvarint(binary.AppendUvarint(b, seq), c.Events[i])
	}
	b = append(b, c.Root...)
	b = append(binary.AppendUvarint(b, uint64(len(signature))), signature...)
	edge := c.Edge
	if !withEdge {
		edge = nil
	}
	return appendEdge(b, edge), nil
}

func appendEdge(b []byte, edge []StoredHash) []byte {
	b = binary.AppendUvarint(b, uint64(len(edge)))
	for _, h := range edge {
		b = append(binary.AppendUvarint(b, uint64(h.Index)), h.Hash...)
	}
	return b
}

// decodeCheckpoint reads a checkpoint's message.
func decodeCheckpoint(b []byte) (Checkpoint, error) {
	p := checkpointParser{b: b}
	if p.number() != checkpointFormat {
		return Checkpoint{}, fmt.Errorf("%w: unknown format", errCheckpoint)
	}
	c := Checkpoint{Size: p.number()}
	for range p.count(2) {
		c.LastSeq, c.Events = append(c.LastSeq, p.number()), append(c.Events, p.number())
	}
	c.Root = p.take(tlog.HashSize)
	c.Signature = signaturePrefix + base64.StdEncoding.EncodeToString(p.take(p.count(1))) + "\n"
	c.Edge = p.edge()
	if p.failed || len(p.b) > 0 {
		return Checkpoint{}, errCheckpoint
	}
	return c, nil
}

// checkpointParser reads a message from its beginning; a fault makes all that follows zero.
type checkpointParser struct {
	b      []byte
	failed bool
}

func (p *checkpointParser) number() uint64 {
	n, size := binary.Uvarint(p.b)
	if size <= 0 {
		p.failed, p.b, size = true, nil, 0
	}
	p.b = p.b[size:]
	return n
}

// count reads a number of things of at least the given size, in bytes; more than there can be is a fault.
func (p *checkpointParser) count(size int) int {
	n := p.number()
	if n > uint64(len(p.b)/size) {
		p.failed, p.b = true, nil
		return 0
	}
	return int(n)
}

func (p *checkpointParser) take(n int) []byte {
	if n > len(p.b) {
		p.failed, p.b = true, nil
		return nil
	}
	taken := p.b[:n:n]
	p.b = p.b[n:]
	return taken
}

func (p *checkpointParser) edge() (edge []StoredHash) {
	for range p.count(1 + tlog.HashSize) {
		edge = append(edge, StoredHash{Index: int64(p.number()), Hash: p.take(tlog.HashSize)})
	}
	return edge
}
