package eventstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"payledger/eventstore/format"
)

const (
	// pageGroups is how many groups one request reads; pageBytes bounds the bytes of one answer.
	pageGroups = 64
	pageBytes  = 4 << 20
	// staleLeader is how long a leader that lost its connection to the cluster may still answer.
	staleLeader = 20 * time.Second
)

// readGroup returns the acknowledged group at a sequence, from memory or from the log. An unreadable group is damage.
func (h *shard) readGroup(ctx context.Context, seq uint64) (*format.Group, error) {
	if gs := h.from(seq); len(gs) > 0 {
		return gs[0], nil
	}
	if g := h.s.groups.get(h.n, seq); g != nil {
		return g, nil
	}
	g, err := h.mustRead(ctx, seq)
	if err == nil {
		h.s.groups.put(g)
	}
	return g, err
}

// mustRead reads a group that the log must hold.
func (h *shard) mustRead(ctx context.Context, seq uint64) (*format.Group, error) {
	var since time.Time
	for {
		g, err := h.groupDirect(ctx, seq)
		if err != nil && h.s.replicas > 1 { // a replica may be gone, or behind
			g, err = h.groupAtLeader(ctx, seq)
		}
		missing := errors.Is(err, ErrNotFound) || errors.Is(err, format.ErrGroup) || errors.Is(err, format.ErrFrame)
		switch {
		case err == nil:
			return g, nil
		case !missing:
			return nil, err
		case since.IsZero():
			since = time.Now()
		}
		if h.s.replicas == 1 || time.Since(since) > staleLeader {
			switch dropped, lookErr := h.droppedByNow(ctx, seq); {
			case dropped:
				return nil, ErrDropped
			case lookErr != nil:
				return nil, lookErr
			}
			if errors.Is(err, ErrNotFound) {
				err = errors.New("the message is missing")
			}
			return nil, h.fail(seq, err)
		}
		if err := h.s.pause(ctx, recheckPause); err != nil {
			return nil, err
		}
	}
}

// groupDirect reads one group by Direct Get.
func (h *shard) groupDirect(ctx context.Context, seq uint64) (*format.Group, error) {
	ctx, cancel := context.WithTimeout(ctx, h.s.directTimeout())
	defer cancel()
	seg, ok := h.segmentOf(seq)
	if !ok {
		return nil, ErrNotFound
	}
	m, err := h.s.reader(h.s.readers.shard(h)).RequestWithContext(ctx, "$JS.API.DIRECT.GET."+seg.name(h.n),
		[]byte(`{"seq":`+strconv.FormatUint(seq, 10)+`}`))
	if err != nil {
		return nil, fmt.Errorf("eventstore: read: %w", err)
	}
	return h.directGroup(m, seq)
}

// directGroup reads the answer to a Direct Get.
func (h *shard) directGroup(m *nats.Msg, seq uint64) (*format.Group, error) {
	switch status := m.Header.Get("Status"); status {
	case "":
	case "404":
		return nil, ErrNotFound
	default:
		return nil, fmt.Errorf("eventstore: read: status %s %s", status, m.Header.Get("Description"))
	}
	if at := m.Header.Get("Nats-Sequence"); at != strconv.FormatUint(seq, 10) {
		return nil, ErrNotFound
	}
	return h.parse(seq, m.Data)
}

// parse reads the message at seq.
func (h *shard) parse(seq uint64, data []byte) (*format.Group, error) {
	g, err := format.ParseGroup(data)
	if err == nil && (g.Seq != seq || g.Shard != h.n || g.Log != h.s.id) {
		err = fmt.Errorf("%w: it is group %d of shard %d", format.ErrGroup, g.Seq, g.Shard)
	}
	return g, err
}

// groupAtLeader reads one group at the leader of its stream.
func (h *shard) groupAtLeader(ctx context.Context, seq uint64) (*format.Group, error) {
	seg, ok := h.segmentOf(seq)
	if !ok {
		return nil, ErrNotFound
	}
	m, err := h.s.messageAtLeader(ctx, "$JS.API.STREAM.MSG.GET."+seg.name(h.n), getRequest{Seq: seq})
	if err != nil {
		return nil, err
	}
	return h.parse(seq, m.Data)
}

// lastAtLeader returns the sequence of the last group of the shard, by the leader of the open segment. If that group closes its
// segment, lastAtLeader continues in the next one, which another process may have made.
func (h *shard) lastAtLeader(ctx context.Context) (uint64, error) {
	for {
		h.mu.Lock()
		seg := h.open()
		h.mu.Unlock()
		m, err := h.s.messageAtLeader(ctx, "$JS.API.STREAM.MSG.GET."+seg.name(h.n), getRequest{LastBySubject: seg.subject(h.n)})
		if errors.Is(err, ErrNotFound) {
			return seg.first - 1, nil
		}
		if err != nil {
			return 0, err
		}
		g, err := h.parse(m.Seq, m.Data)
		if err != nil {
			return 0, h.fail(m.Seq, err)
		}
		if g.Kind != format.KindClosing {
			return m.Seq, nil
		}
		if err := h.makeSuccessor(ctx, g); err != nil {
			return 0, err
		}
	}
}

// readGroups calls handle with the groups from..through, in order. The log must hold all of them.
func (h *shard) readGroups(ctx context.Context, from, through uint64, handle func(*format.Group) error) error {
	for from <= through {
		page, err := h.page(ctx, from, min(through-from+1, pageGroups))
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		if len(page) == 0 { // a fault of the connection, or damage: mustRead finds out which
			g, err := h.mustRead(ctx, from)
			if err != nil {
				return err
			}
			page = append(page, g)
		}
		for _, g := range page {
			if err := handle(g); err != nil {
				return err
			}
			from++
		}
	}
	return nil
}

// page reads up to n consecutive groups of one segment from seq on, from one server.
func (h *shard) page(ctx context.Context, seq, n uint64) (page []*format.Group, err error) {
	seg, ok := h.segmentOf(seq)
	if !ok {
		return nil, ErrNotFound
	}
	if seg.last > 0 {
		n = min(n, seg.last-seq+1)
	}
	if n == 1 {
		g, err := h.groupDirect(ctx, seq)
		if err != nil {
			return nil, err
		}
		return []*format.Group{g}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, h.s.directTimeout())
	defer cancel()
	nc := h.s.reader(h.s.readers.shard(h))
	inbox, answers := nats.NewInbox(), make(chan *nats.Msg, pageGroups+1)
	sub, err := nc.ChanSubscribe(inbox, answers)
	if err != nil {
		return nil, fmt.Errorf("eventstore: read: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }() // it fails only without a connection, and then there is no subscription
	question, err := json.Marshal(struct {
		Seq      uint64 `json:"seq"`
		Batch    uint64 `json:"batch"`
		MaxBytes int    `json:"max_bytes"`
		Next     string `json:"next_by_subj"`
	}{seq, n, pageBytes, seg.subject(h.n)})
	if err != nil {
		return nil, fmt.Errorf("eventstore: read: %w", err)
	}
	if err := nc.PublishRequest("$JS.API.DIRECT.GET."+seg.name(h.n), inbox, question); err != nil {
		return nil, fmt.Errorf("eventstore: read: %w", err)
	}
	for uint64(len(page)) < n {
		var m *nats.Msg
		select {
		case m = <-answers:
		case <-ctx.Done():
			return page, fmt.Errorf("eventstore: read: %w", ctx.Err())
		}
		if m.Header.Get("Status") != "" { // the end of this answer
			return page, nil
		}
		g, err := h.directGroup(m, seq+uint64(len(page)))
		if err != nil {
			return page, err
		}
		page = append(page, g)
	}
	return page, nil
}
