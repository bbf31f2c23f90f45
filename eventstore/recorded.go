package eventstore

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

// Hash is a link of an aggregate's hash chain; the first event's previous hash is all zero.
type Hash [sha256.Size]byte

func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// Recorded is one event as it stands in the log.
type Recorded struct {
	Key
	Shard         int
	Seq           uint64 // place in the shard's stream
	Revision      uint64 // place in the aggregate's events, gapless from 1
	PrevSeq       uint64 // Seq of the aggregate's event before; 0 for the first
	Type          string
	Schema        int
	EventID       string
	CommandID     string
	CorrelationID string
	Actor         string
	Time          time.Time
	Hash          Hash
	Body          []byte // msgpack map {"event", "state"}

	// What Body was made from, where this process made it: spares readers the decoding. Never changed.
	event, state any
	// The hashed headers of an event that is to be appended, until it is durable.
	lines []field
}

// Headers of a message, in the order in which they enter the hash (I2).
const (
	headerSpecVersion = "ce-specversion"
	headerID          = "ce-id"
	headerType        = "ce-type"
	headerSource      = "ce-source"
	headerSubject     = "ce-subject"
	headerTime        = "ce-time"
	headerContentType = "content-type"
	headerSchema      = "Ledger-Schema"
	headerRevision    = "Ledger-Revision"
	headerPrevSeq     = "Ledger-Prev-Seq"
	headerCommandID   = "Ledger-Command-Id"
	headerCorrelation = "Ledger-Correlation-Id"
	headerActor       = "Ledger-Actor"
	headerHash        = "Ledger-Hash"
)

const (
	specVersion = "1.0"
	eventSource = "/payledger"
	contentType = "application/msgpack"
	timeLayout  = "2006-01-02T15:04:05.000000Z"
)

// field is one header line.
type field struct{ name, value string }

// fields lists the hashed headers in their order.
func (r *Recorded) fields() []field {
	if r.lines != nil {
		return r.lines
	}
	fields := make([]field, 0, 15) // message adds two
	return append(fields, []field{
		{headerSpecVersion, specVersion},
		{headerID, r.EventID},
		{headerType, r.Type},
		{headerSource, eventSource},
		{headerSubject, r.Key.name()},
		{headerTime, r.Time.UTC().Format(timeLayout)},
		{headerContentType, contentType},
		{headerSchema, strconv.Itoa(r.Schema)},
		{headerRevision, strconv.FormatUint(r.Revision, 10)},
		{headerPrevSeq, strconv.FormatUint(r.PrevSeq, 10)},
		{headerCommandID, r.CommandID},
		{headerCorrelation, r.CorrelationID},
		{headerActor, r.Actor},
	}...)
}

// link computes the event's hash from the one before it: see doc.go for the exact bytes.
func (r *Recorded) link(previous Hash) Hash {
	b := takeScratch()
	defer giveBack(b)
	b.Write(previous[:])
	for _, f := range r.fields() {
		b.WriteString(f.name)
		b.WriteByte(':')
		b.WriteString(f.value)
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	b.Write(r.Body)
	return sha256.Sum256(b.Bytes())
}

// message makes the message to publish. Header keys are set as written: CloudEvents names are lower case.
func (r *Recorded) message() *nats.Msg {
	fields := append(r.fields(),
		field{headerHash, r.Hash.String()},
		field{nats.ExpectedLastSubjSeqHdr, strconv.FormatUint(r.PrevSeq, 10)})
	header, values := make(nats.Header, len(fields)), make([]string, len(fields))
	for i, f := range fields {
		values[i] = f.value
		header[f.name] = values[i : i+1 : i+1]
	}
	return &nats.Msg{Subject: r.Key.subject(r.Shard), Header: header, Data: r.Body}
}

// parseMessage reads a stored message back; any header that is missing or malformed is an error.
func parseMessage(subject string, seq uint64, header nats.Header, body []byte) (*Recorded, error) {
	shard, key, err := parseSubject(subject)
	if err != nil {
		return nil, err
	}
	p := headerParser{header: header}
	r := &Recorded{
		Key: key, Shard: shard, Seq: seq, Body: body,
		EventID: p.text(headerID), Type: p.text(headerType),
		CommandID: p.text(headerCommandID), CorrelationID: p.text(headerCorrelation), Actor: p.text(headerActor),
		Schema: int(p.number(headerSchema)), Revision: p.number(headerRevision), PrevSeq: p.number(headerPrevSeq),
	}
	r.Time = p.time(headerTime)
	copy(r.Hash[:], p.hex(headerHash, len(r.Hash)))
	for _, f := range r.fields() { // the hash covers what is written here: nothing else may stand there
		if p.text(f.name) != f.value {
			p.fail(f.name, "is not as this log writes it")
		}
	}
	if key.subject(shard) != subject || r.Revision == 0 || r.PrevSeq >= seq {
		p.fail(headerSubject, "or its place does not fit")
	}
	if p.err != nil {
		return nil, fmt.Errorf("eventstore: %s seq %d: %w", streamName(shard), seq, p.err)
	}
	return r, nil
}

// headerParser collects the first fault, so that reading a message is one straight list.
type headerParser struct {
	header nats.Header
	err    error
}

func (p *headerParser) fail(name, what string) {
	if p.err == nil {
		p.err = fmt.Errorf("header %s %s", name, what)
	}
}

func (p *headerParser) text(name string) string {
	values := p.header[name]
	if len(values) != 1 {
		p.fail(name, "is missing")
		return ""
	}
	return values[0]
}

func (p *headerParser) number(name string) uint64 {
	n, err := strconv.ParseUint(p.text(name), 10, 63)
	if err != nil {
		p.fail(name, "is not a number")
	}
	return n
}

func (p *headerParser) time(name string) time.Time {
	t, err := time.Parse(timeLayout, p.text(name))
	if err != nil {
		p.fail(name, "is not a time")
	}
	return t
}

func (p *headerParser) hex(name string, size int) []byte {
	b, err := hex.DecodeString(p.text(name))
	if err != nil || len(b) != size {
		p.fail(name, "is not a hash")
	}
	return b
}

// keys of the body, as msgpack strings (I2).
const (
	bodyHead     = "\x82\xa5event" // a map of two, the first key
	bodyStateKey = "\xa5state"
)

// StateBytes cuts the encoded state out of the body, without decoding it: whoever stores states need not
// encode them again. The bytes are the body's own.
func (r *Recorded) StateBytes() ([]byte, error) {
	rest, ok := bytes.CutPrefix(r.Body, []byte(bodyHead))
	if !ok {
		return nil, fmt.Errorf("eventstore: body of %s revision %d: %w", r.Key, r.Revision, errMalformed)
	}
	n, err := wireLength(rest)
	if err == nil {
		rest, ok = bytes.CutPrefix(rest[n:], []byte(bodyStateKey))
	}
	if err == nil && ok {
		err = checkWire(rest)
	}
	if err != nil || !ok {
		return nil, fmt.Errorf("eventstore: body of %s revision %d: %w", r.Key, r.Revision, errMalformed)
	}
	return rest, nil
}
