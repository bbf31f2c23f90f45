package payments_test

import (
	"context"
	"fmt"
	"slices"
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
	"payledger/eventstore/commands/service"
	"payledger/processorsim/adapter"
	"payledger/processorsim/protocol"
)

// TestResumeIsDecidedAgain: a resume that finds another under way waits with it; when that one
// comes to nothing, so that the action is still required, it is carried out (D7, D8).
func TestResumeIsDecidedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.Service(nil)
	p := r.Pay(s, commandstest.ChallengeCard)
	once := 1
	for _, f := range []protocol.Fault{
		{Mode: protocol.Latency, Operation: processor.Complete, Count: &once, DelayMs: 2000},
		{Mode: protocol.TechnicalError, Operation: processor.Complete, Count: &once},
	} {
		if err := r.Sim.SetFault(background, f); err != nil {
			t.Fatal(err)
		}
	}
	resume := func(key string) (payment.State, error) {
		return s.Resume(background, r.By, payments.ResumeInput{
			Payment: p.ID, Action: p.RequiredAction().Revision, Outcome: processor.Authenticated, IdempotencyKey: key,
		})
	}
	first := make(chan error, 1)
	go func() {
		after, err := resume("first")
		if err == nil && after.RequiredAction() == nil {
			t.Errorf("the first completion came to %s", after.Status())
		}
		first <- err
	}()
	r.Until(p.ID, "a completion under way", payment.State.Waiting)
	second, err := resume("second")
	commandstest.HasStatus(t, second, err, payment.StatusAuthorized)
	if err := <-first; err != nil {
		t.Error(err)
	}
	r.Audit(p.ID)
}

// TestRefusedKeyLeavesTheToken: a creation that is refused because its key is used does not use up
// its token, whether or not this node made the payment.
func TestRefusedKeyLeavesTheToken(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
	nodes := r.TwoNodes()
	s := nodes[0].Service
	first, err := s.CreatePayment(background, r.By, payments.PaymentInput{Token: r.Token(s), IdempotencyKey: "k"})
	commandstest.HasStatus(t, first, err, payment.StatusAuthorized)
	for _, n := range nodes {
		token := r.Token(s)
		_, err = n.CreatePayment(background, r.By, payments.PaymentInput{Token: token, IdempotencyKey: "k"})
		commandstest.Refused(t, err, domain.ReasonIdempotencyKeyExists)
		paid, err := n.CreatePayment(background, r.By, payments.PaymentInput{Token: token, IdempotencyKey: "for " + string(token)})
		commandstest.HasStatus(t, paid, err, payment.StatusAuthorized)
	}
}

// TestAbandonedOnTwoNodes: an abandoned action fails once, whichever node finds it (D7).
func TestAbandonedOnTwoNodes(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
	nodes := r.TwoNodes()
	nodes[0].ActionTimeout = time.Nanosecond
	for range 5 {
		p := r.Pay(nodes[0].Service, commandstest.ChallengeCard)
		var all sync.WaitGroup
		for i := range 6 {
			all.Go(func() {
				if err := nodes[i%2].Recover(background, r.By.Account, p.ID); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if p = r.Settled(p.ID); p.Status() != payment.StatusDeclined || r.Operations(p.ID) != 2 {
			t.Errorf("ended %s with %d operations in the books", p.Status(), r.Operations(p.ID))
		}
		r.Audit(p.ID)
	}
}

// TestExpiryAfterAFailedCompletion: a completion that fails at the processor, requested by the
// expiry itself or by a customer shortly before it, leaves an action that this process ends without
// a second call of Recover (D7, D8).
func TestExpiryAfterAFailedCompletion(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.Service(nil)
	once := 1
	failsOnce := func() {
		if err := r.Sim.SetFault(background, protocol.Fault{Mode: protocol.TechnicalError, Operation: processor.Complete, Count: &once}); err != nil {
			t.Fatal(err)
		}
	}
	resumed, abandoned := r.Pay(s, commandstest.ChallengeCard), r.Pay(s, commandstest.ChallengeCard)
	r.Ahead.Store(int64(time.Hour - 500*time.Millisecond))
	failsOnce()
	if _, err := s.Resume(background, r.By, payments.ResumeInput{
		Payment: resumed.ID, Action: resumed.RequiredAction().Revision, Outcome: processor.Authenticated,
	}); err != nil {
		t.Fatal(err)
	}
	r.Until(resumed.ID, "the end of its action", func(p payment.State) bool { return p.Status() == payment.StatusDeclined })
	r.Ahead.Store(int64(time.Hour))
	failsOnce()
	if err := s.Recover(background, r.By.Account, abandoned.ID); err != nil {
		t.Fatal(err)
	}
	r.Until(abandoned.ID, "the end of its action", func(p payment.State) bool { return p.Status() == payment.StatusDeclined })
	for _, p := range []payment.State{resumed, abandoned} {
		if left := r.Payment(p.ID); r.Operations(p.ID) != 3 {
			t.Errorf("%d operations in the books: %+v", r.Operations(p.ID), left.Operations)
		}
		r.Audit(p.ID)
	}
}

// TestActionEndedElsewhere: the authorization had its result at the processor before the customer
// came back. The completion is refused there, and the result is recorded at once: nothing says in
// between that the customer must act again.
func TestActionEndedElsewhere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.Service(nil)
	p := r.Pay(s, commandstest.ChallengeCard)
	r.endsElsewhere(p)
	resumed, err := s.Resume(background, r.By, payments.ResumeInput{
		Payment: p.ID, Action: p.RequiredAction().Revision, Outcome: processor.Authenticated,
	})
	commandstest.HasStatus(t, resumed, err, payment.StatusAuthorized)
	r.Settle()
	events, err := r.Store.History(background, eventstore.Payments.Key(r.By.Account, string(p.ID)))
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, e := range events {
		types = append(types, e.Type)
	}
	if want := []string{"payment.created", "payment.action_required", "payment.resumed", "payment.authorized"}; !slices.Equal(types, want) {
		t.Errorf("%v, want %v", types, want)
	}
}

// endsElsewhere ends the customer's action at the processor, as a page of the processor does.
func (r *rig) endsElsewhere(p payment.State) {
	r.T.Helper()
	held := p.Authorization()
	if _, err := r.Sim.Send(background, processor.Operation{
		Kind: processor.Complete, Key: domain.OperationKey("vendor." + string(p.ID)), Processor: held.Target.Processor, MerchantID: held.Target.MerchantID,
		Reference: p.ID, ParentID: held.TransactionID, Outcome: processor.Authenticated,
	}); err != nil {
		r.T.Fatal(err)
	}
}

// TestKeyOfALookedUpAction: a resume that finds the result of the action at the processor uses its
// idempotency key, and refuses a used one. A resume that finds no result uses none (D9, D12).
func TestKeyOfALookedUpAction(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.Service(nil)
	other := r.Pay(s, commandstest.ApprovedCard)
	if _, err := s.Capture(background, r.By, other.ID, payment.Capture{Request: payment.Request{IdempotencyKey: "other"}, Amount: commandstest.Amount(1)}); err != nil {
		t.Fatal(err)
	}
	p := r.Pay(s, commandstest.ChallengeCard)
	resume := func(key string) (payment.State, error) {
		return s.Resume(background, r.By, payments.ResumeInput{Payment: p.ID, Action: p.RequiredAction().Revision, IdempotencyKey: key})
	}
	capture := func(id domain.PaymentID, key string) error {
		_, err := s.Capture(background, r.By, id, payment.Capture{Request: payment.Request{IdempotencyKey: key}, Amount: commandstest.Amount(1)})
		return err
	}
	waits, err := resume("early")
	commandstest.HasStatus(t, waits, err, payment.StatusPending)
	r.endsElsewhere(p)
	_, err = resume("other")
	commandstest.Refused(t, err, domain.ReasonIdempotencyKeyExists)
	commandstest.HasStatus(t, r.Payment(p.ID), nil, payment.StatusPending)
	resumed, err := resume("key")
	commandstest.HasStatus(t, resumed, err, payment.StatusAuthorized)
	_, err = resume("key")
	commandstest.Refused(t, err, domain.ReasonIdempotencyKeyExists)
	for _, id := range []domain.PaymentID{p.ID, other.ID} {
		commandstest.Refused(t, capture(id, "key"), domain.ReasonIdempotencyKeyExists)
	}
	if err := capture(other.ID, "early"); err != nil {
		t.Errorf("the key of a resume without a result: %v", err)
	}
	r.Audit(p.ID)
}

// lookedUp are processors whose first look-up is followed by then, before its caller gets the
// result.
type lookedUp struct {
	*adapter.Adapter
	once *sync.Once
	then func(processor.Lookup)
}

func (l lookedUp) Lookup(ctx context.Context, name processor.Name, key domain.OperationKey) (processor.Lookup, error) {
	found, err := l.Adapter.Lookup(ctx, name, key)
	if err == nil {
		l.once.Do(func() { l.then(found) })
	}
	return found, err
}

// voiding are processors whose first look-up returns when a void that cancel requests has reached
// the processor. The answer to the void waits until the test lets it go.
type voiding struct {
	*adapter.Adapter
	once            *sync.Once
	cancel          func()
	voided, answers chan struct{}
}

func (v voiding) Lookup(ctx context.Context, name processor.Name, key domain.OperationKey) (processor.Lookup, error) {
	v.once.Do(func() {
		go v.cancel()
		<-v.voided
	})
	found, err := v.Adapter.Lookup(ctx, name, key)
	if err == nil && found.Answer.State == processor.ActionRequired { // the protocol allows the result of the void, too
		found.Answer.State, found.Answer.Code = processor.Failed, processor.CodeVoided
	}
	return found, err
}

func (v voiding) Send(ctx context.Context, op processor.Operation) (processor.Answer, error) {
	answer, err := v.Adapter.Send(ctx, op)
	if op.Kind == processor.Void {
		close(v.voided)
		<-v.answers
	}
	return answer, err
}

// TestKeyOfAResumeThatACancelOvertook: a cancel voids the payment while a resume looks the result
// of the action up. The resume does not use its key: its repeat is refused by the status (D9).
func TestKeyOfAResumeThatACancelOvertook(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.Pay(r.Service(nil), commandstest.ChallengeCard)
	cancelled := make(chan error, 1)
	v := voiding{Adapter: r.Sim, once: &sync.Once{}, voided: make(chan struct{}), answers: make(chan struct{})}
	var s *service.Service
	v.cancel = func() {
		_, err := s.Cancel(background, r.By, p.ID, payment.Cancel{})
		cancelled <- err
	}
	s = r.InboxService(&atomic.Bool{}, func(c *commands.Config) { c.Processors, c.PaymentTimeout = v, 200*time.Millisecond })
	resume := func() error {
		_, err := s.Resume(background, r.By, payments.ResumeInput{Payment: p.ID, Action: p.RequiredAction().Revision, IdempotencyKey: "key"})
		return err
	}
	_ = resume() // it waits for the void, or until the payment timeout
	close(v.answers)
	<-cancelled // with or without its answer in time
	r.Until(p.ID, "cancelled", func(s payment.State) bool { return s.Status() == payment.StatusCancelled })
	commandstest.Refused(t, resume(), domain.ReasonInvalidPaymentStatus)
	r.Audit(p.ID)
}

// TestKeyOfAResumeThatANotificationOvertook: a notification records the result of the action while
// a resume looks it up. The resume is answered with the result, and its key is used (D9).
func TestKeyOfAResumeThatANotificationOvertook(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.Pay(r.Service(nil), commandstest.ChallengeCard)
	r.endsElsewhere(p)
	known := &atomic.Bool{}
	known.Store(true)
	var s *service.Service
	s = r.InboxService(known, func(c *commands.Config) {
		c.Processors = lookedUp{r.Sim, &sync.Once{}, func(found processor.Lookup) {
			held := p.Authorization()
			told := commandstest.ResultOf("nt_1", p.ID, fmt.Sprint(held.Revision), processor.Authorize, processor.Succeeded, held.TransactionID)
			if err := s.Notify(background, "request", told); err != nil || found.Answer == nil {
				t.Error(found, err)
			}
		}}
	})
	resume := func(key string) (payment.State, error) {
		return s.Resume(background, r.By, payments.ResumeInput{Payment: p.ID, Action: p.RequiredAction().Revision, IdempotencyKey: key})
	}
	after, err := resume("key")
	commandstest.HasStatus(t, after, err, payment.StatusAuthorized)
	_, err = resume("key")
	commandstest.Refused(t, err, domain.ReasonIdempotencyKeyExists)
	for _, other := range []string{"", "other"} {
		_, err = resume(other)
		commandstest.Refused(t, err, domain.ReasonInvalidPaymentStatus)
	}
	r.Audit(p.ID)
}
