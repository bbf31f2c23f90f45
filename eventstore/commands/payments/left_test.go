package payments_test

import (
	"strconv"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/seedtest"
	"payledger/domain/workflow"
	"payledger/eventstore"
	"payledger/eventstore/commands/commandstest"
	"payledger/eventstore/commands/service"
	"payledger/eventstore/eventstoretest"
)

// leftRig is a payment of which an operation of every kind was recorded and has left the state, and
// a node that has to read all of it from its store.
type leftRig struct {
	*rig
	s  *service.Service
	id domain.PaymentID
	of map[string]payment.Operation
}

// act makes an out-of-band operation at the processor.
func (r *leftRig) act(a domain.Amount) {
	r.T.Helper()
	if _, err := r.Sim.Act(background, processor.Capture, r.id, &a); err != nil {
		r.T.Fatal(err)
	}
}

// capture captures an amount, and returns the newest operation.
func (r *leftRig) capture(a domain.Amount, key string) (payment.Operation, error) {
	r.T.Helper()
	p, err := r.s.Capture(background, r.By, r.id, payment.Capture{Request: payment.Request{IdempotencyKey: key}, Amount: &a})
	return p.NewestRequest(), err
}

func newLeftRig(t *testing.T) *leftRig {
	r := &leftRig{rig: newRig(t), of: map[string]payment.Operation{}}
	r.s = r.Service(nil)
	r.id = r.Pay(r.s, commandstest.ApprovedCard).ID
	p, err := r.s.Adjust(background, r.By, r.id, payment.Adjust{Amount: 10_000})
	commandstest.HasStatus(t, p, err, payment.StatusAuthorized)
	r.of["adjust"] = p.NewestRequest()
	r.of["capture"], err = r.capture(500, "capture-1")
	if err != nil {
		t.Fatal(err)
	}
	p, err = r.s.Refund(background, r.By, r.id, payment.Refund{Request: payment.Request{IdempotencyKey: "refund-1"}, Amount: commandstest.Amount(100), TransactionEventID: r.of["capture"].Answer().EventID})
	commandstest.HasStatus(t, p, err, payment.StatusPartiallySettled)
	r.of["refund"] = p.NewestRequest()
	_, err = r.capture(1_000_000, "")
	commandstest.Refused(t, err, domain.ReasonRequestValidation)
	r.of["refused"] = r.Payment(r.id).NewestRequest()
	r.act(300)
	r.of["failed"], _ = r.capture(9500, "")
	for _, op := range r.Payment(r.id).Operations {
		if op.OutOfBandID != "" {
			r.of["found"] = op
		}
	}
	for i := range 6 {
		if _, err := r.capture(1, "later-"+strconv.Itoa(i)); err != nil {
			t.Fatal(err)
		}
	}
	now := r.Payment(r.id)
	now.Past = nil
	for name, op := range r.of {
		if _, stays := now.Operation(op.Revision); stays || op.Revision == 0 || op.State.Open() {
			t.Fatalf("%s stays: %+v", name, op)
		}
	}
	r.s.Close()
	if err := r.Store.Close(); err != nil {
		t.Fatal(err)
	}
	r.Store = eventstoretest.OpenOn(t, r.Config)
	r.s = r.Logging(&commandstest.Logbook{})
	return r
}

// TestNoticesOfLeft checks that a notification about an operation that left the payment's state is
// judged like any other: the same result changes nothing, another result is a contradiction, and an
// operation that was never requested is not ours (D7, D14).
func TestNoticesOfLeft(t *testing.T) {
	t.Parallel()
	r := newLeftRig(t)
	before := r.Payment(r.id)
	for i, c := range []struct {
		of    string
		kind  processor.Kind
		state processor.State
		other bool // another transaction
		why   string
	}{
		{"capture", processor.Capture, processor.Succeeded, false, ""},
		{"capture", processor.Capture, processor.Pending, false, ""},
		{"capture", processor.Capture, processor.Failed, false, "The capture is already SUCCEEDED and cannot be FAILED."},
		{"capture", processor.Capture, processor.Succeeded, true, "The processor's transaction id of the capture differs from the recorded one."},
		{"capture", processor.Refund, processor.Succeeded, false, "The payment has no refund at ADYEN under this key."},
		{"refund", processor.Refund, processor.Succeeded, false, ""},
		{"refund", processor.Refund, processor.Failed, false, "The refund is already SUCCEEDED and cannot be FAILED."},
		{"adjust", processor.Adjust, processor.Succeeded, false, ""},
		{"adjust", processor.Adjust, processor.Failed, false, "The adjust is already SUCCEEDED and cannot be FAILED."},
		{"failed", processor.Capture, processor.Failed, false, ""},
		{"failed", processor.Capture, processor.Succeeded, false, "The capture is already FAILED and cannot be SUCCEEDED."},
		{"refused", processor.Capture, processor.Succeeded, false, "The payment has no capture at ADYEN under this key."},
		{"found", processor.Capture, processor.Succeeded, false, "The payment has no capture at ADYEN under this key."},
	} {
		op := r.of[c.of]
		transaction := op.TransactionID
		if c.other {
			transaction = "another"
		}
		id := "nt_" + strconv.Itoa(i)
		if err := r.s.Notify(background, "request", commandstest.ResultOf(id, r.id, strconv.FormatUint(op.Revision, 10), c.kind, c.state, transaction)); err != nil {
			t.Fatal(err)
		}
		got, rejected := r.Refusals(r.id)[id]
		if got != c.why || rejected != (c.why != "") || len(r.Inbox(r.id).Waiting()) != 0 {
			t.Errorf("%s reported as %s %s: %q, not %q", c.of, c.kind, c.state, got, c.why)
		}
	}
	if now := r.Payment(r.id); now.Revision != before.Revision {
		t.Errorf("the payment is at revision %d, was at %d", now.Revision, before.Revision)
	}
	r.Audit(r.id)
}

// TestCommandsOnLeft checks that idempotency keys, refunds of one capture, out-of-band operations
// and operations that are made once do not depend on whether the operation has left the payment's
// state.
func TestCommandsOnLeft(t *testing.T) {
	t.Parallel()
	r := newLeftRig(t)
	for _, key := range []string{"capture-1", "refund-1", "later-0"} {
		_, err := r.capture(1, key)
		commandstest.Refused(t, err, domain.ReasonIdempotencyKeyExists)
	}
	one, err := r.s.RunWorkflowOperation(background, r.By, r.id, workflow.Action{Type: workflow.Capture, Amount: commandstest.Amount(500)}, "capture-1")
	if want := r.Payment(r.id).OperationKey(r.of["capture"].Revision); err != nil || !one.Known || !one.Succeeded || one.Operation != want {
		t.Errorf("%+v %v, not %s", one, err, want)
	}
	of := r.of["capture"].Answer().EventID
	_, err = r.s.Refund(background, r.By, r.id, payment.Refund{TransactionEventID: of, Amount: commandstest.Amount(401)})
	commandstest.Refused(t, err, domain.ReasonUnprocessableRefundAmount)
	p, err := r.s.Refund(background, r.By, r.id, payment.Refund{TransactionEventID: of, Amount: commandstest.Amount(400)})
	commandstest.HasStatus(t, p, err, payment.StatusPartiallySettled)
	_, err = r.s.Refund(background, r.By, r.id, payment.Refund{TransactionEventID: of})
	commandstest.Refused(t, err, domain.ReasonUnprocessableRefundAmount)
	_, err = r.s.Refund(background, r.By, r.id, payment.Refund{TransactionEventID: r.of["failed"].Answer().EventID})
	commandstest.Refused(t, err, domain.ReasonUnprocessableRefundAmount)

	r.act(200)
	if op, err := r.capture(r.Payment(r.id).Capturable(), ""); err != nil || op.State != payment.StateFailed {
		t.Errorf("a capture of what is gone: %+v, %v", op, err)
	}
	found := 0
	for _, op := range r.Payment(r.id).Whole().Operations {
		if op.OutOfBandID != "" {
			found++
		}
	}
	if found != 2 {
		t.Errorf("%d operations were found", found)
	}
	r.Audit(r.id)
}

// TestManyCaptures: a capture of a payment with hundreds costs no more than one of a payment with
// 5: in the log it takes no more bytes.
func TestManyCaptures(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	const few, window = 5, 10
	many := 500
	if seedtest.Sampled() {
		many = 150
	}
	r := newRig(t)
	s := r.Service(nil)
	p := r.Pay(s, commandstest.ApprovedCard)
	var sizes []int
	var took []time.Duration
	for i := range many {
		start := time.Now()
		now, err := s.Capture(background, r.By, p.ID, payment.Capture{Request: payment.Request{IdempotencyKey: "key-" + strconv.Itoa(i)}, Amount: commandstest.Amount(1)})
		if err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(start))
		tip, err := eventstore.NewRepositories(r.Store).Payments.Load(background, r.By.Account, p.ID, eventstore.Applied)
		if err != nil || tip.State.Captured() != domain.Amount(i+1) || now.Captured() != domain.Amount(i+1) {
			t.Fatal(tip.State.Captured(), now.Captured(), err)
		}
		asked, err := r.Store.Read(background, tip.Recorded.Shard, tip.Recorded.PrevSeq)
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(asked.Body)+len(tip.Recorded.Body))
	}
	mean := func(from int) (bytes int, each time.Duration) {
		for i := from - window/2; i < from+window/2; i++ {
			bytes, each = bytes+sizes[i], each+took[i]
		}
		return bytes / window, each / window
	}
	first, early := mean(few)
	last, late := mean(many - window/2)
	t.Logf("a capture, around the %dth: %d bytes, %s; around the %dth: %d bytes, %s; the first %d bytes", few, first, early, many, last, late, sizes[0])
	if 10*last > 12*first || 10*last > 12*sizes[few-1] {
		t.Errorf("a capture takes %d bytes among %d, and %d among %d", last, many, sizes[few-1], few)
	}
	if p := r.Payment(p.ID); len(p.Whole().Operations) != many+1 || p.Check() != nil {
		t.Errorf("%d operations, %v", len(p.Whole().Operations), p.Check())
	}
	r.Audit(p.ID)
}
