package commandstest

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"sync"

	"payledger/eventstore"
	"payledger/eventstore/format"
	"payledger/eventstore/handover"
)

// Sent finds an event of the given type in what a client sends to a NATS server, in a message of
// the log or in a request to the node that appends it: where its line begins, or -1.
func Sent(p []byte, eventType string) int {
	return sent(p, "ledger.", func(r *eventstore.Recorded) bool { return r.Type == eventType })
}

// SentBeside finds the message of a record of deliveries, by its name, which is not a delivery's.
func SentBeside(p []byte, name string) int {
	return sent(p, "deliveries.", func(r *eventstore.Recorded) bool { return r.Aggregate == format.BesideAggregate && r.ID == name })
}

// requests begins the subjects of requests to nodes.
var requests = []byte(strings.TrimSuffix(handover.DraftsSubject(""), ".*"))

func sent(p []byte, subjects string, is func(*eventstore.Recorded) bool) int {
	for offset := 0; offset < len(p); {
		line, rest, found := bytes.Cut(p[offset:], []byte("\r\n"))
		if !found {
			return -1
		}
		words := bytes.Fields(line)
		if len(words) < 4 || string(words[0]) != "HPUB" {
			offset += len(line) + 2
			continue
		}
		head, err := strconv.Atoi(string(words[len(words)-2]))
		size, err2 := strconv.Atoi(string(words[len(words)-1]))
		if err != nil || err2 != nil || head > size || size > len(rest) {
			return -1
		}
		if (bytes.HasPrefix(words[1], []byte(subjects)) || bytes.HasPrefix(words[1], requests)) && holds(rest[head:size], is) {
			return offset
		}
		offset += len(line) + 2 + size + 2
	}
	return -1
}

func holds(message []byte, is func(*eventstore.Recorded) bool) bool {
	if group, err := format.ParseGroup(message); err == nil {
		return slices.ContainsFunc(group.Frames, is)
	}
	for len(message) > 0 {
		r, rest, err := format.ParseFrame(message)
		if err != nil {
			return false
		}
		if is(r) {
			return true
		}
		message = rest
	}
	return false
}

// Answer finds the server's answer to one message in what a client receives.
type Answer struct {
	mu   sync.Mutex
	to   []byte // as it stands in the answer's first line; nil: no answer is awaited
	last []byte // the end of the last piece
}

// Await begins to wait for the answer to the message whose line begins at a place in p.
func (a *Answer) Await(p []byte, offset int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	line, _, _ := bytes.Cut(p[offset:], []byte("\r\n"))
	a.to, a.last = append(bytes.Clone(bytes.Fields(line)[2]), ' '), nil // HPUB, the subject, where the answer goes
}

// In reports whether the first line of the awaited answer ends in the next piece. Then no answer is
// awaited any more.
func (a *Answer) In(piece []byte) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.to == nil {
		return false
	}
	joined := slices.Concat(a.last, piece)
	a.last = bytes.Clone(joined[max(0, len(joined)-len(a.to)+1):])
	found := bytes.Contains(joined, a.to)
	if found {
		a.to = nil
	}
	return found
}
