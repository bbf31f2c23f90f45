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

// Check checks a stored value, which must not be used after the call. If Check returns an error,
// the store does not start.
//
// Check is called with the oldest value that exists, and, if this fails, with the proof of the
// newest generation. If there is no value, it is not called. Values of groups are not checked: they
// are encrypted under keys that are values themselves. A start with a wrong master key would create
// values that the right key cannot open.
type Check func(name string, value []byte) error

var errFound = errors.New("eventstore: the message was found")

// find reads messages until found returns true. It reports whether it did.
func find(read func(handle func(blocks.Record) error) error, found func(blocks.Record) bool) (bool, error) {
	err := read(func(m blocks.Record) error {
		if found(m) {
			return errFound
		}
		return nil
	})
	if errors.Is(err, errFound) {
		return true, nil
	}
	return false, err
}

// CheckStopped calls check for the values in a stopped folder. It changes no byte, and ignores
// damaged records: the inspection reports them.
func CheckStopped(dir string, check Check) error { return CheckRead(inStopped(dir), check) }

// CheckRead is CheckStopped for the messages that read returns, in their order.
func CheckRead(read func(handle func(blocks.Record) error) error, check Check) error {
	var seen bool
	var failed error // of the oldest value
	var generations []record
	var floor record
	opened, err := find(read, func(m blocks.Record) bool {
		r, err := parse(m.Seq, m.Body)
		switch {
		case err != nil: // it is damaged
		case r.kind == kindGeneration:
			r.value = bytes.Clone(r.value)
			generations = append(generations, r)
		case r.kind == kindDropped:
			floor = r
		case r.isValue() && !seen && strings.HasSuffix(m.Subject, "."+valueTopic):
			seen, failed = true, check(r.name, r.value)
			return failed == nil
		}
		return false
	})
	if err != nil || opened {
		return err
	}
	if newest := newestOf(generations, floor); newest.seq > 0 {
		return check(ProofName, newest.value)
	}
	return failed
}

// Unnamed calls damaged for each record of SECRETS that is missing in a stopped folder although no
// destruction names it. It needs no tip store. The files must be undamaged.
func Unnamed(dir string, names []string, damaged func(stream string, seq uint64, reason string) error) error {
	stand, named, last := blocks.Sequences{}, blocks.Sequences{}, map[string]uint64{}
	segments := segmentsIn(dir, names)
	for _, stream := range segments {
		err := each(dir, stream, func(r blocks.Record) error {
			stand.Add(r.Seq)
			last[stream] = max(last[stream], r.Seq)
			found, err := parse(r.Seq, r.Body)
			if err != nil {
				return damaged(stream, r.Seq, err.Error())
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
	for _, stream := range segments {
		for ; next <= last[stream]; next++ {
			if !stand.Has(next) && !named.Has(next) {
				return damaged(stream, next, "the record is missing, and no destruction names it")
			}
		}
	}
	return nil
}

// ReadStopped calls use with the stored values of a name in a stopped folder, the oldest first,
// until it returns nil. A value that is sealed with another master key may stand beside the value
// that counts. ReadStopped returns the last error; ErrNotFound if there is no value. It changes no
// byte.
func ReadStopped(dir, name string, use func(stored []byte) error) error {
	return useValue(inStopped(dir), name, use)
}

// ReadOn is ReadStopped for the values that read returns.
func ReadOn(ctx context.Context, read Reader, name string, use func(stored []byte) error) error {
	return useValue(func(handle func(blocks.Record) error) error {
		_, err := read(ctx, 0, 0, handle)
		return err
	}, name, use)
}

func useValue(read func(handle func(blocks.Record) error) error, name string, use func([]byte) error) error {
	failed := fault.ErrNotFound
	used, err := find(read, func(m blocks.Record) bool {
		r, err := parse(m.Seq, m.Body)
		if err != nil || !r.isValue() || r.name != name { // the value is damaged, or has another name
			return false
		}
		failed = use(r.value)
		return failed == nil
	})
	if err != nil || used {
		return err
	}
	return failed
}

// CheckServer calls check with the proof of the newest generation on a server; in the first
// generation with the oldest value.
func CheckServer(ctx context.Context, server sidelog.Server, check Check) error {
	segments, err := SegmentsOn(ctx, server)
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
	for _, stream := range segments {
		m, err := server.API.AtLeader(ctx, stream, jetapi.Get{Seq: 1, NextBySubject: subjectOf(stream, valueTopic)})
		if errors.Is(err, fault.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		value, err := parse(m.Seq, m.Data)
		if err != nil {
			return fmt.Errorf("%w: %s: %w", fault.ErrUnhealthy, stream, err)
		}
		return check(value.name, value.value)
	}
	return nil
}

// ProofName is the name under which the proof of a generation is sealed.
const ProofName = "generation-proof"

// newestGeneration returns the message that began the generation in force; without a sequence in
// the first generation.
func newestGeneration(ctx context.Context, server sidelog.Server, segments []string) (newest record, err error) {
	floor, err := floorOn(ctx, server, segments)
	if err != nil {
		return newest, err
	}
	var generations []record
	for _, stream := range segments {
		for from := uint64(1); ; {
			m, err := server.API.AtLeader(ctx, stream, jetapi.Get{Seq: from, NextBySubject: subjectOf(stream, generationTopic)})
			if errors.Is(err, fault.ErrNotFound) {
				break
			}
			if err != nil {
				return newest, err
			}
			r, err := parse(m.Seq, m.Data)
			if err != nil {
				return newest, fmt.Errorf("%w: %s: %w", fault.ErrUnhealthy, stream, err)
			}
			generations = append(generations, r)
			from = m.Seq + 1
		}
	}
	return newestOf(generations, floor), nil
}

// Fence appends a message without effect on a server of a cluster, and returns its sequence. Its
// acknowledgement covers all messages before.
func Fence(ctx context.Context, server sidelog.Server) (seq uint64, err error) {
	segments, err := SegmentsOn(ctx, server)
	if err != nil || len(segments) == 0 {
		return 0, err
	}
	m := nats.NewMsg(subjectOf(segments[len(segments)-1], destroyedTopic))
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
