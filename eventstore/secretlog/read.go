package secretlog

import (
	"context"
	"errors"
	"time"

	"payledger/eventstore/fault"
	"payledger/eventstore/jetapi"
	"payledger/eventstore/sidelog"
)

const (
	// pageSecrets is how many messages of SECRETS are read with one question.
	pageSecrets = 1024
	// rebuildReport is the time between two progress reports of a long reading.
	rebuildReport = 2 * time.Second
	// recheckPause is the wait before a message that is missing is read again: a leader without connection to the cluster may have
	// answered.
	recheckPause = time.Second
)

// catchUp reads the stream up to a sequence into the index.
func (x *index) catchUp(ctx context.Context, through uint64) error {
	x.reading.Lock()
	defer x.reading.Unlock()
	report := time.Now()
	for {
		applied, _ := x.place()
		if applied >= through {
			return x.settle(ctx)
		}
		if now := time.Now(); now.Sub(report) > rebuildReport {
			report = now
			x.Index.Log.Info().Str("stream", sidelog.SecretStream).Uint64("at", applied).Uint64("of", through).Msg("the index is brought up to the stream")
		}
		page, end, err := x.page(ctx, applied+1, through)
		if err == nil {
			err = x.take(page, end)
		}
		if err != nil {
			return err
		}
	}
}

// take enters messages in their order; up to end there is no other one.
func (x *index) take(page []record, end uint64) error {
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
		delete(x.pending, r.seq)
		x.grow(r.seq)
	}
	x.missing(end)
	return x.drain()
}

// missing notes that nothing stands up to a sequence. The caller holds the lock.
func (x *index) missing(through uint64) {
	for seq := x.applied + 1; seq <= through; seq++ {
		x.gaps.add(seq)
		delete(x.pending, seq)
	}
	x.grow(through)
}

// page reads messages from a sequence on, of one segment. Up to end no other one stands.
func (x *index) page(ctx context.Context, from, through uint64) (page []record, end uint64, err error) {
	g := x.log.Of(from)
	through = min(through, g.Last)
	page, whole, err := x.direct(ctx, g, from, through)
	if errors.Is(err, errRecord) {
		return nil, 0, x.Index.Damage(g.Stream, from, err.Error())
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
		return page, end, nil
	}
	m, err := x.log.API.AtLeader(ctx, g.Stream, jetapi.Get{Seq: from, NextBySubject: ">"}) // a replica may be gone, or behind
	if errors.Is(err, fault.ErrNotFound) {
		return nil, through, nil
	}
	if err != nil {
		return nil, 0, err
	}
	r, err := parse(m.Seq, m.Data)
	if err != nil {
		return nil, 0, x.Index.Damage(g.Stream, m.Seq, err.Error())
	}
	return []record{r}, m.Seq, nil
}

// direct reads a page from one server; whole says that nothing follows up to through.
func (x *index) direct(ctx context.Context, g sidelog.Segment, from, through uint64) (page []record, whole bool, err error) {
	past := false
	whole, err = x.API.Page(ctx, x.Reader, g.Stream, ">", from, pageSecrets, func(seq uint64, data []byte) (bool, error) {
		if past = seq > through; past { // it is read when it counts
			return false, nil
		}
		r, err := parse(seq, data)
		if err == nil {
			page = append(page, r)
		}
		return true, err
	})
	return page, whole || past, err
}

// settle finds out what became of messages that do not stand, and that no destruction has named yet.
func (x *index) settle(ctx context.Context) error {
	var since time.Time
	for {
		x.mu.Lock()
		gaps := x.gaps.some(1)
		applied := x.applied
		x.mu.Unlock()
		if len(gaps) == 0 {
			return nil
		}
		last, err := x.log.LastAtLeader(ctx) // a destruction comes before what it destroys is gone
		if err != nil && !errors.Is(err, fault.ErrNotFound) {
			return err
		}
		if last.Seq > applied {
			page, end, err := x.page(ctx, applied+1, last.Seq)
			if err == nil {
				err = x.take(page, end)
			}
			if err != nil {
				return err
			}
			continue
		}
		seq := gaps[0]
		g := x.log.Of(seq)
		m, err := x.log.API.AtLeader(ctx, g.Stream, jetapi.Get{Seq: seq})
		switch {
		case err == nil: // a replica lacked it
			err = x.found(m)
		case !errors.Is(err, fault.ErrNotFound):
		case since.IsZero():
			since = time.Now()
			fallthrough
		case x.API.Replicas > 1 && time.Since(since) < jetapi.StaleLeader:
			if x.API.Replicas > 1 {
				err = jetapi.Pause(ctx, recheckPause)
			} else {
				err = x.Index.Damage(g.Stream, seq, "the record is missing, and no destruction names it")
			}
		default:
			err = x.Index.Damage(g.Stream, seq, "the record is missing, and no destruction names it")
		}
		if err != nil {
			return err
		}
	}
}

// found enters a message that was taken for missing.
func (x *index) found(m jetapi.Message) error {
	r, err := parse(m.Seq, m.Data)
	if err != nil {
		return x.Index.Damage(x.log.Of(m.Seq).Stream, m.Seq, err.Error())
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.gaps.remove(r.seq)
	return x.apply(r)
}

// refresh brings the index up to the end of the stream, as its leader holds it. The sole writer's is there always.
func (x *index) refresh(ctx context.Context) error {
	if x.Sole {
		return nil
	}
	last, err := x.log.LastAtLeader(ctx)
	if errors.Is(err, fault.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return x.catchUp(ctx, last.Seq)
}

// find returns where the value of a name stands; ErrNotFound when it never stood, or was destroyed.
func (x *index) find(ctx context.Context, name string) (sidelog.Entry, error) {
	e, ok, err := x.entry(name)
	if err == nil && !ok && !x.Sole {
		if err = x.refresh(ctx); err == nil {
			e, ok, err = x.entry(name)
		}
	}
	if err == nil && !ok {
		err = fault.ErrNotFound
	}
	return e, err
}

// read returns the value at a place of the index; fault.ErrNotFound or errRecord if it is not there. With several replicas it reads
// at the leader: another replica may still hold a destroyed value.
func (x *index) read(ctx context.Context, name string, e sidelog.Entry) ([]byte, error) {
	g := x.log.Of(e.Seq)
	var body []byte
	var err error
	if x.API.Replicas > 1 {
		var m jetapi.Message
		m, err = x.log.API.AtLeader(ctx, g.Stream, jetapi.Get{Seq: e.Seq})
		body = m.Data
	} else {
		body, err = x.API.Direct(ctx, x.Reader, g.Stream, e.Seq)
	}
	if err != nil {
		return nil, err
	}
	r, err := parse(e.Seq, body)
	if err == nil && (r.kind != kindValue || r.name != name || r.digest() != e.Digest) {
		err = errRecord
	}
	return r.value, err
}
