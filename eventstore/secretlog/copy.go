package secretlog

import (
	"context"
	"fmt"
	"strings"

	"payledger/eventstore/stored"
	"payledger/eventstore/streams"
)

// AddEnded adds the values that a message of SECRETS destroys to a set; none for a value.
func AddEnded(ended stored.Sequences, seq uint64, body []byte) error {
	r, err := parse(seq, body)
	for seq := range r.destroyed() {
		ended.Add(seq)
	}
	return err
}

// Reader calls handle with the records of the segments that can hold a sequence between after and
// through, in their order. It returns the last sequence. 0 for through reads all.
type Reader func(ctx context.Context, after, through uint64, handle func(stored.Message) error) (last uint64, err error)

// Copy reads the messages of SECRETS for a back-up. It leaves out each value that a destruction
// names. The server may run, and may destroy values meanwhile. Memory is a few bits for each
// sequence.
type Copy struct {
	read    Reader
	named   stored.Sequences
	gone    stored.Sequences // without a message in the files
	copied  stored.Sequences
	through uint64 // everything up to it was read
}

// NewCopy reads the stream once, up to a sequence, to learn which values are destroyed. 0 reads all
// of a stopped folder.
func NewCopy(ctx context.Context, read Reader, through uint64) (*Copy, error) {
	c := &Copy{read: read, named: stored.Sequences{}, gone: stored.Sequences{}, copied: stored.Sequences{}}
	_, err := c.read(ctx, 0, through, func(r stored.Message) error {
		if !r.Stands() {
			c.gone.Add(r.Seq)
			return nil
		}
		return c.note(r)
	})
	return c, err
}

func (c *Copy) note(r stored.Message) error {
	if err := AddEnded(c.named, r.Seq, r.Body); err != nil {
		return fmt.Errorf("%w: %w", stored.ErrRefused, err)
	}
	return nil
}

// Each calls handle with the messages after those of the last call, up to a sequence, in their
// order.
func (c *Copy) Each(ctx context.Context, through uint64, handle func(stored.Message) error) error {
	last, err := c.read(ctx, c.through, through, func(r stored.Message) error {
		if !r.Stands() || r.Seq <= c.through {
			return nil
		}
		if err := c.note(r); err != nil {
			return err
		}
		c.through = r.Seq
		if c.named.Has(r.Seq) || c.gone.Has(r.Seq) {
			return nil
		}
		c.copied.Add(r.Seq)
		return handle(r)
	})
	c.through = max(c.through, last, through)
	return err
}

// Late takes a message up to through that a server lacked.
func (c *Copy) Late(r stored.Message) error {
	c.copied.Add(r.Seq)
	return c.note(r)
}

// Whole reports whether a destruction names every sequence that was not copied. The other sequences
// were destroyed while the stream was read: their destructions stand further on.
func (c *Copy) Whole() (missing uint64, whole bool) {
	for seq := uint64(1); seq <= c.through; seq++ {
		if !c.copied.Has(seq) && !c.named.Has(seq) {
			return seq, false
		}
	}
	return 0, true
}

// Filler returns a message that stands in a segment's gap until a restore is complete: its subject,
// and its body.
func Filler(stream string) (subject string, body []byte) {
	return subjectOf(newSegment(numberOf(stream), 0), fillerTopic), newDestruction("", "", nil).body
}

const fillerTopic = "filler"

// StreamOf returns the segment that holds the messages of a subject; "" for a subject of another
// stream.
func StreamOf(subject string) string {
	rest, ours := strings.CutPrefix(subject, strings.TrimSuffix(streams.Pattern(streams.SecretShard), ">"))
	if !ours {
		return ""
	}
	number, _, _ := strings.Cut(rest, ".")
	return streams.Secrets + "_" + number
}
