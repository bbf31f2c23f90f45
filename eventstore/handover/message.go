package handover

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"

	"payledger/domain"
	"payledger/eventstore/format"
)

const (
	draftsSubject = "payledger.drafts."
	placedSubject = "payledger.placed."
	echoSubject   = "payledger.echo."

	nodeHeader    = "Payledger-Node"
	visitorHeader = "Payledger-Visitor"
	nextHeader    = "Payledger-Next"
	barrierHeader = "Payledger-Barrier"
	keyHeader     = "Payledger-Key"
	groupHeader   = "Payledger-Group"
	closeHeader   = "Payledger-Close"
	refusedHeader = "Payledger-Refused"
	headHeader    = "Payledger-Head"
	relayHeader   = "Payledger-Relay"
)

// Refusal is the reason why a node did not append a draft, or did not serve a reader.
type Refusal string

const (
	// Conflict means that another event has the draft's place: the log up to the owner's head shows
	// which.
	Conflict Refusal = "conflict"
	// Elsewhere means that the node is not the owner, cannot append now, or has not yet read the
	// event before the draft.
	Elsewhere Refusal = "elsewhere"
)

// DraftsSubject returns the subject of all requests to a node.
func DraftsSubject(node string) string { return draftsSubject + node + ".*" }

// AnswersSubject returns the subject of all answers to a node.
func AnswersSubject(node string) string { return placedSubject + node + ".*.*" }

// EchoSubject returns the subject of the messages that a node sends to itself.
func EchoSubject(node string) string { return echoSubject + node }

// NameWriter adds what a message says about its writer to its NATS header.
func NameWriter(h nats.Header, w format.Writer) {
	if w.Node != "" {
		h[nodeHeader] = []string{w.Node}
	}
	if w.Visitor {
		h[visitorHeader] = []string{"1"}
	}
	if w.Next != "" {
		h[nextHeader] = []string{w.Next}
	}
}

// WriterOf reads what the NATS header of a group's message says about its writer.
func WriterOf(h nats.Header) format.Writer {
	return format.Writer{Node: h.Get(nodeHeader), Visitor: h.Get(visitorHeader) != "", Next: h.Get(nextHeader)}
}

// WriterIn is WriterOf for the bytes of a NATS header. An unreadable one is that of a visitor: it
// changes no owner.
func WriterIn(header []byte) format.Writer {
	if len(header) == 0 {
		return format.Writer{}
	}
	h, err := nats.DecodeHeadersMsg(header)
	if err != nil {
		return format.Writer{Visitor: true}
	}
	return WriterOf(h)
}

// MaxKeys is the largest number of aggregates in one request. More readers wait for the whole
// shard.
const MaxKeys = 64

// Request hands drafts and readers to the owner of a shard.
type Request struct {
	From, To string // nodes
	Shard    int
	Drafts   []*format.Recorded
	Barrier  uint64       // number of the request, if readers wait; 0: none
	Keys     []format.Key // of the aggregates that they read; none: the whole shard
	Head     uint64       // the newest group that the asking node has applied
	Group    bool         // they wait for the acknowledgement of a group that is sent after the request
	Close    uint32       // number of the segment that is to be closed; 0: none
	Relay    bool         // the node is not the owner: it hands the request on
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
	setNumber(m, headHeader, r.Head)
	for _, k := range r.Keys {
		m.Header.Add(keyHeader, string(k.Account)+"."+k.Aggregate+"."+k.ID)
	}
	if r.Group {
		m.Header.Set(groupHeader, "1")
	}
	if r.Relay {
		m.Header.Set(relayHeader, "1")
	}
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
	if r.Head, err = number(m, headHeader); err != nil {
		return r, err
	}
	segment, err := number(m, closeHeader)
	if err != nil || segment > math.MaxUint32 {
		return r, fmt.Errorf("handover: request to close segment %d: %w", segment, err)
	}
	r.Close, r.Group, r.Relay = uint32(segment), m.Header.Get(groupHeader) != "", m.Header.Get(relayHeader) != ""
	for _, name := range m.Header.Values(keyHeader) {
		part := strings.Split(name, ".")
		if len(part) != 3 || len(r.Keys) == MaxKeys {
			return r, fmt.Errorf("handover: request for %d aggregates, or an unreadable name", len(r.Keys))
		}
		r.Keys = append(r.Keys, format.Key{Account: domain.AccountID(part[0]), Aggregate: part[1], ID: part[2]})
	}
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

// Answer is an owner's answer: the acknowledgement of a group, the end of the shard for readers, or
// a refusal.
type Answer struct {
	From    string // the node that got the request
	Shard   int
	Head    uint64 // the newest acknowledged group of that node
	Barrier uint64 // the readers of this request are served when they have applied Head, or are refused

	Refused Refusal // "": a group was acknowledged
	Hashes  []format.Hash
	// Nobody means that no node takes requests under the name.
	Nobody bool
}

// Stored returns the message that reports an acknowledged group to the reply subject of a request:
// it has drafts of the request, or its readers are served when they have applied it.
func Stored(reply string, group, barrier uint64) *nats.Msg {
	m := &nats.Msg{Subject: reply, Header: nats.Header{}}
	setNumber(m, headHeader, group)
	setNumber(m, barrierHeader, barrier)
	return m
}

// Refused returns the message that refuses drafts, or the readers of a request, to its reply
// subject.
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

// number reads a line of the NATS header; 0 when it is missing.
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
