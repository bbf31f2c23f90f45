package commandstest

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"payledger/eventstore"
	"payledger/eventstore/engine"
	"payledger/eventstore/format"
	"payledger/eventstore/handover"
)

// Sent returns the first event of a type in what a client sends to a NATS server, in a message of
// the log or in a request to the node that appends it; nil: there is none.
func Sent(p []byte, eventType string) *eventstore.Recorded {
	return sent(p, "ledger.", func(r *eventstore.Recorded) bool { return r.Type == eventType })
}

// SentBeside is Sent for a record of deliveries, by its name, which is not a delivery's.
func SentBeside(p []byte, name string) *eventstore.Recorded {
	return sent(p, "deliveries.", func(r *eventstore.Recorded) bool { return r.Aggregate == format.BesideAggregate && r.ID == name })
}

// requests begins the subjects of requests to nodes.
var requests = []byte(strings.TrimSuffix(handover.DraftsSubject(""), ".*"))

func sent(p []byte, subjects string, is func(*eventstore.Recorded) bool) *eventstore.Recorded {
	for offset := 0; offset < len(p); {
		line, rest, found := bytes.Cut(p[offset:], []byte("\r\n"))
		if !found {
			return nil
		}
		words := bytes.Fields(line)
		if len(words) < 4 || string(words[0]) != "HPUB" {
			offset += len(line) + 2
			continue
		}
		head, err := strconv.Atoi(string(words[len(words)-2]))
		size, err2 := strconv.Atoi(string(words[len(words)-1]))
		if err != nil || err2 != nil || head > size || size > len(rest) {
			return nil
		}
		if bytes.HasPrefix(words[1], []byte(subjects)) || bytes.HasPrefix(words[1], requests) {
			if r := in(rest[head:size], is); r != nil {
				return r
			}
		}
		offset += len(line) + 2 + size + 2
	}
	return nil
}

// in returns the first record of a group, or of the frames in a request, that is the right one.
func in(message []byte, is func(*eventstore.Recorded) bool) *eventstore.Recorded {
	if group, err := format.ParseGroup(message); err == nil {
		if i := slices.IndexFunc(group.Frames, is); i >= 0 {
			return group.Frames[i]
		}
		return nil
	}
	for len(message) > 0 {
		r, rest, err := format.ParseFrame(message)
		if err != nil {
			return nil
		}
		if is(r) {
			return r
		}
		message = rest
	}
	return nil
}

// Awaited is the record that a connection has sent and that it waits for before it breaks. An
// answer does not show that the log has the record: the owner of a shard answers drafts and readers
// on one subject, a node hears late answers to what it asked before, and a message can be refused.
type Awaited struct {
	mu sync.Mutex
	r  *eventstore.Recorded // nil: none
}

// Await waits for a record.
func (a *Awaited) Await(r *eventstore.Recorded) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.r = r
}

// SentAgain waits for a record instead of the one before it, if there is one.
func (a *Awaited) SentAgain(r *eventstore.Recorded) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.r != nil {
		a.r = r
	}
}

// In reports whether the log has the record. Then no record is awaited any more. A connection looks
// before it passes on bytes of the server: its process learns of the record only after s has it.
func (a *Awaited) In(s *engine.Store) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.r == nil || !recorded(s, a.r) {
		return false
	}
	a.r = nil
	return true
}

// recorded reports whether the log has a record. A store that cannot read now does not know.
func recorded(s *engine.Store, r *eventstore.Recorded) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if r.Aggregate == format.BesideAggregate {
		last, err := s.Deliveries().Last(ctx, r.ID)
		return err == nil && !last.Time.Before(r.Time)
	}
	events, err := s.History(ctx, r.Key)
	return err == nil && slices.ContainsFunc(events, func(e *eventstore.Recorded) bool { return e.Hash == r.Hash })
}
