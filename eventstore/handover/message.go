package handover

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"

	"payledger/eventstore/format"
)

// NodeHeader names the node that wrote a group.
const NodeHeader = "Payledger-Node"

const (
	draftsSubject = "payledger.drafts."
	placedSubject = "payledger.placed."

	barrierHeader = "Payledger-Barrier"
	closeHeader   = "Payledger-Close"
	refusedHeader = "Payledger-Refused"
	headHeader    = "Payledger-Head"
)

// Refusal is the reason why a sequencer did not append a draft.
type Refusal string

const (
	// Conflict means that another event has the draft's place: the log up to the sequencer's head shows which.
	Conflict Refusal = "conflict"
	// Elsewhere means that the node is not the sequencer, cannot append now, or has not yet read the event before the draft.
	Elsewhere Refusal = "elsewhere"
)

// DraftsSubject returns the subject of all requests to a node.
func DraftsSubject(node string) string { return draftsSubject + node + ".*" }

// AnswersSubject returns the subject of all answers to a node.
func AnswersSubject(node string) string { return placedSubject + node + ".*.*" }

// Request hands drafts to the sequencer of a shard.
type Request struct {
	From, To string // nodes
	Shard    int
	Drafts   []*format.Recorded
	Barrier  uint64 // number of the readers that wait; 0: none
	Close    uint32 // number of the segment that is to be closed; 0: none
}

// Message returns the message of the request.
func (r Request) Message() *nats.Msg {
	shard := strconv.Itoa(r.Shard)
	m := &nats.Msg{
		Subject: draftsSubject + r.To + "." + shard, Reply: placedSubject + r.From + "." + shard + "." + r.To, Header: nats.Header{},
	}
	for _, d := range r.Drafts {
		m.Data = d.AppendFrame(m.Data)
	}
	setNumber(m, barrierHeader, r.Barrier)
	setNumber(m, closeHeader, uint64(r.Close))
	return m
}

// ParseRequest reads a request. The shard of the drafts is set.
func ParseRequest(m *nats.Msg) (r Request, err error) {
	part := strings.Split(m.Subject, ".")
	if len(part) != 4 || m.Reply == "" {
		return r, fmt.Errorf("handover: request on %q", m.Subject)
	}
	if r.Shard, err = strconv.Atoi(part[3]); err != nil {
		return r, fmt.Errorf("handover: request on %q", m.Subject)
	}
	r.To = part[2]
	reply := strings.Split(m.Reply, ".")
	if len(reply) != 5 || !strings.HasPrefix(m.Reply, placedSubject) || reply[3] != part[3] || reply[4] != r.To || strings.ContainsAny(m.Reply, "*> ") {
		return r, fmt.Errorf("handover: request with the reply subject %q", m.Reply)
	}
	r.From = reply[2]
	if r.Barrier, err = number(m, barrierHeader); err != nil {
		return r, err
	}
	segment, err := number(m, closeHeader)
	if err != nil || segment > math.MaxUint32 {
		return r, fmt.Errorf("handover: request to close segment %d: %w", segment, err)
	}
	r.Close = uint32(segment)
	for rest := m.Data; len(rest) > 0; {
		var d *format.Recorded
		if d, rest, err = format.ParseFrame(rest); err != nil {
			return r, fmt.Errorf("handover: %w", err)
		}
		d.Shard = r.Shard
		r.Drafts = append(r.Drafts, d)
	}
	return r, nil
}

// Answer is a sequencer's answer: the acknowledgement of a group, or a refusal.
type Answer struct {
	From    string // the sequencer
	Shard   int
	Head    uint64 // the acknowledged group; of a refusal the newest group of the sequencer
	Barrier uint64 // readers up to this number were served, or are refused

	Refused Refusal // "": a group was acknowledged
	Hashes  []format.Hash
	// Nobody means that no node takes requests under the name of the sequencer.
	Nobody bool
}

// Stored returns the message that reports an acknowledged group to the reply subject of a request.
func Stored(reply string, group, barrier uint64) *nats.Msg {
	m := &nats.Msg{Subject: reply, Header: nats.Header{}}
	setNumber(m, headHeader, group)
	setNumber(m, barrierHeader, barrier)
	return m
}

// Refused returns the message that refuses drafts, or readers up to a number, to the reply subject of a request.
func Refused(reply string, why Refusal, head, barrier uint64, hashes ...format.Hash) *nats.Msg {
	m := &nats.Msg{Subject: reply, Header: nats.Header{refusedHeader: {string(why)}}}
	setNumber(m, headHeader, head)
	setNumber(m, barrierHeader, barrier)
	for _, h := range hashes {
		m.Data = append(m.Data, h[:]...)
	}
	return m
}

// ParseAnswer reads an answer.
func ParseAnswer(m *nats.Msg) (a Answer, err error) {
	part := strings.Split(m.Subject, ".")
	if len(part) != 5 {
		return a, fmt.Errorf("handover: answer on %q", m.Subject)
	}
	a.From = part[4]
	if a.Shard, err = strconv.Atoi(part[3]); err != nil {
		return a, fmt.Errorf("handover: answer on %q", m.Subject)
	}
	if a.Nobody = len(m.Data) == 0 && m.Header.Get("Status") == "503"; a.Nobody {
		return a, nil
	}
	if a.Barrier, err = number(m, barrierHeader); err != nil {
		return a, err
	}
	if a.Head, err = number(m, headHeader); err != nil {
		return a, err
	}
	if a.Refused = Refusal(m.Header.Get(refusedHeader)); a.Refused == "" { // nodes of older builds sent the group
		return a, nil
	}
	if len(m.Data)%len(format.Hash{}) != 0 {
		return a, fmt.Errorf("handover: a refusal of %d bytes", len(m.Data))
	}
	for b := m.Data; len(b) > 0; b = b[len(format.Hash{}):] {
		a.Hashes = append(a.Hashes, format.Hash(b[:len(format.Hash{})]))
	}
	return a, nil
}

func setNumber(m *nats.Msg, header string, n uint64) {
	if n > 0 {
		m.Header.Set(header, strconv.FormatUint(n, 10))
	}
}

// number reads a header; 0 when it is missing.
func number(m *nats.Msg, header string) (uint64, error) {
	text := m.Header.Get(header)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("handover: %s: %w", header, err)
	}
	return n, nil
}
