package management_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore/commands/reconcile"
	"payledger/httpapi/request"
)

// reconciled calls GetReconciliation and returns the lines of the answer, and the error that ends
// it.
func (r *rig) reconciled(query string, took func(line string) error) (lines []string, err error) {
	r.t.Helper()
	answer, err := r.h.GetReconciliation(r.query(query))
	must(r.t, err)
	err = answer.(request.Stream)(func(line any) error {
		text := asJSON(r.t, line)
		lines = append(lines, text)
		return took(text)
	})
	return lines, err
}

func takesAll(string) error { return nil }

const (
	differenceLine = `{"difference":{"difference":"MISSING_HERE","paymentId":"payment-1","operation":"refund","idempotencyKey":"key"}}`
	counts         = `{"payments":1,"operations":2,"records":3,"open":4,"fresh":5,"disputes":6,"differences":7}`
)

func progressLine(payments string) string {
	return `{"progress":{"books":true,"total":9,"counts":{"payments":` + payments + `,"operations":0,"records":0,"open":0,"fresh":0,"disputes":0,"differences":0}}}`
}

// TestReconciliation checks that the processor and the period of the query are compared, and that
// every difference is a line, the progress at most every half second, and at the end the counts
// (D14).
func TestReconciliation(t *testing.T) {
	r := newRig(t)
	now := noon
	r.h.Now = func() time.Time { return now }
	r.reconciles = func(report func(reconcile.Difference) error, progress func(reconcile.Progress)) (reconcile.Counts, error) {
		for payments := range 4 { // after 0, 300, 600 and 900 ms
			progress(reconcile.Progress{Books: true, Total: 9, Counts: reconcile.Counts{Payments: payments}})
			now = now.Add(300 * time.Millisecond)
			must(t, report(reconcile.Difference{Kind: reconcile.MissingHere, Payment: "payment-1", Operation: processor.Refund, Key: "key"}))
		}
		return reconcile.Counts{Payments: 1, Operations: 2, Records: 3, Open: 4, Fresh: 5, Disputes: 6, Differences: 7}, nil
	}
	lines, err := r.reconciled("processor=ADYEN&from=2026-03-13T12:00:00&to=2026-03-14T13:00:00%2B01:00", takesAll)
	must(t, err)
	same(t, "lines", lines, []string{
		progressLine("0"), differenceLine, differenceLine, progressLine("2"), differenceLine, differenceLine, `{"summary":` + counts + `}`,
	})
	r.made(call("Run", reconcile.Scope{Account: "shop", Processor: "ADYEN", From: noon.AddDate(0, 0, -1), To: noon}))
	_, err = r.reconciled("processor=STRIPE", takesAll)
	must(t, err)
	r.made(call("Run", reconcile.Scope{Account: "shop", Processor: "STRIPE"}))
}

// TestReconciliationFails checks that an incomplete comparison has no counts. Only books that
// cannot be read are a passing fault; other errors are passed on.
func TestReconciliationFails(t *testing.T) {
	other := errors.New("a fault of the service")
	for _, c := range []struct {
		failed error
		reason domain.Reason
	}{
		{errors.Join(errors.New("page 7"), processor.ErrUnknown), domain.ReasonServiceUnavailable},
		{domain.Unavailable(other), domain.ReasonServiceUnavailable},
		{other, domain.ReasonInternal},
	} {
		r := newRig(t)
		r.reconciles = func(report func(reconcile.Difference) error, _ func(reconcile.Progress)) (reconcile.Counts, error) {
			must(t, report(reconcile.Difference{Kind: reconcile.MissingHere, Payment: "payment-1", Operation: processor.Refund, Key: "key"}))
			return reconcile.Counts{Payments: 1}, c.failed
		}
		lines, err := r.reconciled("processor=ADYEN", takesAll)
		same(t, "lines", lines, []string{differenceLine})
		if r.refused(c.reason)(nil, err); !errors.Is(err, c.failed) {
			t.Errorf("failed with %v, want %v", err, c.failed)
		}
		if message := "The processor's books cannot be read now."; errors.Is(c.failed, processor.ErrUnknown) {
			r.refused(c.reason, message)(nil, err)
		}
	}
}

// TestReconciliationIsLeft checks that the comparison gets the error of a caller who went away from
// the report of a difference. Progress returns no error.
func TestReconciliationIsLeft(t *testing.T) {
	r := newRig(t)
	gone := errors.New("the caller went away")
	r.reconciles = func(report func(reconcile.Difference) error, progress func(reconcile.Progress)) (reconcile.Counts, error) {
		progress(reconcile.Progress{Books: true, Total: 9})
		return reconcile.Counts{}, report(reconcile.Difference{Kind: reconcile.MissingHere, Payment: "payment-1", Operation: processor.Refund, Key: "key"})
	}
	lines, err := r.reconciled("processor=ADYEN", func(string) error { return gone })
	if !errors.Is(err, gone) {
		t.Errorf("ended with %v", err)
	}
	same(t, "lines", lines, []string{progressLine("0"), differenceLine})
}

// TestReconciliationOfNoProcessor: a processor is required, and nothing is compared without one.
func TestReconciliationOfNoProcessor(t *testing.T) {
	r := newRig(t)
	for _, query := range []string{"", "processor=", "from=2026-01-01T00:00:00Z"} {
		r.invalid("QueryString", "$.processor", "is required")(r.h.GetReconciliation(r.query(query)))
	}
	r.made()
}

// TestReconciliationsAtOnce checks that two comparisons of an account run at once, those in the
// background counted, and that a third is refused until one has ended. A comparison whose
// caller has gone before its first line leaves its place.
func TestReconciliationsAtOnce(t *testing.T) {
	r := newRig(t)
	begun, end := make(chan struct{}), make(chan struct{})
	r.reconciles = func(func(reconcile.Difference) error, func(reconcile.Progress)) (reconcile.Counts, error) {
		begun <- struct{}{}
		<-end
		return reconcile.Counts{}, nil
	}
	r.start(`{"processor":"STRIPE"}`)
	<-begun
	ended := make(chan error)
	go func() {
		_, err := r.reconciled("processor=ADYEN", takesAll)
		ended <- err
	}()
	<-begun
	third := func() (any, error) { return r.h.GetReconciliation(r.query("processor=ADYEN")) }
	r.refused(domain.ReasonRateLimitExceeded, "2 comparisons of the account are running.")(third())
	_, err := request.WithBody(r.h.StartReconciliation)(r.body(`{"processor":"WORLDPAY"}`))
	r.refused(domain.ReasonRateLimitExceeded)(nil, err)
	end <- struct{}{}
	end <- struct{}{}
	must(t, <-ended)
	r.h.Runs.Wait()
	for range 3 {
		c := r.query("processor=ADYEN")
		ctx, leave := context.WithCancel(c.Ctx)
		c.Ctx = ctx
		answer, err := r.h.GetReconciliation(c)
		must(t, err)
		leave()
		if err := answer.(request.Stream)(func(any) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("a comparison for a caller who had gone: %v", err)
		}
	}
}
