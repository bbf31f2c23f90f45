package connector

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"payledger/domain/processor"
)

// away is a ledger that refuses notifications until it is well. came has the bodies.
type away struct {
	*httptest.Server
	mu     sync.Mutex
	refuse int // number of notifications
	came   chan []byte
}

func newAway(t *testing.T, refuse int) *away {
	a := &away{refuse: refuse, came: make(chan []byte, 1000)}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		a.mu.Lock()
		if a.refuse > 0 {
			a.refuse--
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		a.mu.Unlock()
		a.came <- body
	}))
	t.Cleanup(a.Close)
	return a
}

// schedule is the clock of retries. A retry that is due within the time most runs at once; others
// never run.
type schedule struct {
	mu     sync.Mutex
	pauses []time.Duration
	most   time.Duration
	late   chan struct{} // when something is due later
}

func (s *schedule) after(d time.Duration, f func()) func() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pauses = append(s.pauses, d)
	if d <= s.most {
		go f()
	} else {
		s.late <- struct{}{}
	}
	return func() bool { return false }
}

func newSchedule(r *rig, most time.Duration) *schedule {
	s := &schedule{most: most, late: make(chan struct{}, 1000)}
	r.close()
	r.after = s.after
	r.open()
	return s
}

// taken waits until the ledger has taken all notifications.
func (r *rig) taken() {
	r.t.Helper()
	for {
		if left, err := r.k.book.Undelivered(r.t.Context()); err != nil || len(left) == 0 {
			must(r.t, err)
			return
		}
	}
}

// overturned makes a refund whose success is overturned.
func (r *rig) overturned(ledger string) {
	r.t.Helper()
	op := following(processor.Refund, "01p.1", "tx_0", 100)
	op.NotifyURL = ledger
	if a := r.sent(op); a.State != processor.Succeeded {
		r.t.Fatalf("%+v", a)
	}
	_, result := r.vendor.count(op.Key)
	result.Answer.State, result.Answer.Code = processor.Failed, "returned"
	r.event(200, Event{ID: "e1", Key: op.Key, Kind: processor.Refund, Result: &result, Overturns: true})
}

// disputed makes a payment with a number of changes of a dispute.
func (r *rig) disputed(ledger string, changes int) {
	r.t.Helper()
	sale := authorization("01p.2", "4242424242424242")
	sale.NotifyURL = ledger
	transaction := r.sent(sale).ProcessorTransactionID
	for i := range changes {
		r.event(200, Event{ID: fmt.Sprintf("e%d", i), Dispute: &processor.DisputeUpdate{
			ID: "dp_1", TransactionID: transaction, Type: processor.Chargeback, Status: processor.DisputeOpen, ReasonCode: "10.4", Amount: 1250,
			Currency: "EUR", At: r.now.Add(time.Duration(i)),
		}})
	}
}

// TestLedgerAway: a failure after a success, and a dispute, reach a ledger that was away for longer
// than the first seven tries, with the same bytes: in a later round, or after the next start.
func TestLedgerAway(t *testing.T) {
	for name, happens := range map[string]func(*rig, string){
		"overturned": (*rig).overturned, "disputed": func(r *rig, ledger string) { r.disputed(ledger, 1) },
	} {
		for _, restarts := range []bool{false, true} {
			r := newRig(t, time.Hour)
			s := newSchedule(r, map[bool]time.Duration{true: firstRound - 1, false: firstRound}[restarts])
			ledger := newAway(t, 7)
			happens(r, ledger.URL)
			first := <-ledger.came
			for range 6 {
				<-ledger.came
			}
			if restarts {
				<-s.late // it is given up
				r.close()
				r.open()
			}
			if last := <-ledger.came; !bytes.Equal(last, first) {
				t.Errorf("%s, restarts %t: %s after %s", name, restarts, last, first)
			}
			r.taken()
		}
	}
}

// TestLedgerLongAway: the pause between two rounds grows to an hour.
func TestLedgerLongAway(t *testing.T) {
	r := newRig(t, time.Hour)
	s := newSchedule(r, time.Hour)
	ledger := newAway(t, 30)
	r.overturned(ledger.URL)
	first := <-ledger.came
	for range 30 {
		if again := <-ledger.came; !bytes.Equal(first, again) {
			t.Errorf("%s after %s", again, first)
		}
	}
	r.taken()
	s.mu.Lock()
	defer s.mu.Unlock()
	rounds := s.pauses[6:] // after the retries
	if len(rounds) != 24 || !slices.IsSorted(rounds) || rounds[0] != firstRound || rounds[23] != lastRound {
		t.Errorf("%v", rounds)
	}
}

// TestRounds: of many notifications a round has a part, and a ledger that is well again gets all,
// one round after the other.
func TestRounds(t *testing.T) {
	r := newRig(t, time.Hour)
	ledger := newAway(t, 1<<30)
	s := newSchedule(r, firstRound-1)
	const n = 2*roundSize + 10
	r.disputed(ledger.URL, n)
	for range n * 7 {
		<-ledger.came
	}
	<-s.late
	r.close()
	ledger.mu.Lock()
	ledger.refuse = 0
	ledger.mu.Unlock()
	r.open()
	r.taken()
}
