package engine

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"payledger/eventstore/applied"
	"payledger/eventstore/fault"
	"payledger/eventstore/folder"
	"payledger/eventstore/format"
	"payledger/eventstore/handover"
	"payledger/eventstore/jetapi"
	"payledger/eventstore/streams"
)

// OutcomePatience is how long outcomes of deliveries let first records go before them.
var OutcomePatience = streams.KindOf(streams.DeliveryShard).Overtaken

// Bounds of the format that tests hold it to.
const (
	MaxFrames     = format.MaxFrames
	MaxGroupBytes = format.MaxGroupBytes
	MaxFrameBytes = format.MaxFrameBytes
	FrameHead     = format.FrameHead
	FixedHeader   = format.FixedHeader
	WitnessBytes  = format.WitnessBytes
	GroupTrailer  = format.GroupTrailer
	KindEvents    = format.KindEvents
	KindEmpty     = format.KindEmpty
	KindClosing   = format.KindClosing
	NoShard       = format.NoShard
)

// Errors of bytes that are no frame, or no group.
var (
	ErrFrame = format.ErrFrame
	ErrGroup = format.ErrGroup
)

// StreamName is the first segment of a shard.
func StreamName(shard int) string { return streams.Name(shard, 1) }

// SegmentName is any segment of a shard.
func SegmentName(shard int, number uint32) string { return streams.Name(shard, number) }

// ParseFrame reads one frame. It returns the number of bytes after it.
func ParseFrame(b []byte) (*format.Recorded, int, error) {
	r, rest, err := format.ParseFrame(b)
	return r, len(rest), err
}

// Group is a group for tests.
type Group struct {
	Kind         format.Kind
	Shard        int
	Log          format.LogID
	Seq          uint64
	Before       format.Hash
	Events       uint64
	Aggregates   uint64
	WitnessShard int
	WitnessSeq   uint64
	WitnessHash  format.Hash
	Ends         format.Ends
	Frames       []*format.Recorded
	Next         uint32
	Hash         format.Hash
	Size         int
}

func (g *Group) group() *format.Group {
	return &format.Group{
		Kind: g.Kind, Shard: g.Shard, Log: g.Log, Seq: g.Seq, Before: g.Before, Events: g.Events, Aggregates: g.Aggregates,
		Witness: format.Witness{Shard: g.WitnessShard, Link: format.Link{Seq: g.WitnessSeq, Hash: g.WitnessHash}}, Ends: g.Ends, Frames: g.Frames, Next: g.Next,
	}
}

// Encode returns the group's message, compressed as in the log, and sets its hash and the places of
// its events.
func (g *Group) Encode() []byte {
	inner := g.group()
	inner.Place()
	data := inner.Encode()
	g.Hash, g.Size = inner.Hash, inner.Size
	return data
}

// EncodePlain is Encode without compression.
func (g *Group) EncodePlain() []byte {
	frames := []byte{}
	for _, r := range g.Frames {
		frames = r.AppendFrame(frames)
	}
	if g.Kind == format.KindClosing {
		frames = binary.BigEndian.AppendUint32(frames, g.Next)
	}
	return g.seal(format.StoredPlain, frames)
}

// seal returns a message with the group's header and the right hash over any frames, stored in any
// form.
func (g *Group) seal(how byte, stored []byte) []byte {
	data := g.Encode()
	head := format.FixedHeader
	if data[4]&format.HasWitness != 0 {
		head += format.WitnessBytes
	}
	if data[4]&format.HasEnds != 0 {
		head += format.EndsBytes
	}
	data = append(data[:head:head], stored...)
	data[5] = how
	return Rehash(append(data, make([]byte, format.GroupTrailer)...))
}

// Rehash sets the hash at the end of a message that was changed.
func Rehash(data []byte) []byte {
	end := len(data) - format.GroupTrailer
	sum := sha256.Sum256(data[:end])
	copy(data[end:], sum[:])
	return data
}

// ParseGroup reads a message.
func ParseGroup(data []byte) (*Group, error) {
	g, err := format.ParseGroup(data)
	if err != nil {
		return nil, err
	}
	return &Group{
		g.Kind, g.Shard, g.Log, g.Seq, g.Before, g.Events, g.Aggregates, g.Witness.Shard, g.Witness.Seq, g.Witness.Hash, g.Ends, g.Frames, g.Next,
		g.Hash, g.Size,
	}, nil
}

// End returns the last acknowledged group of a shard, and the number of the shard's events up to
// it.
func (s *Store) End(shard int) (seq uint64, hash format.Hash, events, aggregates uint64) {
	end, _ := s.shard[shard].end()
	return end.Seq, end.Hash, end.Events, end.Aggregates
}

// Owner returns the node that gets the store's drafts of a shard; "" if the store appends directly.
func (s *Store) Owner(shard int) string {
	h := s.shard[shard]
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.owner.MayAppend() {
		return ""
	}
	return h.owner.Target()
}

// Freeze stops all work on a shard, as if the process were stopped, until the caller calls the
// result.
func (s *Store) Freeze(shard int) (thaw func()) {
	s.shard[shard].mu.Lock()
	return s.shard[shard].mu.Unlock
}

// Deafen makes the store hear nothing of what it sends to itself.
func (s *Store) Deafen() error { return s.echo.Unsubscribe() }

// HandTo makes the store's next group of a shard name the next owner.
func (s *Store) HandTo(n int, node string) {
	s.handTo(s.shard[n:n+1], func(*shard) string { return node })
}

// Stay ends Leave.
func (s *Store) Stay() { s.leaving.Store(false) }

// WaitReading waits until so many readers wait for the end of a group under way.
func (s *Store) WaitReading(ctx context.Context, at, n int) error {
	return s.waitFor(ctx, at, func(h *shard) bool { return len(h.exchange.reading) >= n })
}

// Segments returns the first sequence of each segment of a shard that the store knows.
func (s *Store) Segments(shard int) (firsts []uint64) {
	h := s.shard[shard]
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range h.segments.Line {
		firsts = append(firsts, g.First)
	}
	return firsts
}

// FlushTips writes the tips that wait to the tip store.
func (s *Store) FlushTips() error { return s.writeTips() }

// ForgetGroups drops the groups in memory, so that readers go to the log.
func (s *Store) ForgetGroups() {
	for _, h := range s.shard {
		h.mu.Lock()
		h.recentGroups = applied.Groups{}
		h.mu.Unlock()
	}
	for range 2 { // each is larger than a generation
		s.groups.Put(groupPlace{shard: -1}, cachedGroup{Group: &format.Group{Size: 1 << 50}})
	}
}

// Silence makes the next group of each shard the first one after a silence, and the looks at the
// blocks too old.
func (s *Store) Silence() {
	for _, h := range s.all() {
		h.mu.Lock()
		h.beyond.stored = time.Time{}
		h.mu.Unlock()
	}
	s.guard = folder.NewGuard(s.disk.Dir, s.api.Patience(), time.Now)
}

// CloseSegment closes the open segment of a shard, and returns the first sequence of the next one.
func (s *Store) CloseSegment(ctx context.Context, at int) (first uint64, err error) {
	h := s.shard[at]
	h.mu.Lock()
	number := h.segments.Open().Number
	h.segments.closeAt = number
	h.sendNext()
	h.mu.Unlock()
	err = s.waitFor(ctx, at, func(h *shard) bool {
		first = h.segments.Open().First
		return h.segments.Open().Number > number
	})
	return first, err
}

// CachedSize is the room that a group takes in the cache.
func CachedSize(g *format.Group) int { return cachedSize(cachedGroup{Group: g}) }

// LimitGroups empties the cache of groups, and sets its capacity.
func (s *Store) LimitGroups(capacity int) { s.groups = newGroups(capacity) }

// Forge lets readers find a changed group in place of g, with a hash of its own, which it returns.
func (s *Store) Forge(g *format.Group, change func(*format.Group)) format.Hash {
	forged := *g
	forged.Hash = sha256.Sum256(g.Hash[:])
	change(&forged)
	s.groups.Put(groupPlace{g.Shard, g.Seq}, cachedGroup{Group: &forged})
	return forged.Hash
}

// StartAgain reads the end of a shard as a start does, which has applied no group yet: the last
// group, and the end that the tip store has applied.
func (s *Store) StartAgain(ctx context.Context, shard int) (applied, last format.Hash, err error) {
	h := s.shard[shard]
	h.mu.Lock()
	head := h.head
	h.head = format.Head{}
	h.mu.Unlock()
	err = h.readGroups(ctx, head.Seq, head.Seq, func(g *format.Group) error { last = g.Hash; return nil })
	if err == nil {
		var end format.Head
		end, err = h.endInTipStore(ctx)
		applied = end.Hash
	}
	h.mu.Lock()
	h.head = head
	h.mu.Unlock()
	return applied, last, err
}

// PublishGroup sends a group's message to a segment, expecting the sequence before it. It returns
// the error code of the answer; 0 is an acknowledgement.
func PublishGroup(ctx context.Context, nc *nats.Conn, shard int, segment uint32, seq uint64, data []byte) (code int, err error) {
	return PublishGroupAs(ctx, nc, "", shard, segment, seq, data)
}

// PublishGroupAs is PublishGroup of a node with a name.
func PublishGroupAs(ctx context.Context, nc *nats.Conn, node string, shard int, segment uint32, seq uint64, data []byte) (code int, err error) {
	m := nats.NewMsg(streams.Subject(shard, segment))
	m.Data = data
	if node != "" {
		handover.NameWriter(m.Header, format.Writer{Node: node})
	}
	m.Header.Set(nats.ExpectedLastSeqHdr, strconv.FormatUint(seq-1, 10))
	answer, err := nc.RequestMsgWithContext(ctx, m)
	if err != nil {
		return 0, err
	}
	var ack struct {
		Error *jetapi.Error `json:"error"`
	}
	err = json.Unmarshal(answer.Data, &ack)
	if err == nil && ack.Error != nil {
		code = ack.Error.ErrCode
	}
	return code, err
}

// Flight is a group that a test has under way in a store, in place of the store itself.
type Flight struct {
	Data []byte
	h    *shard
	f    *flight
	d    *entry
}

// Depart puts r into a new group, as append does, and sends nothing. The store has to own the
// shard.
func (s *Store) Depart(ctx context.Context, r *format.Recorded) (*Flight, error) {
	h := s.shard[r.Shard]
	d := &entry{r: r, began: time.Now(), done: make(chan struct{})}
	for ctx.Err() == nil {
		h.mu.Lock()
		if h.beyond.busy() || h.segments.rolling || h.beyond.holds(r.Key) || !h.owner.MayAppend() {
			h.mu.Unlock()
			runtime.Gosched()
			continue
		}
		h.queue.drafts = append(h.queue.drafts, d)
		f := h.makeGroup()
		h.mu.Unlock()
		if f == nil || len(f.drafts) != 1 {
			return nil, errors.New("the group did not leave")
		}
		data := f.g.Encode()
		h.mu.Lock()
		f.data = data
		h.beyond.encoded(f)
		h.mu.Unlock()
		return &Flight{data, h, f, d}, nil
	}
	return nil, ctx.Err()
}

// Publish sends the group's bytes once without the store, and returns the error code of the answer.
func (f *Flight) Publish(ctx context.Context) (code int, err error) {
	return PublishGroupAs(ctx, f.h.s.nc, f.f.g.Writer.Node, f.h.n, f.f.seg.Number, f.f.g.Seq, f.Data)
}

// Send sends the group's bytes without a request for an answer.
func (f *Flight) Send() error {
	m := nats.NewMsg(f.f.seg.Subject())
	m.Data, m.Reply = f.Data, nats.NewInbox()
	m.Header.Set(nats.ExpectedLastSeqHdr, strconv.FormatUint(f.f.g.Seq-1, 10))
	return f.h.s.nc.PublishMsg(m)
}

// Lose reports to the store that no answer came, and waits for the end of the draft.
func (f *Flight) Lose(ctx context.Context) error {
	f.h.noteOutcome(f.f, unknown, fmt.Errorf("a test: %w", nats.ErrTimeout))
	return f.Wait(ctx)
}

// Refuse reports to the store that the server stored nothing.
func (f *Flight) Refuse(ctx context.Context) error {
	f.h.noteOutcome(f.f, refused, errors.New("a test: refused"))
	return f.Wait(ctx)
}

// GiveUp ends the group after its time limit: its outcome stays unknown.
func (f *Flight) GiveUp(ctx context.Context) error {
	f.h.mu.Lock()
	f.f.result, f.h.beyond.resolving = unknown, true
	f.h.mu.Unlock()
	f.h.giveUp(f.f, fault.ErrUnknown, errors.New("a test: the time is over"))
	f.h.resolve() // as who gave it up goes on
	return f.Wait(ctx)
}

// Wait waits for the end of the draft.
func (f *Flight) Wait(ctx context.Context) error {
	select {
	case <-f.d.done:
		return f.d.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Seq is the group's place.
func (f *Flight) Seq() uint64 { return f.f.g.Seq }

// Make makes the next group of r, as append does. The function that it returns encodes and sends
// the group, and waits for the outcome.
func (s *Store) Make(r *format.Recorded) (drive func(context.Context) error, err error) {
	h := s.shard[r.Shard]
	d := &entry{r: r, began: time.Now(), done: make(chan struct{})}
	h.mu.Lock()
	h.enqueue(d)
	f := h.makeGroup()
	h.mu.Unlock()
	if f == nil {
		return nil, errors.New("no group was made")
	}
	return func(ctx context.Context) error {
		go h.drive(f, nil)
		select {
		case <-d.done:
			return d.err
		case <-ctx.Done():
			return ctx.Err()
		}
	}, nil
}

// DepartBehind is Depart while other groups are under way.
func (s *Store) DepartBehind(ctx context.Context, r *format.Recorded) (*Flight, error) {
	h := s.shard[r.Shard]
	d := &entry{r: r, began: time.Now(), done: make(chan struct{})}
	h.mu.Lock()
	h.queue.drafts = append(h.queue.drafts, d)
	enough := h.s.pipelineFrom
	h.s.pipelineFrom = 1
	f := h.makeGroup()
	h.s.pipelineFrom = enough
	h.mu.Unlock()
	if f == nil || len(f.drafts) != 1 {
		return nil, errors.New("the group did not leave")
	}
	data := f.g.Encode()
	h.mu.Lock()
	defer h.mu.Unlock()
	f.data = data
	h.beyond.encoded(f)
	return &Flight{data, h, f, d}, ctx.Err()
}

// Stored reports to the store that the group was acknowledged.
func (f *Flight) Stored() { f.h.noteOutcome(f.f, acknowledged, nil) }

// WaitFlights waits until so many groups of a shard are under way.
func (s *Store) WaitFlights(ctx context.Context, at, n int) error {
	return s.waitFor(ctx, at, func(h *shard) bool { return len(h.beyond.sent) == n })
}

// WaitWaiting waits until so many drafts wait for a group.
func (s *Store) WaitWaiting(ctx context.Context, at, n int) error {
	return s.waitFor(ctx, at, func(h *shard) bool { return len(h.queue.drafts) == n })
}

func (s *Store) waitFor(ctx context.Context, n int, holds func(*shard) bool) error {
	h := s.shard[n]
	for ctx.Err() == nil {
		h.mu.Lock()
		done := holds(h)
		h.mu.Unlock()
		if done {
			return nil
		}
		runtime.Gosched()
	}
	return ctx.Err()
}

// PipelineFrom sets how many events must wait for a second group to leave.
func (s *Store) PipelineFrom(n int) {
	for _, h := range s.shard {
		h.mu.Lock()
		defer h.mu.Unlock()
	}
	s.pipelineFrom = n
}
