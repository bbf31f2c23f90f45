package api_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"payledger/deploy/connectors/stripe/api"
	"payledger/deploy/connectors/stripe/double"
	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// list returns a list of the connector.
func (r *rig) list(f protocol.Filter) (all []protocol.Entry, err error) {
	err = r.kit.Entries(r.t.Context(), f, func(e protocol.Entry) error { all = append(all, e); return nil })
	return all, err
}

// captures returns the amounts of the captures of a payment by their ids. Both lists must have the
// same ones.
func (r *rig) captures() map[string]domain.Amount {
	r.t.Helper()
	var found []map[string]domain.Amount
	for _, f := range []protocol.Filter{{Reference: reference}, {From: r.clock.Now().Add(-time.Hour)}, {}} {
		all, err := r.list(f)
		if err != nil {
			r.t.Fatalf("%+v: %v", f, err)
		}
		amounts, keys := map[string]domain.Amount{}, map[domain.OperationKey]bool{}
		for _, e := range all {
			if keys[e.IdempotencyKey] {
				r.t.Errorf("%+v: key %q stands twice", f, e.IdempotencyKey)
			}
			if keys[e.IdempotencyKey] = true; e.Operation == processor.Capture {
				amounts[e.ID+" "+e.ProcessorTransactionID] += e.Amount
			}
		}
		found = append(found, amounts)
	}
	if !maps.Equal(found[0], found[1]) || !maps.Equal(found[0], found[2]) {
		r.t.Errorf("the lists have the captures %v", found)
	}
	return found[0]
}

// TestElsewhereNeverChanges: a capture that was made elsewhere keeps its id, also after further
// captures, and each capture is listed once.
func TestElsewhereNeverChanges(t *testing.T) {
	type step struct {
		own, final bool
		amount     int64
	}
	for name, c := range map[string]struct {
		single bool
		paid   double.PaidOut
		steps  []step
	}{
		"a part, then an own final one":  {steps: []step{{false, false, 300}, {true, true, 400}}},
		"two parts":                      {steps: []step{{false, false, 300}, {false, false, 200}}},
		"two of one amount":              {steps: []step{{false, false, 300}, {false, false, 300}, {false, true, 100}}},
		"an own one of the same amount":  {steps: []step{{false, false, 300}, {true, false, 300}, {false, false, 300}}},
		"own ones first":                 {steps: []step{{true, false, 300}, {true, false, 200}, {false, false, 200}, {false, true, 300}}},
		"the whole":                      {steps: []step{{false, true, 1000}}},
		"the whole in two":               {steps: []step{{false, false, 400}, {false, true, 600}}},
		"a part, and one capture only":   {single: true, steps: []step{{false, true, 700}}},
		"the whole, one capture only":    {single: true, steps: []step{{false, true, 1000}}},
		"paid out in another currency":   {paid: double.PaidOut{Currency: "usd", Rate: 1.0817}, steps: []step{{false, false, 300}, {true, false, 299}, {false, false, 200}, {true, true, 100}}},
		"paid out in a smaller currency": {paid: double.PaidOut{Currency: "chf", Rate: 0.9377}, steps: []step{{true, false, 333}, {false, false, 250}, {true, true, 111}}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(a *api.Config, d *double.Config) {
				a.Multicapture, d.NoMulticapture, d.PaidOut = !c.single, c.single, c.paid
			})
			sale := r.do(authorization("4242424242424242").Operation).ProcessorTransactionID
			before, sum := map[string]domain.Amount{}, domain.Amount(0)
			for i, s := range c.steps {
				if s.own {
					op := order(processor.Capture, sale).Operation
					op.Amount, op.Final = domain.Amount(s.amount), s.final
					r.do(op)
				} else {
					r.double.CaptureElsewhere(sale, s.amount, s.final)
				}
				r.clock.Advance(time.Minute)
				sum += domain.Amount(s.amount)
				now := r.captures()
				var total domain.Amount
				for _, amount := range now {
					total += amount
				}
				if len(now) != i+1 || total != sum {
					t.Errorf("after %d captures of %d: %v", i+1, sum, now)
				}
				for id, amount := range before {
					if now[id] != amount {
						t.Errorf("after capture %d, %s of %d is %d: %v", i+1, id, amount, now[id], now)
					}
				}
				before = now
			}
		})
	}
}

// TestElsewhereLater: while Stripe does not show the balance transaction of a capture that was made
// elsewhere, there is no list of the payment.
func TestElsewhereLater(t *testing.T) {
	r := newRig(t)
	sale := r.do(authorization("4242424242424242").Operation).ProcessorTransactionID
	r.double.CaptureElsewhere(sale, 300, false)
	r.double.CaptureElsewhere(sale, 200, false)
	r.double.HideMove(true)
	if list, err := r.list(protocol.Filter{Reference: reference}); err == nil {
		t.Errorf("%+v", list)
	}
	r.double.HideMove(false)
	if amounts := slices.Sorted(maps.Values(r.captures())); fmt.Sprint(amounts) != "[200 300]" {
		t.Errorf("%v", amounts)
	}
}

// TestCanceledElsewhere: an authorization that was cancelled in Stripe's pages, or has expired, has
// a void in each list, once. After an own void there is none beside it, and none after an
// authorization that held nothing.
func TestCanceledElsewhere(t *testing.T) {
	for name, c := range map[string]struct {
		number string
		part   domain.Amount // captured before
		cancel func(*rig, string)
		voids  int
		amount domain.Amount
	}{
		"cancelled": {"4242424242424242", 0, func(r *rig, id string) { r.double.CancelElsewhere(id, "requested_by_customer") }, 1, 1000},
		"expired":   {"4242424242424242", 0, func(r *rig, id string) { r.double.CancelElsewhere(id, "expired") }, 1, 1000},
		"the rest":  {"4242424242424242", 400, func(r *rig, id string) { r.double.CancelElsewhere(id, "expired") }, 1, 600},
		"own":       {"4242424242424242", 0, func(r *rig, id string) { r.do(order(processor.Void, id).Operation) }, 1, 1000},
		"own, after it was cancelled": {"4242424242424242", 0, func(r *rig, id string) {
			r.double.CancelElsewhere(id, "requested_by_customer")
			if a := r.do(order(processor.Void, id).Operation); a.Code != protocol.CodeAlreadyVoided {
				r.t.Errorf("%+v", a)
			}
		}, 2, 1000},
		"nothing was held": {"4000000000003220", 0, func(r *rig, id string) { r.double.CancelElsewhere(id, "abandoned") }, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			sale := r.do(authorization(c.number).Operation).ProcessorTransactionID
			if c.part > 0 {
				part := order(processor.Capture, sale).Operation
				part.Amount = c.part
				r.do(part)
			}
			r.clock.Advance(6 * 24 * time.Hour)
			c.cancel(r, sale)
			hour := protocol.Filter{From: r.clock.Now().Add(-time.Hour), To: r.clock.Now().Add(time.Hour)}
			for _, f := range []protocol.Filter{{Reference: reference}, {}, hour} {
				all, err := r.list(f)
				if err != nil {
					t.Fatalf("%+v: %v", f, err)
				}
				voids, succeeded := 0, 0
				for _, e := range all {
					if e.Operation != processor.Void {
						continue
					}
					if voids++; e.State == processor.Succeeded {
						succeeded++
					}
					if e.State == processor.Succeeded && (e.Amount != c.amount || e.ParentID != sale || e.ProcessorTransactionID != sale || e.Reference != reference || e.IdempotencyKey == "") {
						t.Errorf("%+v: %+v", f, e)
					}
				}
				if voids != c.voids || succeeded != min(c.voids, 1) {
					t.Errorf("%+v: %d voids, %d succeeded: %+v", f, voids, succeeded, all)
				}
			}
			early := protocol.Filter{To: r.clock.Now().Add(-time.Hour)}
			all, err := r.list(early)
			if err != nil || len(all) == 0 || slices.ContainsFunc(all, func(e protocol.Entry) bool { return e.Operation == processor.Void }) {
				t.Errorf("before the release: %+v %v", all, err)
			}
		})
	}
}
