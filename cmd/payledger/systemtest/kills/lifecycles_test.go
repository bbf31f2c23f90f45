//go:build system

package kills

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/options"
	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/seedtest"
	"payledger/eventstore"
	"payledger/eventstore/commands/commandstest"
	"payledger/processorsim/adapter"
	"payledger/processorsim/protocol"
)

var lifecycles = flag.Int("lifecycles", 0, "how many random lifecycles to play (0: a few hundred)")

const (
	lifecyclesDefault = 400
	lifecyclesShort   = 50
	lifecyclesAtOnce  = 96
	lifecycleSteps    = 10   // fewer than that after the creation
	lifecycleFaults   = 0.05 // of each mode
	lifecycleTimeout  = time.Second
	lifecycleAction   = 5 * time.Second
	lifecycleSettles  = 3 * time.Minute
)

// TestLifecycles plays random lifecycles over HTTP against processors with every kind of fault.
// Then the faults end, and every payment is compared with the processors' books: none is stuck,
// every operation is there once under its key, there is no other operation, and amounts and
// statuses agree (D7–D9, D14). The received webhooks are those of the payments' facts. Half of the
// lifecycles belong to an account that captures automatically (D5).
func TestLifecycles(t *testing.T) {
	t.Parallel()
	n := *lifecycles
	if n == 0 {
		n = lifecyclesDefault
		if testing.Short() {
			n = lifecyclesShort
		}
	}
	for name, automatic := range map[string]bool{"captured on request": false, "captured automatically": true} {
		t.Run(name, func(t *testing.T) { testLifecycles(t, (n+1)/2, automatic) })
	}
}

func testLifecycles(t *testing.T, n int, automatic bool) {
	t.Parallel()
	o := apptest.TestOptions(t.TempDir())
	o.PaymentTimeout, o.ActionTimeout = lifecycleTimeout, lifecycleAction
	story := &stories{T: t, seed: seedtest.Seed(t), automatic: automatic, options: o, counts: map[string]int{}}
	story.patience.Store(int64(n))
	story.start()
	t.Cleanup(func() {
		if err := story.app.Stop(); err != nil {
			t.Error(err)
		}
	})
	story.play(n)
	if err := story.app.Processors.Control().ClearFaults(context.Background()); err != nil {
		t.Fatal(err)
	}
	story.settle()
	story.audit()
	story.auditHooks()
}

// stories are many lifecycles on one service, which is restarted in their middle.
type stories struct {
	*testing.T
	seed      uint64
	automatic bool // the account captures automatically
	options   options.Options
	account   domain.AccountID
	lives     []*life

	service  sync.RWMutex // held for the time of a restart
	app      *app.App
	merchant *apptest.Merchant
	starts   int
	hooks    *hooks
	patience atomic.Int64 // how many more answers may say that the store was too slow

	mu     sync.Mutex
	counts map[string]int // answers by request
}

// start starts the service, with processors that misbehave.
func (s *stories) start() {
	s.Helper()
	app, err := app.Start(context.Background(), s.options, zerolog.New(zerolog.NewTestWriter(s)).Level(zerolog.FatalLevel))
	if err != nil {
		s.Fatal(err)
	}
	if s.merchant == nil {
		s.account, s.merchant = app.Credentials.AccountID, apptest.NewMerchant("", app.Credentials.APIKey)
	}
	s.app, s.merchant = app, &apptest.Merchant{API: app.Ready().API, Key: s.merchant.Key, Client: s.merchant.Client, Patience: &s.patience}
	s.starts++
	if s.hooks == nil {
		s.receive()
		if s.automatic {
			s.merchant.Must(s.T, "PATCH", "/management/settings", s.merchant.Headers(), map[string]any{"captureMode": "AUTOMATIC"})
		}
	}
	s.misbehave()
}

// restart stops the service during requests, and starts it on another address.
func (s *stories) restart() {
	s.Helper()
	s.service.Lock()
	defer s.service.Unlock()
	waiting := len(s.app.Commands.Waiting())
	if err := s.app.Stop(); err != nil {
		s.Error(err)
	}
	s.start()
	s.Logf("restarted while %d operations had no outcome", waiting)
}

// now returns the running service, and the number of its start.
func (s *stories) now() (*apptest.Merchant, int) {
	s.service.RLock()
	defer s.service.RUnlock()
	return s.merchant, s.starts
}

// errCut is a request of which the client knows nothing: the service was restarted meanwhile, or
// the store was too slow.
var errCut = errors.New("cut off")

// call calls the service.
func (s *stories) call(send func(*apptest.Merchant) (apptest.Answer, error)) (apptest.Answer, error) {
	m, start := s.now()
	began := time.Now()
	a, err := send(m)
	switch {
	case err == nil && a.Status == http.StatusServiceUnavailable && time.Since(began) >= apptest.StoreIsSlow && s.patience.Add(-1) >= 0:
		return apptest.Answer{}, errCut
	case err == nil:
		return a, nil
	}
	if _, later := s.now(); later > start {
		return apptest.Answer{}, errCut
	}
	return apptest.Answer{}, err
}

// misbehave turns every fault mode on (D14).
func (s *stories) misbehave() {
	s.Helper()
	rate := lifecycleFaults
	for _, mode := range protocol.Modes {
		fault := protocol.Fault{Mode: mode, Rate: &rate}
		if mode == protocol.Latency {
			fault.DelayMs = int(lifecycleTimeout.Milliseconds()) * 5 / 4
		}
		if err := s.app.Processors.Control().SetFault(context.Background(), fault); err != nil {
			s.Fatal(err)
		}
	}
}

// play runs n stories, many at once, and logs the counts of their answers.
func (s *stories) play(n int) {
	s.Helper()
	began := time.Now()
	s.lives = make([]*life, n)
	var next atomic.Int64
	var running sync.WaitGroup
	for range lifecyclesAtOnce {
		running.Go(func() {
			for i := next.Add(1) - 1; i < int64(n) && !s.Failed(); i = next.Add(1) - 1 {
				if i == int64(n/2) {
					s.restart()
				}
				s.lives[i] = &life{all: s, n: int(i), random: rand.New(rand.NewPCG(s.seed, uint64(i)))}
				s.lives[i].live()
			}
		})
	}
	running.Wait()
	if s.Failed() {
		s.FailNow()
	}
	var lines []string
	for _, what := range slices.Sorted(maps.Keys(s.counts)) {
		lines = append(lines, fmt.Sprintf("%7d %s", s.counts[what], what))
	}
	s.Logf("%d lifecycles played in %s:\n%s", n, time.Since(began).Round(time.Millisecond), strings.Join(lines, "\n"))
}

func (s *stories) count(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[what]++
}

// atLog reads a payment at the log.
func (s *stories) atLog(id domain.PaymentID) payment.State {
	s.Helper()
	tip, err := eventstore.Load(context.Background(), s.app.Ledger.Store, eventstore.Payments,
		eventstore.Payments.Key(s.account, string(id)), eventstore.Latest)
	if err != nil {
		s.Fatal(err)
	}
	return tip.State
}

// settle waits until no payment waits for anything: the service must bring that about.
func (s *stories) settle() {
	s.Helper()
	began, left := time.Now(), s.lives
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		left = slices.DeleteFunc(slices.Clone(left), func(l *life) bool { return !waiting(s.atLog(l.id)) })
		if len(left) == 0 {
			s.Logf("everything settled %s later", time.Since(began).Round(time.Millisecond))
			return
		}
		if time.Since(began) > lifecycleSettles {
			for _, l := range left[:min(len(left), 10)] {
				l.fail("is stuck: %+v", s.atLog(l.id).Operations)
			}
			s.Fatalf("%d payments are stuck; asked about: %+v", len(left), s.app.Commands.Waiting())
		}
	}
}

// waiting reports whether a payment waits for a processor or a customer.
func waiting(p payment.State) bool {
	return slices.ContainsFunc(p.Operations, func(op payment.Operation) bool {
		return op.State.Open() || op.State == payment.StateAction
	})
}

// audit compares every payment with the books, every line of the books with a payment, and the
// API's answers with both.
func (s *stories) audit() {
	s.Helper()
	lines, err := s.app.Processors.Control().Books(context.Background(), adapter.Filter{})
	if err != nil {
		s.Fatal(err)
	}
	books := map[domain.PaymentID][]protocol.Line{}
	for _, l := range lines {
		books[l.Reference] = append(books[l.Reference], l)
	}
	statuses := map[payment.Status]int{}
	for _, l := range s.lives {
		p := s.atLog(l.id)
		statuses[p.Status()]++
		if err := commandstest.Audit(p, books[l.id]); err != nil {
			l.fail("%v", err)
		}
		shown := l.look(false)
		if !p.Exists() || shown.Status != string(p.Status()) || shown.Amount != int64(p.Amount) ||
			shown.Processor.AmountCaptured != int64(p.Captured()) || shown.Processor.AmountRefunded != int64(p.Refunded()) {
			l.fail("is shown as %+v and is %s with %d authorized, %d captured, %d refunded",
				shown, p.Status(), p.Amount, p.Captured(), p.Refunded())
		}
		delete(books, l.id)
	}
	for id, left := range books {
		s.Errorf("the books hold operations of %s, which is no payment: %+v", id, left)
	}
	s.Logf("%d payments agree with %d operations in the books: %v", len(s.lives), len(lines), statuses)
}
