package secretlog

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"payledger/eventstore/due"
	"payledger/eventstore/fault"
	"payledger/eventstore/folder"
	"payledger/eventstore/jetapi"
	"payledger/eventstore/stored"
	"payledger/eventstore/streams"
)

const (
	pageSecrets = 1024
	// rebuildReport is the time between two progress reports of a long reading.
	rebuildReport = 2 * time.Second
	// recheckPause is the wait before a missing message is read again: the answer may be from a
	// leader that is cut off from its cluster.
	recheckPause = time.Second
)

// catchUp reads the stream into the index, at least up to an acknowledged message. Writers that
// come meanwhile wait, and share the next page: it ends at the newest acknowledged message.
func (x *index) catchUp(ctx context.Context, through uint64) error {
	if x.whole(through) {
		return nil
	}
	select {
	case x.reading <- struct{}{}:
		defer func() { <-x.reading }()
	case <-ctx.Done():
		return ctx.Err()
	}
	report := time.Now()
	for {
		applied, acked := x.place()
		if applied >= through {
			return x.resolveGaps(ctx)
		}
		if now := time.Now(); now.Sub(report) > rebuildReport {
			report = now
			x.Log.Info().Str("stream", streams.Secrets).Uint64("at", applied).Uint64("of", through).Msg("the index is brought up to the stream")
		}
		if err := x.enterPage(ctx, applied+1, max(through, acked)); err != nil {
			return err
		}
	}
}

// enterPage reads a page from a sequence on, and enters its messages in their order.
func (x *index) enterPage(ctx context.Context, from, through uint64) error {
	page, end, err := x.page(ctx, from, through)
	if err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, r := range page {
		if r.seq <= x.applied {
			continue
		}
		x.missing(r.seq - 1)
		if err := x.apply(r); err != nil {
			return err
		}
		x.grow(r.seq)
	}
	x.missing(end)
	x.tell()
	return nil
}

// missing notes that there is no message from applied up to a sequence. The caller holds the lock.
func (x *index) missing(through uint64) {
	for seq := x.applied + 1; seq <= through; seq++ {
		x.gaps.Add(seq)
	}
	x.grow(through)
}

// page reads the messages of one segment from a sequence on. It returns every message up to end.
func (x *index) page(ctx context.Context, from, through uint64) (page []record, end uint64, err error) {
	g := x.segments.of(from)
	if g.Last > 0 {
		through = min(through, g.Last)
	}
	if err := x.mayUse(ctx, g, folder.Span{From: from, Through: through}); err != nil {
		return nil, 0, err
	}
	page, whole, err := x.direct(ctx, g, from, through)
	if errors.Is(err, errRecord) && x.API.Replicas == 1 { // else the leader may have another message
		return nil, 0, x.damage(from, err.Error())
	}
	if len(page) > 0 {
		end = page[len(page)-1].seq
	}
	if x.API.Replicas == 1 {
		if err == nil && whole {
			end = max(through, end)
		}
		return page, end, err
	}
	if len(page) > 0 {
		page, err = x.withGenerations(ctx, g, page, from)
		return page, end, err
	}
	m, err := x.API.AtLeader(ctx, g.Name(), jetapi.Get{Seq: from, NextBySubject: ">"}) // a replica may lack the message
	if errors.Is(err, fault.ErrNotFound) {
		return nil, through, nil
	}
	if err != nil {
		return nil, 0, err
	}
	r, err := parse(m.Seq, m.Body)
	if err != nil {
		return nil, 0, x.damage(m.Seq, err.Error())
	}
	return []record{r}, m.Seq, nil
}

// withGenerations adds the beginnings of generations to a page that a replica lacked. The values
// after a beginning count by its generation.
func (x *index) withGenerations(ctx context.Context, g segment, page []record, from uint64) ([]record, error) {
	end := page[len(page)-1].seq
	if uint64(len(page)) == end-from+1 { // nothing is missing
		return page, nil
	}
	for {
		m, err := x.API.AtLeader(ctx, g.Name(), jetapi.Get{Seq: from, NextBySubject: subjectOf(g, generationTopic)})
		if errors.Is(err, fault.ErrNotFound) || err == nil && m.Seq > end {
			return page, nil
		}
		if err != nil {
			return nil, err
		}
		i, there := slices.BinarySearchFunc(page, m.Seq, func(r record, seq uint64) int { return cmp.Compare(r.seq, seq) })
		if !there {
			r, err := parse(m.Seq, m.Body)
			if err != nil {
				return nil, x.damage(m.Seq, err.Error())
			}
			page = slices.Insert(page, i, r)
		}
		from = m.Seq + 1
	}
}

// direct reads a page from one server. whole means that the page has every message up to through.
func (x *index) direct(ctx context.Context, g segment, from, through uint64) (page []record, whole bool, err error) {
	past := false
	whole, err = x.API.Page(ctx, x.Reader, g.Name(), ">", from, pageSecrets, func(seq uint64, m *nats.Msg) (bool, error) {
		if past = seq > through; past { // a later read gets it
			return false, nil
		}
		r, err := parse(seq, m.Data)
		if err == nil {
			page = append(page, r)
		}
		return true, err
	})
	return page, whole || past, err
}

// resolveGaps determines why messages are missing that no destruction has named yet.
func (x *index) resolveGaps(ctx context.Context) error {
	var since time.Time
	for {
		x.mu.Lock()
		seq, applied := x.gaps.Lowest(), x.applied
		x.mu.Unlock()
		if seq == 0 {
			return nil
		}
		if err := x.mayReadEnd(ctx); err != nil {
			return err
		}
		last, err := End(ctx, x.API, x.segments.all()) // a destruction is in the stream before its values are deleted
		if err != nil {
			return err
		}
		if last > applied {
			if err := x.enterPage(ctx, applied+1, last); err != nil {
				return err
			}
			continue
		}
		if err := x.mayRead(ctx, seq); err != nil {
			return err
		}
		m, err := x.API.AtLeader(ctx, x.segments.of(seq).Name(), jetapi.Get{Seq: seq})
		if since.IsZero() && errors.Is(err, fault.ErrNotFound) {
			since = time.Now()
		}
		switch {
		case err == nil: // a replica lacked the message
			err = x.enterLate(m)
		case !errors.Is(err, fault.ErrNotFound):
		case x.API.Replicas > 1 && time.Since(since) < jetapi.StaleLeader:
			err = due.Rest(ctx, recheckPause, nil)
		default:
			err = x.damage(seq, "the record is missing, and no destruction names it")
		}
		if err != nil {
			return err
		}
	}
}

// enterLate enters a message into the index that counted as missing.
func (x *index) enterLate(m stored.Message) error {
	r, err := parse(m.Seq, m.Body)
	if err != nil {
		return x.damage(m.Seq, err.Error())
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.apply(r); err != nil {
		return err
	}
	x.gaps.Remove(r.seq)
	x.tell()
	return nil
}

// refresh reads the stream up to the end at its leader; of a sole writer, up to its newest
// acknowledged message, which is usually in the index.
func (x *index) refresh(ctx context.Context) error {
	if x.Sole {
		_, acked := x.place()
		return x.catchUp(ctx, acked)
	}
	last, err := End(ctx, x.API, x.segments.all())
	if err != nil || last == 0 {
		return err
	}
	return x.catchUp(ctx, last)
}

// find returns the value of a name; ErrNotFound if it was never stored, or was destroyed.
func (x *index) find(ctx context.Context, name string) (entry, error) {
	e, err := x.entry(name)
	if err == nil && !e.stands() {
		if err = x.refresh(ctx); err == nil {
			e, err = x.entry(name)
		}
	}
	if err == nil && !e.stands() {
		err = fault.ErrNotFound
	}
	return e, err
}

// read returns the value at an index entry. The error is fault.ErrNotFound if there is no message,
// and errRecord if it is another message. With several replicas it reads at the leader: another
// replica may still hold a destroyed value.
func (x *index) read(ctx context.Context, name string, e entry) ([]byte, error) {
	err := x.mayRead(ctx, e.seq)
	if err != nil {
		return nil, err
	}
	stream := x.segments.of(e.seq).Name()
	var body []byte
	if x.API.Replicas > 1 {
		var m stored.Message
		m, err = x.API.AtLeader(ctx, stream, jetapi.Get{Seq: e.seq})
		body = m.Body
	} else {
		var m *nats.Msg
		if m, err = x.API.Direct(ctx, x.Reader, stream, e.seq); err == nil {
			body = m.Data
		}
	}
	if err != nil {
		return nil, err
	}
	r, err := parse(e.seq, body)
	if err == nil && (!r.isValue() || r.name != name || r.digest() != e.digest) {
		err = errRecord
	}
	return r.value, err
}
