package eventstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
)

const (
	// groupMin is from how many waiting records on one atomic batch, synced once, beats as many single
	// publishes, synced one by one (measured: doc.go of package notifier).
	groupMin = 32
	// groupMax is how many records one batch holds; the server takes 1,000.
	groupMax = 512
	// groupSingles is how many single publishes are under way at once: the server syncs one after the other, and
	// this keeps it busy. What comes meanwhile waits here, where first records go first and groups form.
	groupSingles = 4
	// groupOutcomes is how many of these may be under way when an outcome joins them. It is not urgent, and a first
	// record that comes while it is synced waits for it.
	groupOutcomes = 1
)

// deliveryWrite is a record that waits to be stored.
type deliveryWrite struct {
	ctx      context.Context
	name     string
	expected uint64
	body     []byte
	seq      uint64
	err      error
	done     chan struct{}
}

// deliveryGroup is the group commit of the stream of deliveries: one a store, whoever writes. It runs only while
// records wait.
type deliveryGroup struct {
	mu      sync.Mutex
	waiting []*deliveryWrite
	firsts  int  // how many of waiting, at its head, are deliveries' first records
	singles int  // under way
	batch   bool // one is under way
}

// put stores a record together with those that wait at the same moment.
func (d *DeliveryStream) put(ctx context.Context, name string, expected uint64, body []byte) (uint64, error) {
	w := &deliveryWrite{ctx: ctx, name: name, expected: expected, body: body, done: make(chan struct{})}
	end := d.s.sideBegin(deliveryStream)
	g := &d.s.deliveries
	g.mu.Lock()
	g.add(w)
	d.dispatch(g)
	g.mu.Unlock()
	<-w.done
	if w.err == nil {
		d.s.witnessedRecord(deliveryStream, w.seq, name, body)
	}
	if !errors.Is(w.err, ErrUnknown) {
		end()
	}
	return w.seq, w.err
}

// add queues a record; the caller holds the lock. A delivery's first record goes before those that wait with an
// outcome: its webhook has not left yet.
func (g *deliveryGroup) add(w *deliveryWrite) {
	at := len(g.waiting)
	if w.expected == 0 {
		at = g.firsts
		g.firsts++
	}
	g.waiting = slices.Insert(g.waiting, at, w)
}

// take takes the first n records; the caller holds the lock.
func (g *deliveryGroup) take(n int) []*deliveryWrite {
	taken := g.waiting[:n:n]
	g.firsts = max(0, g.firsts-n)
	if g.waiting = g.waiting[n:]; len(g.waiting) == 0 {
		g.waiting = nil
	}
	return taken
}

// room is how many single publishes may be under way for the first of what waits to join them; the caller holds the lock.
func (g *deliveryGroup) room() int {
	if g.firsts > 0 {
		return groupSingles
	}
	return groupOutcomes
}

// dispatch starts what may start now; the caller holds the group's lock.
func (d *DeliveryStream) dispatch(g *deliveryGroup) {
	if n := len(g.waiting); n >= groupMin && !g.batch {
		g.batch = true
		go d.commit(g, g.take(min(n, groupMax)))
	}
	for len(g.waiting) > 0 && g.singles < g.room() && !g.batch {
		w := g.take(1)[0]
		g.singles++
		go func() {
			d.single(w)
			g.mu.Lock()
			defer g.mu.Unlock()
			g.singles--
			d.dispatch(g)
		}()
	}
}

// commit stores a batch. Whatever is not plainly a success, records that another writer came first with above
// all, is stored one by one: that resolves what became of each.
func (d *DeliveryStream) commit(g *deliveryGroup, batch []*deliveryWrite) {
	err := d.publishBatch(batch)
	g.mu.Lock()
	g.batch = false
	d.dispatch(g)
	g.mu.Unlock()
	if err == nil {
		for _, w := range batch {
			close(w.done)
		}
		return
	}
	d.s.log.Debug().Err(err).Int("records", len(batch)).Msg("a batch of deliveries is stored one by one")
	slots := make(chan struct{}, groupSingles)
	for _, w := range batch {
		slots <- struct{}{}
		go func() {
			d.single(w)
			<-slots
		}()
	}
}

// single stores one record.
func (d *DeliveryStream) single(w *deliveryWrite) {
	w.seq, w.err = d.settle(w.ctx, w.name, w.expected, w.body)
	close(w.done)
}

// publishBatch sends the records as one atomic batch: all are stored next to each other, or none is. Of a name
// only one record can be in a batch, as two would expect the same place; the second fails it.
func (d *DeliveryStream) publishBatch(batch []*deliveryWrite) error {
	id := strings.TrimPrefix(nats.NewInbox(), nats.InboxPrefix) // no two are the same
	ctx, cancel := context.WithTimeout(context.WithoutCancel(batch[0].ctx), publishTimeout)
	defer cancel()
	var answer *nats.Msg
	for i, w := range batch {
		m := w.message()
		m.Header["Nats-Batch-Id"] = []string{id}
		m.Header["Nats-Batch-Sequence"] = []string{strconv.Itoa(i + 1)}
		var err error
		if i < len(batch)-1 {
			err = d.s.nc.PublishMsg(m)
		} else {
			m.Header["Nats-Batch-Commit"] = []string{"1"}
			answer, err = d.s.nc.RequestMsgWithContext(ctx, m)
			d.s.answered(deliveryStream, err)
		}
		if err != nil {
			return err
		}
	}
	var ack deliveryAck
	if err := json.Unmarshal(answer.Data, &ack); err != nil {
		return fmt.Errorf("answer to a batch: %w", err)
	}
	if ack.Error != nil {
		return ack.Error
	}
	n := uint64(len(batch))
	if ack.Stream != deliveryStream || ack.Count != n || ack.Seq < n {
		return errors.New("answer to a batch: " + string(answer.Data))
	}
	for i, w := range batch {
		w.seq = ack.Seq - n + 1 + uint64(i)
	}
	d.s.delivered.raise(ack.Seq)
	d.s.witnessed(deliveryStream, ack.Seq)
	return nil
}

func (w *deliveryWrite) message() *nats.Msg {
	return &nats.Msg{Subject: deliveryRoot + "." + w.name, Data: w.body, Header: nats.Header{
		nats.ExpectedLastSubjSeqHdr: {strconv.FormatUint(w.expected, 10)},
	}}
}

// deliveryAck is the answer to a publish, or to the last one of a batch.
type deliveryAck struct {
	Error  *apiError `json:"error"`
	Stream string    `json:"stream"`
	Seq    uint64    `json:"seq"`
	Count  uint64    `json:"count"`
}
