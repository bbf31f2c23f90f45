package connector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// mode is what happens to a request on its way to the double and back.
type mode int

const (
	arrives    mode = iota
	refused         // the double did nothing, and says so
	lostBefore      // it never arrives
	lostAfter       // it arrives, and the answer is lost
	late            // it arrives later, at flush
	modes
)

var errLost = errors.New("the connection was cut")

// double is a vendor in memory. With keys it does nothing twice under one key, and can use a key
// up. Without keys it does whatever arrives, and finds operations by the ledger's key, which it
// keeps as metadata; a request arrives within a minute or never. With keys it arrives within their
// life. A blind double cannot find an operation; it undoes one, and tells everything by messages; a
// request arrives within a minute or never.
type double struct {
	life  time.Duration
	blind bool
	now   func() time.Time

	mu      sync.Mutex
	next    mode
	effects []effect
	byKey   map[string]Result
	usedUp  map[string]bool
	delayed []Order
	tokens  bool              // it takes tokens of cards
	refuses *processor.Answer // it refuses each order by itself
	cannot  []protocol.Lack
	pends   processor.Kind // operations of this kind are PENDING
	order   Order          // the newest that Send got
	newID   processor.Kind // operations of this kind have a transaction of their own
	oneID   bool           // captures have the transaction of their authorization
	wrong   domain.Amount  // added to the amounts of results
	calls   int
	told    []Event       // messages of a blind double, not sent yet
	doubts  []bool        // Order.Doubtful of each call
	entered chan struct{} // not nil: Send sends when it runs, and waits for goOn
	goOn    chan struct{}
}

type effect struct {
	key    domain.OperationKey
	order  string
	undone bool
	result Result
}

func newDouble(life time.Duration, now func() time.Time) *double {
	return &double{life: life, now: now, byKey: map[string]Result{}, usedUp: map[string]bool{}}
}

func (d *double) Declaration() protocol.Declaration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.tokens {
		return protocol.Declaration{Connector: "double", Cannot: d.cannot}
	}
	return protocol.Declaration{Connector: "double", Cannot: append(slices.Clone(d.cannot), protocol.Lack{Capability: protocol.CanTokenize, Instead: "Numbers travel."})}
}

func (d *double) Refuse(Order) *processor.Answer {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refuses == nil {
		return nil
	}
	refused := *d.refuses
	return &refused
}

func (d *double) KeyLife() time.Duration { return d.life }

func (d *double) Send(ctx context.Context, o Order) (Result, error) {
	if d.entered != nil {
		d.entered <- struct{}{}
		select {
		case <-d.goOn:
		case <-ctx.Done():
			return Result{}, ctx.Err()
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls++
	d.order = o
	d.doubts = append(d.doubts, o.Doubtful)
	how := d.next
	d.next = arrives
	switch how {
	case refused:
		return Result{}, fmt.Errorf("busy: %w", ErrNothing)
	case lostBefore:
		return Result{}, errLost
	case late:
		d.delayed = append(d.delayed, o)
		return Result{}, errLost
	}
	r, err := d.do(o)
	if how == lostAfter {
		return Result{}, errLost
	}
	return r, err
}

// do carries out what arrives.
func (d *double) do(o Order) (Result, error) {
	if d.life > 0 {
		if r, done := d.byKey[o.Key]; done {
			return r, nil
		}
		if d.usedUp[o.Key] {
			return Result{}, errors.New("the key was used for something else")
		}
	}
	if o.Kind == processor.Authorize && o.Card == nil {
		return Result{}, errors.New("no card")
	}
	r := Result{Amount: o.Amount + d.wrong, Currency: o.Currency, Answer: processor.Answer{
		State: processor.Succeeded, ProcessorTransactionID: fmt.Sprintf("tx_%d", len(d.effects)+1), At: d.now(),
	}}
	if o.Kind == processor.Complete && o.Parent != nil {
		r.Amount, r.Currency = o.Parent.Amount+d.wrong, o.Parent.Currency
	}
	if o.Kind != d.newID && (o.Kind == processor.Void || o.Kind == processor.Complete || o.Kind == processor.Capture && d.oneID) {
		r.Answer.ProcessorTransactionID = o.ParentID
	}
	if o.Kind == d.pends {
		r.Answer.State = processor.Pending
	}
	if o.Tokenize {
		r.Answer.CardToken = "tok_secret"
	}
	if o.Card != nil {
		switch o.Card.Number {
		case "4000000000000002":
			r.Answer = processor.Answer{State: processor.Declined, Code: "05", At: d.now()}
		case "4000000000003220":
			r.Answer.State = processor.Pending
		case "4916994064252017":
			r.Answer.State, r.Answer.ActionToken = processor.ActionRequired, "act"
		}
	}
	d.byKey[o.Key] = r
	d.effects = append(d.effects, effect{key: o.Operation.Key, order: o.Key, result: r})
	if d.blind {
		d.tell(o, Event{Result: &r})
	}
	return r, nil
}

// flush lets the late requests arrive.
func (d *double) flush() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range d.delayed {
		_, _ = d.do(o)
	}
	d.delayed = nil
}

func (d *double) Find(_ context.Context, o Order) (Finding, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.blind {
		return d.undo(o), nil
	}
	for _, e := range d.effects {
		if e.key == o.Operation.Key {
			return Finding{Result: &e.result}, nil
		}
	}
	if d.life > 0 && d.now().Sub(o.Began) < d.life {
		d.usedUp[o.Key] = true
		return Finding{Nothing: true}, nil
	}
	return Finding{Nothing: d.now().Sub(o.Tried) > max(time.Minute, d.life)}, nil
}

// undo ends the doubt about an authorization. Its outcome comes by a message.
func (d *double) undo(o Order) Finding {
	if !o.Undo {
		return Finding{Undo: o.Kind == processor.Authorize && d.now().Sub(o.Tried) > time.Minute}
	}
	for i := range d.effects {
		if e := &d.effects[i]; e.order == o.Key {
			e.undone = true
			d.tell(o, Event{Result: &Result{Answer: processor.Answer{State: processor.Failed, Code: protocol.CodeVoided, At: d.now()}}})
			return Finding{}
		}
	}
	d.tell(o, Event{Nothing: true})
	return Finding{}
}

func (d *double) tell(o Order, e Event) {
	e.ID, e.Kind, e.Reference, e.Tag = fmt.Sprintf("e_%d", len(d.told)), o.Kind, o.Reference, o.Tag()
	d.told = append(d.told, e)
}

func (d *double) count(key domain.OperationKey) (n int, last Result) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.effects {
		if e.key == key && !e.undone {
			n++
			last = e.result
		}
	}
	return n, last
}

// ends makes the double's newest result under a key its final one.
func (d *double) ends(key domain.OperationKey, a processor.Answer) Result {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.effects {
		if e := &d.effects[i]; e.key == key {
			a.ProcessorTransactionID = e.result.Answer.ProcessorTransactionID
			e.result.Answer = a
			return e.result
		}
	}
	panic("no such operation")
}

// Events reads JSON events; the header X-Double is the signature.
func (d *double) Events(_ context.Context, header http.Header, body []byte) (list []Event, err error) {
	if header.Get("X-Double") != "signed" {
		return nil, errors.New("not signed")
	}
	return list, json.Unmarshal(body, &list)
}
