package secretlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"

	"payledger/eventstore/blocks"
	"payledger/eventstore/fault"
	"payledger/eventstore/jetapi"
	"payledger/eventstore/sidelog"
)

// Check checks a stored value, which must not be used after the call. If Check returns an error, the store does not start.
//
// Check is called with the oldest value that exists, and, if this fails, with the proof of the newest generation. If there is no value, it is
// not called. Values of groups are not checked: they are
// encrypted under keys that are values themselves. A start with a wrong master key would create values that the right key cannot open.
type Check func(name string, value []byte) error

// errChecked stops a read at the first value.
var errChecked = errors.New("eventstore: a value was found")

// CheckStopped calls check with the oldest value in a stopped folder, and after an error with the proof of the newest generation, if there is
// one. It changes no byte. It ignores damaged records: the inspection reports them.
func CheckStopped(dir string, check Check) error {
	segments, err := segmentsOf(dir)
	if err != nil {
		return err
	}
	k := KeyCheck{Check: check}
	for _, g := range segments {
		err := g.each(dir, func(r blocks.Record) error {
			if k.Opens(r.Seq, r.Subject, r.Body) {
				return errChecked
			}
			return nil
		})
		if errors.Is(err, errChecked) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return k.Result()
}

// KeyCheck checks a master key with the messages of a stream in their order: the key opens the oldest value, or the proof of the newest
// generation. The zero value with a Check is ready.
type KeyCheck struct {
	Check  Check
	seen   bool
	failed error // of the oldest value
	newest record
}

// Opens takes the next message. It reports whether the key opens the oldest value: no other message is needed then.
func (k *KeyCheck) Opens(seq uint64, subject string, body []byte) bool {
	r, err := parse(seq, body)
	switch {
	case err != nil: // it is damaged
	case r.kind == kindGeneration && r.generation == k.newest.seq:
		r.value = bytes.Clone(r.value)
		k.newest = r
	case r.isValue() && !k.seen && strings.HasSuffix(subject, "."+valueTopic):
		k.seen, k.failed = true, k.Check(r.name, r.value)
		return k.failed == nil
	}
	return false
}

// Result returns the result of the check after all messages; nil if there was no value.
func (k *KeyCheck) Result() error {
	if k.newest.seq > 0 {
		return k.Check(ProofName, k.newest.value)
	}
	return k.failed
}

// Unnamed calls damaged for each record of SECRETS that is missing in a stopped folder although no destruction names it.
// It needs no tip store. The files must be undamaged.
func Unnamed(dir string, names []string, damaged func(stream string, seq uint64, reason string) error) error {
	stand, named, last := blocks.Sequences{}, blocks.Sequences{}, map[string]uint64{}
	segments, err := countingIn(dir, names)
	if err != nil {
		return err
	}
	for _, g := range segments {
		err := g.each(dir, func(r blocks.Record) error {
			stand.Add(r.Seq)
			last[g.stream] = max(last[g.stream], r.Seq)
			found, err := parse(r.Seq, r.Body)
			if err != nil {
				return damaged(g.stream, r.Seq, err.Error())
			}
			for seq := range found.destroyed() {
				named.Add(seq)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	next := uint64(1)
	for _, g := range segments {
		for ; next <= last[g.stream]; next++ {
			if !stand.Has(next) && !named.Has(next) {
				return damaged(g.stream, next, "the record is missing, and no destruction names it")
			}
		}
	}
	return nil
}

// ReadStopped calls use with the stored values of a name in a stopped folder, the oldest first, until it returns nil. A value that is
// sealed with another master key may stand beside the value that counts. ReadStopped returns the last error; ErrNotFound if there is no
// value. It changes no byte.
func ReadStopped(dir, name string, use func(stored []byte) error) error {
	segments, err := segmentsOf(dir)
	if err != nil {
		return err
	}
	failed := fault.ErrNotFound
	for _, g := range segments {
		err := g.each(dir, func(r blocks.Record) error { return useValue(r, name, use, &failed) })
		if errors.Is(err, errChecked) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return failed
}

// ReadOn is ReadStopped for the values that read returns.
func ReadOn(ctx context.Context, read Reader, name string, use func(stored []byte) error) error {
	failed := fault.ErrNotFound
	_, err := read(ctx, 0, 0, func(r blocks.Record) error { return useValue(r, name, use, &failed) })
	switch {
	case errors.Is(err, errChecked):
		return nil
	case err != nil:
		return err
	}
	return failed
}

// useValue calls use with the value in a record, if it has the name. It returns errChecked after a success.
func useValue(r blocks.Record, name string, use func([]byte) error, failed *error) error {
	found, err := parse(r.Seq, r.Body)
	if err != nil || !found.isValue() || found.name != name {
		return nil //nolint:nilerror // it is damaged
	}
	if *failed = use(found.value); *failed == nil {
		return errChecked
	}
	return nil
}

// CheckServer calls check with the proof of the newest generation on a server; in the first generation with the oldest value.
func CheckServer(ctx context.Context, server sidelog.Server, check Check) error {
	segments, err := countingOn(ctx, server)
	if err != nil {
		return err
	}
	newest, err := newestGeneration(ctx, server, segments)
	if err != nil {
		return err
	}
	if newest.seq > 0 {
		return check(ProofName, newest.value)
	}
	for _, g := range segments {
		m, err := server.API.AtLeader(ctx, g.stream, jetapi.Get{Seq: 1, NextBySubject: g.subject(valueTopic)})
		if errors.Is(err, fault.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		value, err := parse(m.Seq, m.Data)
		if err != nil {
			return fmt.Errorf("%w: %s: %w", fault.ErrUnhealthy, g.stream, err)
		}
		return check(value.name, value.value)
	}
	return nil
}

// ProofName is the name under which the proof of a generation is sealed.
const ProofName = "generation-proof"

// newestGeneration returns the message that began the generation in force; without a sequence in the first generation.
func newestGeneration(ctx context.Context, server sidelog.Server, segments []segment) (newest record, err error) {
	for _, g := range segments {
		for from := uint64(1); ; {
			m, err := server.API.AtLeader(ctx, g.stream, jetapi.Get{Seq: from, NextBySubject: g.subject(generationTopic)})
			if errors.Is(err, fault.ErrNotFound) {
				break
			}
			if err != nil {
				return newest, err
			}
			r, err := parse(m.Seq, m.Data)
			if err != nil {
				return newest, fmt.Errorf("%w: %s: %w", fault.ErrUnhealthy, g.stream, err)
			}
			if r.generation == newest.seq {
				newest = r
			}
			from = m.Seq + 1
		}
	}
	return newest, nil
}

// SegmentsOn returns the names of the segments on a server that belong to the stream, in their order.
func SegmentsOn(ctx context.Context, server sidelog.Server) (all []string, err error) {
	segments, err := countingOn(ctx, server)
	for _, g := range segments {
		all = append(all, g.stream)
	}
	return all, err
}

// Fence appends a message without effect on a server of a cluster. Its acknowledgement covers all messages before it. Fence returns its
// sequence.
func Fence(ctx context.Context, server sidelog.Server) (seq uint64, err error) {
	segments, err := countingOn(ctx, server)
	if err != nil || len(segments) == 0 {
		return 0, err
	}
	m := nats.NewMsg(segments[len(segments)-1].subject(destroyedTopic))
	m.Data = newDestruction("", "", nil).body
	ack, err := server.API.Publish(ctx, m)
	if err == nil && ack.Error != nil {
		err = ack.Error
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %s: %w", fault.ErrNoMajority, sidelog.SecretStream, err)
	}
	return ack.Seq, nil
}
