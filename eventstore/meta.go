package eventstore

import (
	"encoding/hex"
	"fmt"
	"io"
	"time"
)

// Meta is the metadata of an event: who caused it, and why. All retries of one request have the same command id.
type Meta struct {
	EventID       string // UUID
	CommandID     string
	CorrelationID string
	Actor         string
	At            time.Time
	// Request marks an event that requests an operation. It is refused if the aggregate or the disk is nearly full, so that
	// outcomes always have room.
	Request bool
	// GivesBack marks a request that returns or releases money: a larger aggregate still takes it.
	GivesBack bool
}

// NewMeta makes the ids of one command.
func (s *Store) NewMeta(actor, correlationID string) (Meta, error) {
	eventID, err := NewUUID(s.random)
	if err != nil {
		return Meta{}, err
	}
	commandID, err := NewUUID(s.random)
	if err != nil {
		return Meta{}, err
	}
	return Meta{EventID: eventID, CommandID: commandID, CorrelationID: correlationID, Actor: actor, At: s.Now()}, nil
}

// NewUUID makes a random UUID (version 4) from the given source.
func NewUUID(random io.Reader) (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("eventstore: random: %w", err)
	}
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:], nil
}
