package crashtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"payledger/domain/processor"
	"payledger/httpapi/client"
)

// cell is an operation with the step at which victims are killed.
type cell struct {
	op     Operation
	step   Step
	victim Victim
	early  bool // of both, the ledger starts first
}

// result is the outcome of a cell.
type result struct {
	cell
	done  bool  // the operation was carried out
	fault error // ErrLost and ErrDoubled are about money
}

// Faults of money: the ledger, the client or the vendor lacks an outcome of another; or the vendor
// carried an operation out twice.
var (
	ErrLost    = errors.New("lost")
	ErrDoubled = errors.New("doubled")
)

// run plays a cell.
func (w *world) run(ctx context.Context, c cell) result {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done, err := w.play(ctx, c)
	w.wireGate.set(nil)
	w.apiGate.set(nil)
	if err != nil {
		err = fmt.Errorf("%s, %s, %s killed: %w", c.op, c.step, c.victim, err)
	}
	return result{cell: c, done: done, fault: err}
}

func (w *world) play(ctx context.Context, c cell) (done bool, err error) {
	payment, request, err := w.prepare(ctx, c.op)
	if err != nil {
		return false, fmt.Errorf("before the kill: %w", err)
	}
	t, came := w.arm(c)
	looked := w.wire.watch()
	answers := make(chan answer, 1)
	go func() {
		p, err := w.ask(ctx, request, came)
		answers <- answer{p, err}
	}()
	select {
	case <-t.fired:
	case <-ctx.Done():
		return false, fmt.Errorf("nobody was killed: %w: %w", ctx.Err(), (<-answers).err)
	}
	if err := w.revive(ctx, c, request, payment); err != nil {
		return false, err
	}
	id, err := w.repeated(ctx, request, payment)
	if err != nil {
		return false, err
	}
	if err := t.end(ctx, c, looked); err != nil {
		return false, err
	}
	_, outcome, err := w.outcome(ctx, id, actions[c.op].outcomes)
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrLost, err)
	}
	done = outcome == actions[c.op].outcomes[0]
	if (<-answers).says(c.op) && !done {
		return done, fmt.Errorf("%w: the client has read a success, and the ledger has %s", ErrLost, outcome)
	}
	if _, err := w.repeated(ctx, request, id); err != nil {
		return done, err
	}
	if w.vendor.Deliver != nil {
		w.vendor.Deliver(w.events)
	}
	p, err := w.merchant().Payment(ctx, id)
	if err != nil {
		return done, err
	}
	return done, w.compare(c.op, p, done)
}

// arm sets the trap of a cell. came, if not nil, is to run when the client has the head of the
// ledger's answer.
func (w *world) arm(c cell) (t *trap, came func()) {
	act, pattern := actions[c.op], w.vendor.Requests[c.op]
	toConnector := func(r *http.Request, body []byte) bool {
		var o struct {
			Operation processor.Kind `json:"operation"`
		}
		return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/operations") && json.Unmarshal(body, &o) == nil && o.Operation == act.kind
	}
	toVendor := func(r *http.Request, _ []byte) bool { return named(pattern, r.Method, r.URL.Path) }
	switch c.step {
	case OnTheWay:
		t = newTrap(arrived, toConnector)
	case OnTheWayLate:
		t = newTrap(late, toConnector)
	case Booked:
		t = newTrap(done, toConnector)
	case Heard:
		t = newTrap(answered, toConnector)
	case Held:
		t = newTrap(arrived, toVendor)
	case HeldLate:
		t = newTrap(late, toVendor)
	case Acted, Cut, Asking, Again, Away:
		t = newTrap(done, toVendor)
	case Told, Saved:
		t = newTrap(answered, toVendor)
	case Fails:
		t = newTrap(failed, toVendor)
	case Answered:
		t = newTrap(never, nil)
		came = func() { t.kill(); close(t.over) }
	}
	t.fire = func() { w.strike(c.victim) }
	t.cuts = c.step == OnTheWay || c.step == OnTheWayLate || c.step == Booked || c.step == Cut
	if c.step == Saved {
		_, path, _ := strings.Cut(pattern, " ")
		w.vendor.FailSaved(path[strings.LastIndex(path, "/"):])
	}
	switch {
	case came != nil:
	case c.step == OnTheWay || c.step == OnTheWayLate || c.step == Booked || c.step == Heard:
		w.wireGate.set(t)
	default:
		w.apiGate.set(t)
	}
	return t, came
}

// revive starts the victims of a cell again.
func (w *world) revive(ctx context.Context, c cell, request client.Request, payment string) error {
	switch c.step {
	case Asking:
		return w.killAsking(ctx, c)
	case Again:
		return w.killResolving(ctx, c)
	case Away:
		return w.missBook(ctx, c, request, payment)
	}
	return w.restart(c.victim, c.early)
}

// missBook starts the connector without its folder, which it refuses, and checks that the ledger
// concludes nothing. Then the folder comes back.
func (w *world) missBook(ctx context.Context, c cell, request client.Request, payment string) error {
	away := w.bookDir() + "-away"
	if err := os.Rename(w.bookDir(), away); err != nil {
		return err
	}
	if err := w.startConnector(); err == nil {
		return errors.New("the connector starts without its folder")
	}
	if err := w.startLedger(); err != nil {
		return err
	}
	for range 4 {
		select {
		case <-w.wire.front.missed:
		case <-ctx.Done():
			return fmt.Errorf("the ledger does not look the operation up: %w", ctx.Err())
		}
	}
	id, err := w.repeated(ctx, request, payment)
	if err != nil {
		return err
	}
	p, err := w.merchant().Payment(ctx, id)
	if err != nil {
		return err
	}
	if guessed := newest(p, actions[c.op].outcomes); guessed != "" {
		return fmt.Errorf("%w: without the connector's book the ledger has %s", ErrLost, guessed)
	}
	return errors.Join(os.Rename(away, w.bookDir()), w.startConnector())
}

// killResolving starts the victims, and kills the connector at its next request to the vendor.
func (w *world) killResolving(ctx context.Context, c cell) error {
	t := newTrap(done, func(*http.Request, []byte) bool { return true })
	t.fire = func() { w.strike(Connector) }
	w.apiGate.set(t)
	if err := w.restart(c.victim, c.early); err != nil {
		return err
	}
	select {
	case <-t.over:
		return w.startConnector()
	case <-ctx.Done():
		return fmt.Errorf("the connector does not ask the vendor: %w", ctx.Err())
	}
}

// killAsking starts the victims, and kills the ledger at its next two look-ups.
func (w *world) killAsking(ctx context.Context, c cell) error {
	for again := range 3 {
		asks, killed := make(chan struct{}), make(chan struct{})
		if again < 2 {
			w.wire.stop(func() { close(asks); <-killed })
		}
		victim := c.victim
		if again > 0 {
			victim = TheLedger
		}
		if err := w.restart(victim, c.early); err != nil {
			return err
		}
		if again < 2 {
			select {
			case <-asks:
			case <-ctx.Done():
				return fmt.Errorf("the ledger does not look the operation up: %w", ctx.Err())
			}
			w.strike(TheLedger)
			close(killed)
		}
	}
	return nil
}

// end lets a stopped request go on, if a look-up was to come first after that, and waits until
// nothing of it is left.
func (t *trap) end(ctx context.Context, c cell, looked <-chan struct{}) error {
	switch c.step {
	case OnTheWayLate, Held, HeldLate, Acted:
		select {
		case <-looked:
		case <-ctx.Done():
			return fmt.Errorf("the ledger does not look the operation up: %w", ctx.Err())
		}
	}
	close(t.release)
	select {
	case <-t.over:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the stopped request does not end: %w", ctx.Err())
	}
}

// answer is what the client has read.
type answer struct {
	client.Payment
	err error
}

// says reports whether the client has read that an operation was carried out.
func (a answer) says(op Operation) bool {
	if a.err != nil {
		return false
	}
	switch op {
	case Card, Authorize, Complete:
		return a.Status == "AUTHORIZED"
	case GiveUp:
		return a.Status == "DECLINED"
	case CapturePart:
		return a.Status == "PARTIALLY_SETTLED"
	case Cancel:
		return a.Status == "CANCELLED"
	case Refund:
		return a.Processor.AmountRefunded > 0
	case Adjust:
		return a.Amount == raised
	}
	return a.Status == "SETTLED"
}

// compare compares the ledger and the vendor with what must be, after an operation that was carried
// out, or not.
func (w *world) compare(op Operation, p client.Payment, done bool) error {
	there, here, want := w.vendor.Moved(p.ID), moved(p), wanted(op, done)
	if there.Authorized == 0 { // no money was held: a check that ended is no release
		there.Held, there.Cancelled = 0, 0
	}
	var err error
	switch {
	case there.Authorized > want.Authorized || there.Captured > want.Captured || there.Refunded > want.Refunded:
		err = ErrDoubled
	case there != want || here != want:
		err = ErrLost
	default:
		return nil
	}
	return fmt.Errorf("%w: payment %s is %s with %+v, the vendor did %+v, and %+v is right", err, p.ID, p.Status, here, there, want)
}

// wanted returns what a vendor must have done.
func wanted(op Operation, done bool) (m Moved) {
	held := Moved{Authorized: 1, Held: amount}
	switch op {
	case Card, Authorize, Complete:
		if done {
			m = held
		}
		return m
	case GiveUp:
		return m
	case CancelRest:
		held.Captured = part
	case Refund:
		held.Captured = amount
	}
	if m = held; !done {
		return m
	}
	switch op {
	case AutoCapture, Capture:
		m.Captured = amount
	case CapturePart, CaptureLast:
		m.Captured = part
	case Cancel, CancelRest:
		m.Cancelled = 1
	case Refund:
		m.Refunded = refunded
	case Adjust:
		m.Held = raised
	}
	return m
}
