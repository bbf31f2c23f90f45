package payments_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands/commandstest"
	"payledger/eventstore/commands/payments"
	"payledger/eventstore/commands/service"
)

// cardConfirmsLater: every capture is pending until it is confirmed (D13).
const cardConfirmsLater = "4000000000005175"

// watched is a way to the processors that counts the look-ups under way. Look-ups to a processor
// that hangs stay without an answer.
type watched struct {
	processor.Port
	mu    sync.Mutex
	hangs map[processor.Name]chan struct{} // until closed
	under map[processor.Name]int
	most  map[processor.Name]int
	keys  map[domain.OperationKey]int
	twice domain.OperationKey // a key that two callers looked up at the same time
}

func watch(port processor.Port) *watched {
	return &watched{
		Port: port, hangs: map[processor.Name]chan struct{}{}, under: map[processor.Name]int{}, most: map[processor.Name]int{},
		keys: map[domain.OperationKey]int{},
	}
}

func (w *watched) hang(name processor.Name) (answer func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	held := make(chan struct{})
	w.hangs[name] = held
	return sync.OnceFunc(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.hangs, name)
		close(held)
	})
}

func (w *watched) atMost(name processor.Name) (now, most int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.under[name], w.most[name]
}

// Lookup forwards the look-up, unless the processor hangs.
func (w *watched) Lookup(ctx context.Context, name processor.Name, key domain.OperationKey) (processor.Lookup, error) {
	w.mu.Lock()
	w.under[name]++
	w.most[name] = max(w.most[name], w.under[name])
	if w.keys[key]++; w.keys[key] > 1 {
		w.twice = key
	}
	held := w.hangs[name]
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.under[name]--
		w.keys[key]--
	}()
	if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
			return processor.Lookup{}, commandstest.ErrLost
		}
	}
	return w.Port.Lookup(ctx, name, key)
}

// left records a payment at a processor as a process leaves it that ends before it sends anything.
func (r *rig) left(s *service.Service, name processor.Name) domain.PaymentID {
	r.T.Helper()
	return r.leftWith(s, commandstest.ApprovedCard, name)
}

// leftWith is left with a card, and with the processors of the payment's route.
func (r *rig) leftWith(s *service.Service, card string, names ...processor.Name) domain.PaymentID {
	r.T.Helper()
	return r.leftAs(s, card, false, names...)
}

// leftAs is leftWith with the account's captureMode.
func (r *rig) leftAs(s *service.Service, card string, automatic bool, names ...processor.Name) domain.PaymentID {
	r.T.Helper()
	var route []payment.Target
	for _, name := range names {
		route = append(route, payment.Target{Processor: name, MerchantID: "merchant"})
	}
	token := r.TokenOf(s, card)
	inst, id := r.Instrument(token), domain.PaymentIDForToken(r.By.Account, token)
	r.Claims(token, id)
	meta, err := r.Store.NewMeta("test", "request")
	if err != nil {
		r.T.Fatal(err)
	}
	_, err = eventstore.NewRepositories(r.Store).Payments.ExecuteNew(background, r.By.Account, id, meta,
		func(s payment.State) (payment.Event, error) {
			return payment.DecideCreate(s, payment.Create{
				At: meta.At, ID: id, Account: r.By.Account, OrderID: "order-1", Currency: "EUR", Amount: commandstest.Amount(2500),
				Method: payment.Method{Token: token, Type: "PAYMENT_CARD", TokenizedAt: inst.CreatedAt, AuthorizationType: "FINAL", Card: inst.Card},
				Route:  route, AutoCapture: automatic,
			})
		})
	if err != nil {
		r.T.Fatal(err)
	}
	return id
}

// lookupsAtOnce is the number of look-ups that the schedule has open at one processor at the same
// time.
const lookupsAtOnce = 8

// asking returns the number of operations that a process has open look-ups of.
func asking(s *service.Service) (n int) {
	for _, w := range s.Waiting() {
		if w.NextLookup.IsZero() {
			n++
		}
	}
	return n
}

// TestPendingCostsNoGoroutine: pending captures use no more goroutines than their processor's
// concurrent look-ups, whether it answers or hangs; each is confirmed in the end (D8).
func TestPendingCostsNoGoroutine(t *testing.T) {
	t.Parallel()
	const count = 3 * lookupsAtOnce
	r := newRig(t)
	w := watch(r.Sim)
	s := r.Service(w)
	answer := w.hang(processor.Adyen)
	defer answer()
	ids := make([]domain.PaymentID, count)
	for i := range ids {
		ids[i] = r.Pay(s, cardConfirmsLater).ID
		if p, err := s.Capture(background, r.By, ids[i], payment.Capture{Final: true}); err != nil || p.Status() != payment.StatusSettling {
			t.Fatal(p.Status(), err)
		}
	}
	r.Eventually("the processor is not asked", func() bool {
		now, _ := w.atMost(processor.Adyen)
		return now == lookupsAtOnce && asking(s) == lookupsAtOnce
	})
	list, others := s.Waiting(), func(w payments.Waiting) bool { return w.Kind != processor.Capture || w.State != payment.StatePending }
	if len(list) != count || slices.ContainsFunc(list, others) || asking(s) == count {
		t.Errorf("%d wait: %+v", len(list), list)
	}
	r.Settle()
	answer()
	for _, id := range ids {
		r.Until(id, "a confirmed capture", func(p payment.State) bool { return p.Status() == payment.StatusSettled })
	}
	r.Eventually("something is left", func() bool { return len(s.Waiting()) == 0 })
	if _, most := w.atMost(processor.Adyen); most > lookupsAtOnce || w.twice != "" {
		t.Errorf("%d lookups at once; %q was asked about by two", most, w.twice)
	}
}

// TestHangingProcessor checks that operations at one processor are recovered while another
// processor answers no look-up, and that the recovery of an operation at the hanging processor
// returns (D8).
func TestHangingProcessor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := watch(r.Sim)
	s := r.Service(w)
	answer := w.hang(processor.Adyen)
	defer answer()
	var stuck []domain.PaymentID
	var recovering sync.WaitGroup
	defer recovering.Wait()
	for range 2 * lookupsAtOnce {
		id := r.left(s, processor.Adyen)
		stuck = append(stuck, id)
		recovering.Go(func() {
			if err := s.Recover(background, r.By.Account, id); err != nil {
				t.Error(err)
			}
		})
	}
	for range 5 {
		id := r.left(s, processor.Stripe)
		if err := s.Recover(background, r.By.Account, id); err != nil {
			t.Fatal(err)
		}
		commandstest.HasStatus(t, r.Payment(id), nil, payment.StatusAuthorized) // at the first look-up
	}
	answer()
	for _, id := range stuck {
		commandstest.HasStatus(t, r.Settled(id), nil, payment.StatusAuthorized)
		r.Audit(id)
	}
}

// silent forwards calls to the processors. One processor answers no operation.
type silent struct {
	processor.Port
	name processor.Name
}

// Send forwards the operation, unless the processor is silent.
func (p silent) Send(ctx context.Context, op processor.Operation) (processor.Answer, error) {
	if op.Processor == p.name {
		<-ctx.Done()
		return processor.Answer{}, commandstest.ErrLost
	}
	return p.Port.Send(ctx, op)
}

// TestFallbackToAHangingProcessor checks that the recovery of a payment does not wait for the
// processor to which its authorization moved on: the look-ups to the first processor would wait for
// the second one.
func TestFallbackToAHangingProcessor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.Service(silent{r.Sim, processor.Stripe})
	id := r.leftWith(s, commandstest.FallbackCard, processor.Adyen, processor.Stripe)
	if err := s.Recover(background, r.By.Account, id); err != nil {
		t.Fatal(err)
	}
	p := r.Payment(id)
	if len(p.Operations) != 2 || p.Operations[1].Target.Processor != processor.Stripe || p.Operations[1].State != payment.StateRequested {
		t.Errorf("the recovery returned with %+v", p.Operations)
	}
}

// TestAskedOnceAtATime checks that a process has one open look-up of an operation, however many
// callers recover the payment beside the schedule's own look-ups and notifications.
func TestAskedOnceAtATime(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := watch(r.Sim)
	s := r.Service(w)
	p := r.Pay(s, cardConfirmsLater)
	p, err := s.Capture(background, r.By, p.ID, payment.Capture{Final: true})
	commandstest.HasStatus(t, p, err, payment.StatusSettling)
	answer := w.hang(processor.Adyen)
	left := r.left(s, processor.Adyen)
	returned := make(chan error, 8)
	for range cap(returned) {
		go func() { returned <- s.Recover(background, r.By.Account, left) }()
	}
	for range cap(returned) - 1 { // one caller asks the processor; the others wait for its answer
		if err := <-returned; err != nil {
			t.Error(err)
		}
	}
	answer()
	if err := <-returned; err != nil {
		t.Error(err)
	}
	commandstest.HasStatus(t, r.Payment(left), nil, payment.StatusAuthorized)
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			for range 20 {
				if err := s.Recover(background, r.By.Account, p.ID); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	r.Settle()
	r.Until(p.ID, "a confirmed capture", func(p payment.State) bool { return p.Status() == payment.StatusSettled })
	if w.twice != "" {
		t.Errorf("%s was asked about by two at once", w.twice)
	}
}

// TestCloseWhileAsking checks that a service with hanging look-ups stops at once, and that the next
// one finds the outcomes.
func TestCloseWhileAsking(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := watch(r.Sim)
	s := r.Service(w)
	defer w.hang(processor.Adyen)()
	var ids []domain.PaymentID
	for range 3 * lookupsAtOnce {
		p := r.Pay(s, cardConfirmsLater)
		if _, err := s.Capture(background, r.By, p.ID, payment.Capture{Final: true}); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, p.ID)
	}
	r.Eventually("the processor is not asked", func() bool { now, _ := w.atMost(processor.Adyen); return now == lookupsAtOnce })
	closed := make(chan struct{})
	go func() { defer close(closed); s.Close() }()
	select {
	case <-closed:
	case <-time.After(15 * time.Second): // a look-up takes 20 s
		t.Fatal("the service does not end")
	}
	r.Settle()
	next := r.Service(nil)
	for i, id := range ids {
		if err := next.Recover(background, r.By.Account, id); err != nil {
			t.Fatal(err)
		}
		if p := r.Payment(id); p.Status() != payment.StatusSettled {
			t.Errorf("payment %d: %s", i, fmt.Sprint(p.Operations))
		}
	}
}
