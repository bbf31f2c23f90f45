package secretlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"

	"payledger/eventstore/fault"
	"payledger/eventstore/jetapi"
	"payledger/eventstore/stored"
	"payledger/eventstore/streams"
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

// Messages calls handle with the messages of SECRETS, in their order.
type Messages func(handle func(stored.Message) error) error

// All returns the messages of a reader.
func (read Reader) All(ctx context.Context) Messages {
	return func(handle func(stored.Message) error) error {
		_, err := read(ctx, 0, 0, handle)
		return err
	}
}

// find reads messages until found returns true. It reports whether it did.
func (read Messages) find(found func(stored.Message) bool) (bool, error) {
	err := read(func(m stored.Message) error {
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

// Check calls check as its comment says. Damaged messages are left out.
func (read Messages) Check(check Check) error {
	var seen bool
	var failed error // of the oldest value
	var generations []record
	var floor record
	opened, err := read.find(func(m stored.Message) bool {
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

// Use calls use with the stored values of a name, the oldest first, until it returns nil. A value
// that is sealed with another master key may stand beside the value that counts. Use returns the
// last error; ErrNotFound if there is no value.
func (read Messages) Use(name string, use func(stored []byte) error) error {
	failed := fault.ErrNotFound
	used, err := read.find(func(m stored.Message) bool {
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

// CheckServer is Check for a server. Of each segment it reads the oldest value, the beginnings of
// generations and the drops.
func CheckServer(ctx context.Context, api *jetapi.Client, check Check) error {
	return Messages(func(handle func(stored.Message) error) error {
		segments, err := SegmentsOn(ctx, api)
		for _, g := range segments {
			for _, topic := range []string{valueTopic, generationTopic, droppedTopic} {
				if err == nil {
					err = eachOn(ctx, api, g, topic, handle)
				}
			}
		}
		return err
	}).Check(check)
}

// eachOn calls handle with the messages of a topic as the leader of a segment holds them; of the
// values with the oldest.
func eachOn(ctx context.Context, api *jetapi.Client, g segment, topic string, handle func(stored.Message) error) error {
	for from := uint64(1); ; {
		m, err := api.AtLeader(ctx, g.Name(), jetapi.Get{Seq: from, NextBySubject: subjectOf(g, topic)})
		switch {
		case errors.Is(err, fault.ErrNotFound):
			return nil
		case err == nil:
			err = handle(m)
		}
		if err != nil || topic == valueTopic {
			return err
		}
		from = m.Seq + 1
	}
}

// ProofName is the name under which the proof of a generation is sealed.
const ProofName = "generation-proof"

// Fence appends a message without effect on a server of a cluster, and returns its sequence. Its
// acknowledgement covers all messages before.
func Fence(ctx context.Context, api *jetapi.Client) (seq uint64, err error) {
	segments, err := SegmentsOn(ctx, api)
	if err != nil || len(segments) == 0 {
		return 0, err
	}
	m := nats.NewMsg(subjectOf(segments.Open(), destroyedTopic))
	m.Data = newDestruction("", "", nil).body
	ack, err := api.Publish(ctx, m)
	if err == nil && ack.Error != nil {
		err = ack.Error
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %s: %w", fault.ErrNoMajority, streams.Secrets, err)
	}
	return ack.Seq, nil
}
