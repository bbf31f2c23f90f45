package format

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"payledger/domain"
	"payledger/eventstore/codec"
)

// ErrFrame means that bytes are not a frame of this format.
var ErrFrame = errors.New("eventstore: malformed frame")

// Attributes of an event, in the order in which they enter its hash (I2). The last two are not
// hashed.
const (
	lineSpecVersion = "ce-specversion"
	lineID          = "ce-id"
	lineType        = "ce-type"
	lineSource      = "ce-source"
	lineSubject     = "ce-subject"
	lineTime        = "ce-time"
	lineContentType = "content-type"
	lineSchema      = "Ledger-Schema"
	lineRevision    = "Ledger-Revision"
	lineCommandID   = "Ledger-Command-Id"
	lineCorrelation = "Ledger-Correlation-Id"
	lineActor       = "Ledger-Actor"
	linePrevSeq     = "Ledger-Prev-Seq"
	lineHash        = "Ledger-Hash"
)

const (
	specVersion = "1.0"
	eventSource = "/payledger"
	contentType = "application/msgpack"
	timeLayout  = "2006-01-02T15:04:05.000000Z"
)

// FrameHead is the size of the two lengths before a frame's text and body.
const FrameHead = 8

func (r *Recorded) appendHashed(b []byte) []byte {
	line := func(name, value string) {
		b = append(append(append(append(b, name...), ':'), value...), '\n')
	}
	line(lineSpecVersion, specVersion)
	line(lineID, r.EventID)
	line(lineType, r.Type)
	line(lineSource, eventSource)
	line(lineSubject, r.Key.name())
	b = append(append(b, lineTime...), ':')
	b = append(r.Time.UTC().AppendFormat(b, timeLayout), '\n')
	line(lineContentType, contentType)
	b = append(append(b, lineSchema...), ':')
	b = append(strconv.AppendInt(b, int64(r.Schema), 10), '\n')
	b = append(append(b, lineRevision...), ':')
	b = append(strconv.AppendUint(b, r.Revision, 10), '\n')
	line(lineCommandID, r.CommandID)
	line(lineCorrelation, r.CorrelationID)
	line(lineActor, r.Actor)
	return b
}

// Raw returns all bytes that the event's hash covers after the hash of the event before.
func (r *Recorded) Raw() []byte { return append(append(r.appendHashed(nil), '\n'), r.Body...) }

// Link computes the event's hash from the hash of the aggregate's event before: see doc.go for the
// bytes.
func (r *Recorded) Link(previous Hash) Hash {
	b := codec.TakeBuffer()
	defer codec.ReturnBuffer(b)
	b.Write(previous[:])
	b.Write(r.appendHashed(b.AvailableBuffer()))
	b.WriteByte('\n')
	b.Write(r.Body)
	return sha256.Sum256(b.Bytes())
}

var noEvent Recorded

// OrNone returns r; for nil, which is no event, one without revision, address and hash. It must not
// be changed.
func (r *Recorded) OrNone() *Recorded {
	if r == nil {
		return &noEvent
	}
	return r
}

// Follow makes r, whose other parts are set, the event after the newest one of its aggregate; nil:
// the first.
func (r *Recorded) Follow(newest *Recorded) {
	newest = newest.OrNone()
	r.Revision, r.PrevSeq = newest.Revision+1, newest.Seq
	r.Hash = r.Link(newest.Hash)
}

// PlaceAs sets the place of the event to the place at which o, the same event, was read.
func (r *Recorded) PlaceAs(o *Recorded) {
	r.Shard, r.Seq, r.Number, r.ends = o.Shard, o.Seq, o.Number, o.ends
}

// AppendFrame appends the event as a frame.
func (r *Recorded) AppendFrame(b []byte) []byte {
	start := len(b)
	b = r.appendText(append(b, make([]byte, FrameHead)...))
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-FrameHead))
	binary.BigEndian.PutUint32(b[start+4:], uint32(len(r.Body)))
	return append(b, r.Body...)
}

func (r *Recorded) appendText(b []byte) []byte {
	b = r.appendHashed(b)
	b = append(append(b, linePrevSeq...), ':')
	b = append(appendAddress(b, r.PrevSeq), '\n')
	b = append(append(b, lineHash...), ':')
	return append(hex.AppendEncode(b, r.Hash[:]), '\n')
}

// appendAddress writes an address as "<sequence>.<frame>"; no address is "0".
func appendAddress(b []byte, address uint64) []byte {
	b = strconv.AppendUint(b, GroupOf(address), 10)
	if address == 0 {
		return b
	}
	return strconv.AppendUint(append(b, '.'), uint64(FrameOf(address)), 10)
}

// ParseFrame reads the frame at the start of b, whose memory the body shares. Shard, Seq and Number
// are the caller's to set.
func ParseFrame(b []byte) (r *Recorded, rest []byte, err error) {
	if len(b) < FrameHead {
		return nil, nil, fmt.Errorf("%w: %d bytes", ErrFrame, len(b))
	}
	text, body := uint64(binary.BigEndian.Uint32(b)), uint64(binary.BigEndian.Uint32(b[4:]))
	if uint64(len(b)-FrameHead) < text+body {
		return nil, nil, fmt.Errorf("%w: it claims %d bytes of %d", ErrFrame, text+body, len(b)-FrameHead)
	}
	lines, end := b[FrameHead:FrameHead+text], FrameHead+text+body
	if r, err = parseLines(string(lines)); err != nil {
		return nil, nil, err
	}
	r.Body = b[FrameHead+text : end : end]
	again := codec.TakeBuffer()
	defer codec.ReturnBuffer(again)
	if written := r.appendText(again.AvailableBuffer()); !bytes.Equal(written, lines) {
		return nil, nil, fmt.Errorf("%w: its text is not as this log writes it", ErrFrame)
	}
	return r, b[end:], nil
}

// parseLines reads the text of a frame. It accepts some texts that the log never writes: ParseFrame
// finds them.
func parseLines(text string) (*Recorded, error) {
	p := lineParser{rest: text}
	r := &Recorded{read: new(atomic.Pointer[any])}
	p.fixed(lineSpecVersion, specVersion)
	r.EventID = p.text(lineID)
	r.Type = p.text(lineType)
	p.fixed(lineSource, eventSource)
	r.Key = p.key(lineSubject)
	r.Time = p.time(lineTime)
	p.fixed(lineContentType, contentType)
	r.Schema = int(p.number(lineSchema, 31))
	r.Revision = p.number(lineRevision, 63)
	r.CommandID = p.text(lineCommandID)
	r.CorrelationID = p.text(lineCorrelation)
	r.Actor = p.text(lineActor)
	r.PrevSeq = p.address(linePrevSeq)
	p.hash(lineHash, &r.Hash)
	if p.err == nil && p.rest != "" {
		p.fail("text", "goes on after its last line")
	}
	if p.err == nil && (r.Revision == 0 || r.Key.Valid() != nil) {
		p.fail(lineSubject, "names no event")
	}
	return r, p.err
}

// lineParser reads lines in their order and keeps the first fault.
type lineParser struct {
	rest string
	err  error
}

func (p *lineParser) fail(name, what string) {
	if p.err == nil {
		p.err = fmt.Errorf("%w: %s %s", ErrFrame, name, what)
	}
}

func (p *lineParser) text(name string) string {
	line, rest, found := strings.Cut(p.rest, "\n")
	if !found || len(line) <= len(name) || line[:len(name)] != name || line[len(name)] != ':' {
		p.fail(name, "is missing")
		return ""
	}
	p.rest = rest
	return line[len(name)+1:]
}

func (p *lineParser) fixed(name, want string) {
	if p.text(name) != want {
		p.fail(name, "is not "+want)
	}
}

func (p *lineParser) number(name string, bits int) uint64 {
	n, err := strconv.ParseUint(p.text(name), 10, bits)
	if err != nil {
		p.fail(name, "is not a number")
	}
	return n
}

// time reads a time of timeLayout. time.Parse takes longer: it reads the layout as well.
func (p *lineParser) time(name string) time.Time {
	text := p.text(name)
	if len(text) != len(timeLayout) {
		p.fail(name, "is not a time")
		return time.Time{}
	}
	number := func(from, to int) (n int) {
		for _, digit := range []byte(text[from:to]) {
			n = 10*n + int(digit-'0')
		}
		return n
	}
	return time.Date(number(0, 4), time.Month(number(5, 7)), number(8, 10), number(11, 13), number(14, 16), number(17, 19),
		1000*number(20, 26), time.UTC)
}

func (p *lineParser) key(name string) Key {
	parts := strings.SplitN(p.text(name), ".", 3)
	if len(parts) != 3 {
		p.fail(name, "is not a key")
		return Key{}
	}
	return Key{Account: domain.AccountID(parts[0]), Aggregate: parts[1], ID: parts[2]}
}

func (p *lineParser) address(name string) uint64 {
	sequence, frame, more := strings.Cut(p.text(name), ".")
	group, err := strconv.ParseUint(sequence, 10, 64-frameBits)
	number := uint64(0)
	if err == nil && more {
		number, err = strconv.ParseUint(frame, 10, frameBits)
	}
	if err != nil || more != (group > 0) {
		p.fail(name, "is not an address")
	}
	return At(group, int(number))
}

func (p *lineParser) hash(name string, to *Hash) {
	text := p.text(name)
	if len(text) != hex.EncodedLen(len(to)) {
		p.fail(name, "is not a hash")
		return
	}
	if _, err := hex.Decode(to[:], []byte(text)); err != nil {
		p.fail(name, "is not a hash")
	}
}

// CleanLine returns text that fits into one line: control characters become spaces.
func CleanLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
}
