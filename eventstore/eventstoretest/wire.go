package eventstoretest

import (
	"bytes"
	"slices"
	"strconv"

	"payledger/eventstore"
	"payledger/eventstore/format"
)

// Sent finds a message of the log with an event of the given type in what a client sends to a NATS
// server: where its line begins, or -1.
func Sent(p []byte, eventType string) int {
	return sent(p, "ledger.", func(r *eventstore.Recorded) bool { return r.Type == eventType })
}

// SentBeside finds the message of a record of deliveries, by its name, which is not a delivery's.
func SentBeside(p []byte, name string) int {
	return sent(p, "deliveries.", func(r *eventstore.Recorded) bool { return r.Aggregate == format.BesideAggregate && r.ID == name })
}

func sent(p []byte, subjects string, is func(*eventstore.Recorded) bool) int {
	for at := 0; at < len(p); {
		line, rest, found := bytes.Cut(p[at:], []byte("\r\n"))
		if !found {
			return -1
		}
		words := bytes.Fields(line)
		if len(words) < 4 || string(words[0]) != "HPUB" {
			at += len(line) + 2
			continue
		}
		head, err := strconv.Atoi(string(words[len(words)-2]))
		size, err2 := strconv.Atoi(string(words[len(words)-1]))
		if err != nil || err2 != nil || head > size || size > len(rest) {
			return -1
		}
		if bytes.HasPrefix(words[1], []byte(subjects)) && holds(rest[head:size], is) {
			return at
		}
		at += len(line) + 2 + size + 2
	}
	return -1
}

func holds(message []byte, is func(*eventstore.Recorded) bool) bool {
	group, err := format.ParseGroup(message)
	return err == nil && slices.ContainsFunc(group.Frames, is)
}

// Divert returns p with the message at a place sent where nobody listens.
func Divert(p []byte, at int) []byte {
	diverted := bytes.Clone(p)
	copy(diverted[at:], "HPUB nobody.")
	return diverted
}
