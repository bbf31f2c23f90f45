package stored

import "errors"

// Message is one message of a stream, or the mark of a deleted one. Header and Body are valid
// during the reader's callback only.
type Message struct {
	Seq     uint64 // 0 for a message that an old server erased
	Time    int64  // nanoseconds since 1970; 0 for an erased message, and for one read from a server
	Subject string // empty for Erased and Tombstone
	Header  []byte // with the line NATS/1.0 and the empty line at the end; nil without a header
	Body    []byte
	// Erased says that the message was destroyed in place, or never stored: Body is random bytes,
	// or empty.
	Erased bool
	// Tombstone says that the message Seq was deleted; its record in a file may still come before
	// this one.
	Tombstone bool
}

// Stands reports whether the message was not deleted.
func (m *Message) Stands() bool { return !m.Erased && !m.Tombstone }

// ErrRefused marks a message as damaged: a reader's callback returns an error that wraps it. A
// reader of files notes the fault and goes on.
var ErrRefused = errors.New("eventstore: the message was refused")

// Standing returns a callback that passes each message once, in order, without deleted ones: a file
// is read again if it changed meanwhile. A message that handle refused comes again.
func Standing(handle func(Message) error) func(Message) error {
	seen := uint64(0)
	return func(m Message) error {
		if !m.Stands() || m.Seq <= seen {
			return nil
		}
		err := handle(m)
		if err == nil {
			seen = m.Seq
		}
		return err
	}
}
