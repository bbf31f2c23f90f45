package payments_test

import (
	"context"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/commandstest"
	"payledger/eventstore/commands/payments"
)

// logRetryMost is the longest wait until an operation is tried again after a failure of the log.
const logRetryMost = 2 * time.Second

// counted is a way to the processors that counts look-ups and operations, by key.
type counted struct {
	processor.Port
	mu           sync.Mutex
	asked, given map[domain.OperationKey]int
}

func count(port processor.Port) *counted {
	return &counted{Port: port, asked: map[domain.OperationKey]int{}, given: map[domain.OperationKey]int{}}
}

func (c *counted) Lookup(ctx context.Context, name processor.Name, key domain.OperationKey) (processor.Lookup, error) {
	c.mu.Lock()
	c.asked[key]++
	c.mu.Unlock()
	return c.Port.Lookup(ctx, name, key)
}

func (c *counted) Send(ctx context.Context, op processor.Operation) (processor.Answer, error) {
	c.mu.Lock()
	c.given[op.Key]++
	c.mu.Unlock()
	return c.Port.Send(ctx, op)
}

func (c *counted) lookups(key domain.OperationKey) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked[key]
}

// operations returns how many operations were sent, and under how many keys.
func (c *counted) operations() (sent, keys int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.given {
		sent += n
	}
	return sent, len(c.given)
}

// soon checks that the next look-up of an operation comes within the longest wait after a failure
// of the log.
func soon(t *testing.T, n *commandstest.Node, key domain.OperationKey) {
	t.Helper()
	next, held := n.NextLookup(key)
	if !held {
		t.Fatal("the operation is left to package pending: the next try is up to five minutes away")
	}
	if wait := next.Sub(n.Store.Now()); wait > logRetryMost {
		t.Fatalf("the next try is %s away", wait)
	}
}

// TestAnswerNotRecorded: as long as the log does not take the processor's answer, the operation is
// tried again within two seconds, however often that failed, however old the operation is, with and
// without a caller; the answer is recorded as soon as the log takes it. An operation that the
// processor never saw is sent once, under its key, or fenced if it is older than the payment
// timeout (D8).
func TestAnswerNotRecorded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		awaited bool
		age     time.Duration
		effect  string // an event that is not recorded, or readCard
		status  payment.Status
		sent    int
	}{
		{"of a caller", true, 0, "payment.authorized", payment.StatusAuthorized, 1},
		{"left", false, 0, "payment.authorized", payment.StatusAuthorized, 1},
		{"left, with a card that cannot be read", false, 0, commandstest.ReadCard, payment.StatusAuthorized, 1},
		{"left long ago", false, 10 * time.Minute, "payment.authorization_failed", payment.StatusFailed, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newCluster(t)
			f := commandstest.NewNthFault(c.effect, math.MaxInt, commandstest.Away)
			n := r.NewNode(t, time.Minute, f)
			f.Begin() // a start reads secrets
			t.Cleanup(func() { commandstest.CloseOnce(f.Resume) })
			port := count(r.Sim)
			n.Port.Port = port
			answered := make(chan error, 1)
			id := domain.PaymentIDForKey(r.By.Account, "key")
			if c.awaited {
				token := r.Token(n.Service)
				go func() {
					p, err := n.CreatePayment(background, r.By, payments.PaymentInput{Token: token, IdempotencyKey: "key"})
					if err == nil && p.Status() != c.status {
						t.Errorf("the caller got %s", p.Status())
					}
					answered <- err
				}()
				if !commandstest.Came(f.Hit) {
					t.Fatal("no answer came")
				}
			} else {
				id = r.left(r.Service(nil), processor.Adyen)
				r.Ahead.Store(int64(c.age))
				answered <- n.Recover(background, r.By.Account, id)
			}
			key := r.Payment(id).OperationKey(1)
			const tries = 7 // the interval of look-ups without an answer is above six seconds then
			r.Eventually("the processor is not asked again", func() bool {
				soon(t, n, key)
				return port.lookups(key) >= tries
			})
			commandstest.HasStatus(t, r.Payment(id), nil, payment.StatusPending)
			commandstest.CloseOnce(f.Resume)
			r.Until(id, "an outcome", func(p payment.State) bool { return p.Status() == c.status })
			if err := <-answered; err != nil {
				t.Error(err)
			}
			if sent, keys := port.operations(); sent != c.sent || keys != c.sent {
				t.Errorf("%d operations under %d keys reached the processor, expected %d", sent, keys, c.sent)
			}
			r.Audit(id)
		})
	}
}

// TestLogAway checks that a node without a connection to the log asks no processor, however old the
// operation is. The operation continues when the connection is back (D8).
func TestLogAway(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
	id := r.left(r.Service(nil), processor.Adyen)
	n := r.NewNodeOn(t, &commandstest.FaultyConn{}, time.Minute) // its loads need no server
	port := count(r.Sim)
	n.Port.Port = port
	r.Ahead.Store(int64(10 * time.Minute))
	n.Conn.Cut()
	r.Eventually("the connection is there", func() bool { return n.Store.Healthy() != nil })
	if err := n.Recover(background, r.By.Account, id); err != nil {
		t.Fatal(err)
	}
	key := r.Payment(id).OperationKey(1)
	retried := r.Now().Add(logRetryMost)
	r.Eventually("the clock stands", func() bool {
		soon(t, n, key)
		return r.Now().After(retried)
	})
	if asked := port.lookups(key); asked != 0 {
		t.Errorf("the processor was asked %d times", asked)
	}
	n.Conn.Heal()
	r.Until(id, "an outcome", func(p payment.State) bool { return p.Status() == payment.StatusFailed })
	r.Audit(id)
}

// TestDoubt: a payment that could not be read when it was to be recovered, as after an append
// without an answer, is looked up as soon as the log can be read: package pending comes back to it
// only minutes later.
func TestDoubt(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
	n := r.NewNodeOn(t, &commandstest.FaultyConn{Behind: true, Patience: time.Second}, time.Minute)
	id := r.left(r.Service(nil), processor.Adyen)
	port := count(r.Sim)
	n.Port.Port = port
	n.Conn.Cut()
	r.Eventually("the connection is there", func() bool { return n.Store.Healthy() != nil })
	if err := n.Recover(background, r.By.Account, id); domain.ReasonOf(err) != domain.ReasonServiceUnavailable {
		t.Fatal(err)
	}
	n.Conn.Heal()
	r.Until(id, "an outcome", commandstest.Finished)
	if sent, keys := port.operations(); sent != 1 || keys != 1 {
		t.Errorf("%d operations under %d keys reached the processor", sent, keys)
	}
	r.Audit(id)
}

// unclear is a log that records an event of a type, and the first time says that its outcome is
// unknown.
type unclear struct {
	eventstore.Store
	event string
	once  sync.Once
}

func (l *unclear) ExecuteUntyped(ctx context.Context, c eventstore.Command) (eventstore.Tip[any], error) {
	tip, err := l.Store.ExecuteUntyped(ctx, c)
	if err == nil && tip.Appended && tip.Recorded.Type == l.event {
		l.once.Do(func() { tip, err = *c.On, domain.OutcomeUnknown(eventstore.ErrUnknown) })
	}
	return tip, err
}

// TestAnswerInDoubt: the log has a processor's answer, but its append ended without a clear
// outcome. The answer requested the next operation, and no caller waits: the process that recorded
// the answer sends the operation. Else package pending would send it minutes later (D7).
func TestAnswerInDoubt(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
	id := r.left(r.Service(nil), processor.Adyen)
	s := r.InboxService(&atomic.Bool{}, func(c *commands.Config) { c.Store = &unclear{Store: c.Store, event: "payment.authorized"} })
	if p, err := s.Cancel(background, r.By, id, payment.Cancel{}); err != nil || p.Status() != payment.StatusPending {
		t.Fatal(p.Status(), err)
	}
	if err := s.Recover(background, r.By.Account, id); err != nil {
		t.Fatal(err)
	}
	r.Until(id, "its promised end", func(p payment.State) bool { return p.Status() == payment.StatusCancelled })
	r.Audit(id)
}

// away is a way to the processors that loses the sends and the look-ups of all operations but the
// authorization while it is cut.
type away struct {
	processor.Port
	cut   atomic.Bool
	first chan processor.Operation // gets the first operation that was lost; it has room for one
}

func (a *away) Send(ctx context.Context, op processor.Operation) (processor.Answer, error) {
	if op.Kind == processor.Authorize || !a.cut.Load() {
		return a.Port.Send(ctx, op)
	}
	select {
	case a.first <- op:
	default:
	}
	return processor.Answer{}, commandstest.ErrLost
}

func (a *away) Lookup(ctx context.Context, name processor.Name, key domain.OperationKey) (processor.Lookup, error) {
	if a.cut.Load() && !strings.HasSuffix(string(key), ".1") {
		return processor.Lookup{}, commandstest.ErrLost
	}
	return a.Port.Lookup(ctx, name, key)
}

// TestPromisedOperation: the void of an intended cancellation, and the capture of captureMode
// AUTOMATIC, are sent again under their key although the processor was away for longer than the
// payment timeout: nobody else would request them (D5.8, D7, D8). A first request that arrives
// after that does nothing.
func TestPromisedOperation(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]payment.Status{"void": payment.StatusCancelled, "capture": payment.StatusSettled} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newCluster(t)
			port := &away{Port: r.Sim, first: make(chan processor.Operation, 1)}
			port.cut.Store(true)
			s := r.Service(port)
			id := r.leftAs(s, commandstest.ApprovedCard, name == "capture", processor.Adyen)
			if name == "void" {
				if p, err := s.Cancel(background, r.By, id, payment.Cancel{}); err != nil || p.Status() != payment.StatusPending {
					t.Fatal(p.Status(), err)
				}
			}
			recovered := make(chan error, 1)
			go func() { recovered <- s.Recover(background, r.By.Account, id) }()
			lost := <-port.first
			r.Ahead.Store(int64(2 * commandstest.PaymentTimeout))
			r.Until(id, "an unknown outcome", func(p payment.State) bool { return p.StatusReason() != nil })
			port.cut.Store(false)
			if p := r.Until(id, "its end", commandstest.Finished); p.Status() != want {
				t.Errorf("ended %s: %+v", p.Status(), p.Operations)
			}
			if err := <-recovered; err != nil {
				t.Error(err)
			}
			if _, err := r.Sim.Send(background, lost); err != nil || r.Operations(id) != 2 {
				t.Errorf("%d operations in the books: %v", r.Operations(id), err)
			}
			r.Audit(id)
		})
	}
}

// once is a way to the processors that answers one look-up and loses the others.
type once struct {
	processor.Port
	asked atomic.Bool
}

func (o *once) Lookup(ctx context.Context, name processor.Name, key domain.OperationKey) (processor.Lookup, error) {
	if o.asked.Swap(true) {
		return processor.Lookup{}, commandstest.ErrLost
	}
	return o.Port.Lookup(ctx, name, key)
}

// TestCancelNotSent: captureMode AUTOMATIC. A node ends after it has recorded the cancel of a
// pending payment, and before it sends the void. The processor approves the payment meanwhile.
// After the payment timeout another node sends the void: no cancel that the processor has not
// refused becomes a capture (D5.8, D8).
func TestCancelNotSent(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
	s := r.Service(&once{Port: r.Sim}) // it does not learn of the approval
	id := r.leftAs(s, "4000000000003220", true, processor.Adyen)
	if err := s.Recover(background, r.By.Account, id); err != nil || r.Payment(id).Authorization().State != payment.StatePending {
		t.Fatal(err, r.Payment(id))
	}
	s.Close()
	r.Dies("payment.void_requested", commandstest.CrashAfter, func(n *commandstest.Node) error {
		_, err := n.Cancel(n.Ctx, r.By, id, payment.Cancel{})
		return err
	})
	r.Settle()
	r.Ahead.Store(int64(2 * time.Minute))
	n := r.NewNode(t, time.Minute, nil)
	if err := n.Recover(background, r.By.Account, id); err != nil {
		t.Fatal(err)
	}
	if p := r.Until(id, "its end", commandstest.Finished); p.Status() != payment.StatusCancelled || r.Operations(id) != 2 {
		t.Errorf("ended %s: %+v", p.Status(), p.Operations)
	}
	r.Audit(id)
}

// TestDoubtAboutAnAction: an abandoned action of a payment that could not be read when it was to be
// recovered ends as soon as the log can be read, without another call of Recover (D7).
func TestDoubtAboutAnAction(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
	n := r.NewNodeOn(t, &commandstest.FaultyConn{Behind: true, Patience: time.Second}, time.Minute)
	s := r.Service(nil)
	s.ActionTimeout = time.Nanosecond
	id := r.Pay(s, commandstest.ChallengeCard).ID
	s.Close()
	n.Conn.Cut()
	r.Eventually("the connection is there", func() bool { return n.Store.Healthy() != nil })
	if err := n.Recover(background, r.By.Account, id); domain.ReasonOf(err) != domain.ReasonServiceUnavailable {
		t.Fatal(err)
	}
	n.Conn.Heal()
	r.Until(id, "the end of its action", func(p payment.State) bool { return p.Status() == payment.StatusDeclined })
	r.Audit(id)
}

// TestExpiryNotRecorded: as long as the log does not take the end of an expired action, it is tried
// again within two seconds (D7, D8).
func TestExpiryNotRecorded(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
	paid := r.Pay(r.Service(nil), commandstest.ChallengeCard)
	key := paid.OperationKey(paid.RequiredAction().Revision)
	f := commandstest.NewFault("payment.resumed", commandstest.Away)
	n := r.NewNode(t, time.Minute, f)
	t.Cleanup(func() { commandstest.CloseOnce(f.Resume) })
	port := count(r.Sim)
	n.Port.Port = port
	r.Ahead.Store(int64(3 * time.Hour))
	if err := n.Recover(background, r.By.Account, paid.ID); domain.ReasonOf(err) != domain.ReasonServiceUnavailable {
		t.Fatal(err)
	}
	r.Eventually("the action is not looked up again", func() bool {
		soon(t, n, key)
		return port.lookups(key) > 2
	})
	commandstest.CloseOnce(f.Resume)
	r.Until(paid.ID, "an end of the action", func(p payment.State) bool { return p.RequiredAction() == nil && commandstest.Finished(p) })
	r.Audit(paid.ID)
}
