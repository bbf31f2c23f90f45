package eventstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore/blocks"
	"payledger/eventstore/jetapi"
	"payledger/eventstore/sidelog"
)

// SecretCheck judges a value of the stream of secrets, given its name and the bytes that are stored. An error refuses the
// start. The value is valid during the call only.
//
// It is called once, with the oldest value that stands, or not at all if none stands. Values of groups are left out: they are
// sealed under other values. A start under a wrong key would make new values that the right key does not open.
type SecretCheck func(name string, value []byte) error

// errChecked ends the reading of a stream at its first value.
var errChecked = errors.New("eventstore: a value was found")

// checkStoppedSecrets calls check with the oldest value in a stopped folder. It changes no byte and leaves out
// damaged records: inspect reports those.
func checkStoppedSecrets(dir string, check SecretCheck) error {
	names, err := blocks.Streams(dir, ledgerAccount)
	if err != nil {
		return fmt.Errorf("eventstore: %w", err)
	}
	for _, g := range secretSegments(names) {
		var verdict error
		subject := g.subject(secretValues)
		_, err := blocks.Verify(dir, ledgerAccount, g.stream, blocks.Options{Deletes: true, Handle: func(r blocks.Record) error {
			if r.Erased || r.Tombstone || r.Subject != subject {
				return nil
			}
			value, err := parseSecret(r.Seq, r.Body)
			if err != nil || value.kind != secretValue {
				return nil //nolint:nilerror // it is damaged
			}
			verdict = check(value.name, value.value)
			return errChecked
		}})
		if errors.Is(err, errChecked) {
			return verdict
		}
		if err != nil {
			return fmt.Errorf("eventstore: %s: %w", g.stream, err)
		}
	}
	return nil
}

// ReadStoppedSecret returns the oldest value of a name in a stopped folder, as it is stored; ErrNotFound if there is none. It
// changes no byte.
func ReadStoppedSecret(dir, name string) (stored []byte, err error) {
	names, err := blocks.Streams(dir, ledgerAccount)
	if err != nil {
		return nil, fmt.Errorf("eventstore: %w", err)
	}
	for _, g := range secretSegments(names) {
		_, err := blocks.Verify(dir, ledgerAccount, g.stream, blocks.Options{Deletes: true, Handle: func(r blocks.Record) error {
			if r.Erased || r.Tombstone {
				return nil
			}
			if found, err := parseSecret(r.Seq, r.Body); err == nil && found.kind == secretValue && found.name == name {
				stored = bytes.Clone(found.value)
				return errChecked
			}
			return nil
		}})
		if errors.Is(err, errChecked) {
			return stored, nil
		}
		if err != nil {
			return nil, fmt.Errorf("eventstore: %s: %w", g.stream, err)
		}
	}
	return nil, ErrNotFound
}

// checkSecrets calls check with the oldest value on a server.
func (s *Store) checkSecrets(ctx context.Context, check SecretCheck) error {
	list := s.js.StreamNames(ctx, jetstream.WithStreamListSubject(secretRoot+".>"))
	var names []string
	for name := range list.Name() {
		names = append(names, name)
	}
	if err := list.Err(); err != nil {
		return fmt.Errorf("eventstore: %s: %w", sidelog.SecretStream, err)
	}
	for _, g := range secretSegments(names) {
		m, err := s.api.AtLeader(ctx, g.stream, jetapi.Get{Seq: 1, NextBySubject: g.subject(secretValues)})
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		value, err := parseSecret(m.Seq, m.Data)
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrUnhealthy, g.stream, err)
		}
		return check(value.name, value.value)
	}
	return nil
}

// secretSegment is a segment of SECRETS, by its name alone.
type secretSegment struct {
	number uint32
	stream string
}

func (g secretSegment) subject(end string) string {
	return fmt.Sprintf("%s.%d.%s", secretRoot, g.number, end)
}

// secretSegments picks the segments of SECRETS out of the names of streams, in their order.
func secretSegments(names []string) (all []secretSegment) {
	for _, name := range names {
		if of, number, ok := sidelog.ParseName(name); ok && of == sidelog.SecretStream {
			all = append(all, secretSegment{number, name})
		}
	}
	slices.SortFunc(all, func(a, b secretSegment) int { return int(a.number) - int(b.number) })
	return all
}
