package secretlog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"payledger/eventstore/blocks"
	"payledger/eventstore/fault"
	"payledger/eventstore/sidelog"
	"payledger/eventstore/streams"
)

// AddEnded adds the values that a message of SECRETS destroys to a set; none for a value.
func AddEnded(ended blocks.Sequences, seq uint64, body []byte) error {
	r, err := parse(seq, body)
	for seq := range r.destroyed() {
		ended.Add(seq)
	}
	return err
}

// Reader calls handle with the records of the segments that can hold a sequence between after and
// through, in their order. It returns the last sequence. 0 for through reads all.
type Reader func(ctx context.Context, after, through uint64, handle func(blocks.Record) error) (last uint64, err error)

// Copy reads the messages of SECRETS for a back-up. It leaves out each value that a destruction
// names. The server may run, and may destroy values meanwhile. Memory is a few bits for each
// sequence.
type Copy struct {
	read    Reader
	named   blocks.Sequences
	gone    blocks.Sequences // without a message in the files
	copied  blocks.Sequences
	through uint64 // everything up to it was read
}

// NewCopy reads the stream once, up to a sequence, to learn which values are destroyed. 0 reads all
// of a stopped folder.
func NewCopy(ctx context.Context, read Reader, through uint64) (*Copy, error) {
	c := &Copy{read: read, named: blocks.Sequences{}, gone: blocks.Sequences{}, copied: blocks.Sequences{}}
	_, err := c.read(ctx, 0, through, func(r blocks.Record) error {
		if r.Tombstone || r.Erased {
			c.gone.Add(r.Seq)
			return nil
		}
		return c.note(r)
	})
	return c, err
}

func (c *Copy) note(r blocks.Record) error {
	if err := AddEnded(c.named, r.Seq, r.Body); err != nil {
		return fmt.Errorf("%w: %w", blocks.ErrRefused, err)
	}
	return nil
}

// Each calls handle with the messages after those of the last call, up to a sequence, in their
// order.
func (c *Copy) Each(ctx context.Context, through uint64, handle func(blocks.Record) error) error {
	last, err := c.read(ctx, c.through, through, func(r blocks.Record) error {
		if r.Tombstone || r.Erased || r.Seq <= c.through {
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
func (c *Copy) Late(r blocks.Record) error {
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

// InFolder returns the reader of the files of a folder. The server may run.
func InFolder(dir string) Reader {
	return func(ctx context.Context, after, through uint64, handle func(blocks.Record) error) (last uint64, err error) {
		segments, err := Segments(dir)
		if err != nil {
			return 0, err
		}
		firsts := make([]uint64, len(segments))
		for i, stream := range segments {
			meta, err := metaOf(dir, stream)
			if err != nil && !errors.Is(err, os.ErrNotExist) { // else it is being created
				return 0, fault.Damage(stream, 1, err)
			}
			firsts[i] = meta.FirstSeq
		}
		for i, stream := range segments {
			if i+1 < len(segments) && firsts[i+1] > 0 && firsts[i+1] <= after+1 {
				continue
			}
			options := blocks.Options{Deletes: true, Through: through, Pace: func(int) error { return ctx.Err() }}
			options.Handle = func(r blocks.Record) error {
				if through > 0 && r.Seq > through && !r.Tombstone || r.Seq < firsts[i] { // a segment begins with a mark for the sequence before
					return nil
				}
				last = max(last, r.Seq)
				return handle(r)
			}
			report, err := blocks.Verify(dir, streams.Account, stream, options)
			if err != nil {
				return last, fmt.Errorf("eventstore: %s: %w", stream, err)
			}
			for _, f := range report.Faults {
				if report.Kind == blocks.Damaged {
					return last, fault.Damage(stream, max(f.From, f.After+1), errors.New(f.String()))
				}
			}
		}
		return last, nil
	}
}

// Filler returns a message that stands in a segment's gap until a restore is complete: its subject,
// and its body.
func Filler(stream string) (subject string, body []byte) {
	return subjectOf(stream, fillerTopic), newDestruction("", "", nil).body
}

const fillerTopic = "filler"

// StreamOf returns the segment that holds the messages of a subject; "" for a subject of another
// stream.
func StreamOf(subject string) string {
	of, rest, _ := strings.Cut(subject, ".")
	number, _, _ := strings.Cut(rest, ".")
	if of != root {
		return ""
	}
	return sidelog.SecretStream + "_" + number
}
