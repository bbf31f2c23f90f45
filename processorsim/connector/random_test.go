package connector

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

var errCrashed = errors.New("the process ended")

// rig is a connector over the double, with a clock, that can end between any two lines.
type rig struct {
	t       testing.TB
	dir     string
	now     time.Time
	vendor  *double
	after   func(time.Duration, func()) func() bool // runs functions later; nil: never
	k       *Connector
	crashes int // the number of steps until the next crash; 0: none
	crashed bool
}

func newRig(t testing.TB, life time.Duration) *rig {
	r := &rig{t: t, dir: t.TempDir(), now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	r.vendor = newDouble(life, func() time.Time { return r.now })
	r.open()
	t.Cleanup(func() { r.close() })
	return r
}

func (r *rig) open() {
	r.t.Helper()
	if r.after == nil {
		r.after = func(time.Duration, func()) func() bool { return func() bool { return true } }
	}
	k, err := New(context.Background(), Config{
		Name: processor.Stripe, Vendor: r.vendor, Dir: r.dir, Secret: []byte("secret"), Now: func() time.Time { return r.now },
		AfterFunc: r.after,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	k.crash = func(string) error {
		if r.crashed {
			return errCrashed
		}
		if r.crashes > 0 {
			if r.crashes--; r.crashes == 0 {
				r.crashed = true
				return errCrashed
			}
		}
		return nil
	}
	r.k, r.crashed = k, false
}

func (r *rig) close() {
	r.t.Helper()
	if err := r.k.Close(context.Background()); err != nil {
		r.t.Error(err)
	}
}

func authorization(key string, card string) processor.Operation {
	return processor.Operation{
		Kind: processor.Authorize, Key: domain.OperationKey(key), Processor: processor.Stripe, Reference: "01p", Amount: 1250, Currency: "EUR",
		Card: &processor.Card{Number: card, CVV: "987", ExpirationMonth: "12", ExpirationYear: "2031"}, NotifyURL: "http://127.0.0.1:1/n",
	}
}

// TestRandom: whatever is lost, refused, late or repeated, and wherever the process ends, no
// operation is done twice, none is done behind a fence, and an answer once given stays.
func TestRandom(t *testing.T) {
	for _, kind := range []struct {
		name  string
		life  time.Duration
		blind bool
	}{{"no keys", 0, false}, {"keys live an hour", time.Hour, false}, {"no look-up", 1000 * time.Hour, true}} {
		t.Run(kind.name, func(t *testing.T) {
			unresolved, steps := 0, map[string]int{}
			for seed := range uint64(80) {
				random := rand.New(rand.NewPCG(seed, 41))
				r := newRig(t, kind.life)
				r.vendor.blind = kind.blind
				unresolved += r.play(random, seed, steps)
				r.close()
				r.k = &Connector{} // closed
				r.open()
			}
			for _, state := range []string{"KNOWN", "FENCED", "fenced", "crash"} {
				if steps[state] < 10 {
					t.Errorf("%s came %d times: %v", state, steps[state], steps)
				}
			}
			if kind.blind && steps["undone"] == 0 {
				t.Error("nothing was undone")
			}
			if unresolved > 0 {
				t.Errorf("%d operations stay unknown", unresolved)
			}
		})
	}
}

// messages sends those of a blind vendor, in any order, some of them twice. Some are lost, and come
// later.
func (r *rig) messages(random *rand.Rand) {
	r.vendor.mu.Lock()
	list := r.vendor.told
	r.vendor.mu.Unlock()
	for _, i := range random.Perm(len(list)) {
		r.event(200, list[i])
		if random.IntN(3) == 0 {
			r.event(200, list[i])
		}
	}
}

// play makes random calls of one key, then lets everything arrive, and checks the end.
func (r *rig) play(random *rand.Rand, seed uint64, steps map[string]int) (unresolved int) {
	t, ctx := r.t, context.Background()
	op := authorization(fmt.Sprintf("01p.%d", seed), "4242424242424242")
	if random.IntN(2) == 0 {
		op.Kind, op.Card, op.ParentID = processor.Capture, nil, "tx_0"
	}
	var known *processor.Answer
	fenced := false
	learn := func(what string, a *processor.Answer) {
		steps[what]++
		if known != nil && (a.State != known.State || a.ProcessorTransactionID != known.ProcessorTransactionID) {
			t.Errorf("seed %d: %s says %+v after %+v", seed, what, a, known)
		}
		known = a
	}
	call := func() {
		switch random.IntN(4) {
		case 0, 1:
			a, err := r.k.Send(ctx, op)
			if err == nil && a.Code == protocol.CodeFenced {
				steps["fenced"]++
				if known != nil {
					t.Errorf("seed %d: fenced after %+v", seed, known)
				}
				fenced = true
			} else if err == nil {
				learn("answer", &a)
			}
		case 2:
			if l, err := r.k.Lookup(ctx, op.Processor, op.Key); err == nil && l.State == processor.Known {
				learn("KNOWN", l.Answer)
			}
		case 3:
			if random.IntN(3) > 0 {
				return
			}
			l, err := r.k.Fence(ctx, op.Processor, op.Key)
			if err == nil && l.State == processor.Known {
				learn("KNOWN", l.Answer)
			}
			if err == nil && l.State == processor.Fenced {
				steps["FENCED"]++
				fenced = true
			}
		}
	}
	for range 2 + random.IntN(8) {
		r.vendor.mu.Lock()
		r.vendor.next = mode(random.IntN(int(modes)))
		r.vendor.mu.Unlock()
		if random.IntN(3) == 0 {
			r.crashes = 1 + random.IntN(4)
		}
		call()
		if r.crashed {
			steps["crash"]++
			r.close()
			r.open()
		}
		r.crashes = 0
		switch random.IntN(6) {
		case 0:
			r.vendor.flush()
		case 1:
			if r.vendor.life == 0 || r.vendor.blind {
				r.vendor.flush() // it arrives within a minute or never
			}
			r.now = r.now.Add(2 * time.Minute)
		case 2:
			r.vendor.flush()
			r.now = r.now.Add(2 * time.Hour)
		case 3:
			r.messages(random)
		}
	}
	r.vendor.mu.Lock()
	r.vendor.next = arrives
	r.vendor.mu.Unlock()
	r.vendor.flush()
	l := processor.Lookup{}
	for range 3 { // a blind vendor undoes it, then tells the end, perhaps after a success
		r.now = r.now.Add(2 * time.Minute)
		r.messages(random)
		l = r.lookup(op.Key)
		r.messages(random)
	}
	l = r.lookup(op.Key)
	r.vendor.flush()
	n, result := r.vendor.count(op.Key)
	switch {
	case l.State == processor.Running:
		unresolved++
	case n > 1:
		t.Errorf("seed %d: done %d times", seed, n)
	case fenced && (n != 0 || l.State != processor.Fenced):
		t.Errorf("seed %d: fenced, and done %d times; it is %s", seed, n, l.State)
	case l.State == processor.Known && l.Answer.Code == protocol.CodeVoided:
		if steps["undone"]++; n != 0 {
			t.Errorf("seed %d: undone, and done %d times", seed, n)
		}
	case l.State == processor.Known && (n != 1 || l.Answer.ProcessorTransactionID != result.Answer.ProcessorTransactionID):
		t.Errorf("seed %d: %+v, and done %d times: %+v", seed, l.Answer, n, result)
	case l.State == processor.Unseen && n != 0:
		t.Errorf("seed %d: unseen, and done %d times", seed, n)
	}
	return unresolved
}
