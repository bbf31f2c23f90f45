package notifier

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/webhook"
	"payledger/eventstore"
	"payledger/eventstore/commands/causes"
	"payledger/eventstore/eventstoretest"
)

// caused returns the kinds of webhooks that an event of the real log causes.
func (r *rig) caused(e *eventstore.Recorded) (kinds []webhook.Kind) {
	r.t.Helper()
	row, err := causes.Candidates(e)
	r.must(err)
	for _, c := range row {
		is, err := causes.Holds(context.Background(), r.store, e, c.When, r.store.Read)
		r.must(err)
		if is {
			kinds = append(kinds, c.Kind)
		}
	}
	return kinds
}

func kindNames(kinds []webhook.Kind) string {
	var out []string
	for _, k := range kinds {
		out = append(out, strings.TrimPrefix(string(k), "PAYMENT."))
	}
	return strings.Join(out, " ")
}

// TestCauses lists the webhooks that each event of some payments' lives causes, with the status
// after it (§6.2, D7, D17).
func TestCauses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	soft := answerWith(processor.Answer{State: processor.Declined, Code: "91", Retryable: true})
	retry := answerWith(processor.Answer{State: failed, Retryable: true, Code: "technical"})
	auto := func(c *payment.Create) { c.AutoCapture = true }
	for name, c := range map[string]struct {
		change func(*payment.Create)
		moves  []move
		want   []string
	}{
		"partial captures": {nil, []move{
			answer(succeeded), capture(400, false), answer(succeeded), capture(300, false), answer(succeeded),
			capture(9000, true), capture(1800, true), answer(succeeded),
		}, []string{
			"authorized: STATUS → AUTHORIZED", "capture_requested: → AUTHORIZED", "captured: STATUS → PARTIALLY_SETTLED",
			"capture_requested: → PARTIALLY_SETTLED", "captured: → PARTIALLY_SETTLED", "capture_refused: CAPTURE.FAILED → PARTIALLY_SETTLED",
			"capture_requested: → PARTIALLY_SETTLED", "captured: STATUS → SETTLED",
		}},
		"a pending capture fails": {nil, []move{
			answer(succeeded), capture(400, false), timeOut, answer(pends), answer(failed), capture(500, true), answer(failed),
		}, []string{
			"authorized: STATUS → AUTHORIZED", "capture_requested: → AUTHORIZED", "capture_timed_out: → AUTHORIZED",
			"capture_pending: STATUS → SETTLING", "capture_failed: STATUS CAPTURE.FAILED → AUTHORIZED",
			"capture_requested: → AUTHORIZED", "capture_failed: CAPTURE.FAILED → AUTHORIZED",
		}},
		"automatic": {auto, []move{timeOut, answer(succeeded), answer(pends), answer(succeeded)}, []string{
			"authorization_timed_out: → PENDING", "authorized: STATUS → AUTHORIZED", "capture_pending: STATUS → SETTLING",
			"captured: STATUS → SETTLED",
		}},
		"rerouted": {nil, []move{soft, answer(failed)}, []string{
			"authorization_rerouted: → PENDING", "authorization_failed: STATUS → FAILED",
		}},
		"asynchronous": {nil, []move{answer(pends), answer(processor.Declined)}, []string{
			"authorization_pending: STATUS → PENDING", "declined: STATUS → DECLINED",
		}},
		"action": {nil, []move{answer(actionDue), resume, timeOut, retry, resume, answer(pends), answer(succeeded)}, []string{
			"action_required: STATUS → PENDING", "resumed: → PENDING", "completion_timed_out: → PENDING",
			"completion_failed: STATUS → PENDING", "resumed: → PENDING", "authorization_pending: STATUS → PENDING",
			"authorized: STATUS → AUTHORIZED",
		}},
		"authorized while it is completed": {nil, []move{
			answer(actionDue), resume, answerTo(1, processor.Answer{State: succeeded}),
		}, []string{
			"action_required: STATUS → PENDING", "resumed: → PENDING", "authorized: STATUS → AUTHORIZED",
		}},
		"intended cancellation": {nil, []move{cancel, answer(actionDue), answer(succeeded)}, []string{
			"cancellation_intended: → PENDING", "action_required: → PENDING", "voided: STATUS → CANCELLED",
		}},
		"intended cancellation that fails": {nil, []move{cancel, answer(actionDue), answer(failed), cancel, answer(failed)}, []string{
			"cancellation_intended: → PENDING", "action_required: → PENDING", "void_failed: STATUS CANCELLATION.FAILED → PENDING",
			"void_requested: → PENDING", "void_failed: CANCELLATION.FAILED → PENDING",
		}},
		"cancellation that fails after a completion": {nil, []move{
			answer(actionDue), resume, answer(pends), cancel, answerTo(3, processor.Answer{State: failed, Retryable: true, Code: "technical"}), answerTo(5, processor.Answer{State: failed}),
		}, []string{
			"action_required: STATUS → PENDING", "resumed: → PENDING", "authorization_pending: STATUS → PENDING", "void_requested: → PENDING",
			"completion_failed: → PENDING", "void_failed: STATUS CANCELLATION.FAILED → PENDING",
		}},
		"cancellation that fails after an action": {nil, []move{
			answer(pends), cancel, answerTo(1, processor.Answer{State: actionDue}), answerTo(3, processor.Answer{State: failed}), cancel, answer(failed),
		}, []string{
			"authorization_pending: STATUS → PENDING", "void_requested: → PENDING", "action_required: → PENDING",
			"void_failed: STATUS CANCELLATION.FAILED → PENDING", "void_requested: → PENDING", "void_failed: CANCELLATION.FAILED → PENDING",
		}},
		"cancellation of an action that fails": {nil, []move{answer(actionDue), cancel, answer(failed)}, []string{
			"action_required: STATUS → PENDING", "void_requested: → PENDING", "void_failed: CANCELLATION.FAILED → PENDING",
		}},
		"cancellation of a rest": {nil, []move{
			answer(succeeded), cancel, answer(failed), capture(400, false), answer(succeeded), cancel, timeOut, answer(pends), answer(succeeded),
		}, []string{
			"authorized: STATUS → AUTHORIZED", "void_requested: → AUTHORIZED", "void_failed: CANCELLATION.FAILED → AUTHORIZED",
			"capture_requested: → AUTHORIZED", "captured: STATUS → PARTIALLY_SETTLED", "void_requested: → PARTIALLY_SETTLED",
			"void_timed_out: → PARTIALLY_SETTLED", "void_pending: → PARTIALLY_SETTLED", "voided: STATUS → SETTLED",
		}},
		"refunds": {nil, []move{
			answer(succeeded), capture(2500, true), answer(succeeded), refund(300), timeOut, answer(pends), answer(succeeded),
			refund(200), answer(failed), refund(2300),
		}, []string{
			"authorized: STATUS → AUTHORIZED", "capture_requested: → AUTHORIZED", "captured: STATUS → SETTLED",
			"refund_requested: → SETTLED", "refund_timed_out: → SETTLED", "refund_pending: → SETTLED", "refunded: REFUND → SETTLED",
			"refund_requested: → SETTLED", "refund_failed: REFUND REFUND.FAILED → SETTLED", "refund_refused: REFUND.FAILED → SETTLED",
		}},
		"adjustments": {nil, []move{
			answer(succeeded), adjust(3000), timeOut, answer(pends), answer(succeeded), adjust(4000), answer(failed),
		}, []string{
			"authorized: STATUS → AUTHORIZED", "adjustment_requested: → AUTHORIZED", "adjustment_timed_out: → AUTHORIZED",
			"adjustment_pending: → AUTHORIZED", "adjusted: → AUTHORIZED", "adjustment_requested: → AUTHORIZED",
			"adjustment_failed: AUTHORIZATION_ADJUSTMENT.FAILED → AUTHORIZED",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			id := newPaymentID()
			r.lead(id, append([]move{creation(id, c.change)}, c.moves...)...)
			events, err := r.store.History(context.Background(), eventstore.Payments.Key(merchantID, string(id)))
			r.must(err)
			var got []string
			for _, e := range events {
				s, err := eventstore.StateAt(context.Background(), r.store, eventstore.Payments, e)
				r.must(err)
				did := strings.TrimSpace(kindNames(r.caused(e)) + " → " + string(s.Status()))
				got = append(got, strings.TrimPrefix(e.Type, "payment.")+": "+did)
			}
			if want := append([]string{"created: → PENDING"}, c.want...); !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// TestEveryChangeIsTold checks, for random payments, that PAYMENT.STATUS is caused exactly by the
// events that change the status, or that begin a wait (D17). The rule of this test looks at every
// event in the same way, without the table.
func TestEveryChangeIsTold(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	r.start()
	seen := map[string]bool{}
	for seed := range uint64(24) {
		random := rand.New(rand.NewPCG(seed, 2026))
		id := newPaymentID()
		key := eventstore.Payments.Key(merchantID, string(id))
		before := r.move(id, creation(id, func(c *payment.Create) { c.AutoCapture = seed%4 == 3 }))
		for range 40 {
			after, event, moved := r.wander(id, before, random)
			if !moved {
				continue
			}
			seen[event.Type] = true
			status := slices.Contains(r.caused(event), webhook.PaymentStatus)
			if want := changed(before, after, event.Type); status != want {
				t.Errorf("seed %d: %s from %s to %s: notified %t, want %t", seed, event.Type, before.Status(), after.Status(), status, want)
			}
			before = after
		}
		if _, err := r.store.Load(context.Background(), key, eventstore.Applied); err != nil {
			t.Fatal(err)
		}
	}
	if len(seen) < 30 { // of 33 that can: no creation, no claim, nothing that needs a key
		t.Errorf("only %d: %v", len(seen), slices.Sorted(maps.Keys(seen)))
	}
}

// wander tries one random move; a refused one appends nothing.
func (r *rig) wander(id domain.PaymentID, s payment.State, random *rand.Rand) (payment.State, *eventstore.Recorded, bool) {
	r.t.Helper()
	states := []processor.State{succeeded, succeeded, pends, failed, actionDue, processor.Declined}
	amount := domain.Amount(1 + random.IntN(1500))
	moves := []move{
		answerWith(processor.Answer{State: states[random.IntN(len(states))], Retryable: random.IntN(2) == 0, Code: "91"}),
		answerTo(uint64(1+random.IntN(int(s.Revision))), processor.Answer{State: states[random.IntN(len(states))]}),
		timeOut, capture(amount, random.IntN(4) == 0), refund(amount), adjust(1000 + 2*amount), resume, cancel,
	}
	weights := []int{0, 0, 0, 0, 0, 1, 1, 2, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6, 7}
	decide := moves[weights[random.IntN(len(weights))]]
	meta, err := r.store.NewMeta("test", "request")
	r.must(err)
	tip, err := eventstore.Execute(context.Background(), r.store, eventstore.Payments, eventstore.Payments.Key(merchantID, string(id)), meta,
		func(s payment.State) (payment.Event, error) {
			return decide(s, payment.Request{At: meta.At, EventID: meta.EventID})
		})
	if errors.Is(err, eventstore.ErrUnknown) {
		r.t.Fatal(err)
	}
	return tip.State, tip.Recorded, err == nil && tip.Appended
}

// changed is D17 said over: the status is another, or a wait begins that was not there before.
func changed(before, after payment.State, event string) bool {
	if before.Status() != after.Status() {
		return true
	}
	required := before.RequiredAction() == nil && after.RequiredAction() != nil && event != payment.VoidFailed{}.Type()
	accepted := false
	for _, op := range after.Operations {
		was, _ := before.Operation(op.Revision)
		waits := op.Kind == processor.Authorize || op.Kind == processor.Complete
		accepted = accepted || waits && op.State == payment.StatePending && was.State != payment.StatePending
	}
	return after.Status() == payment.StatusPending && (required || accepted)
}

// TestForeignPredecessor checks that an event whose predecessor belongs to another payment is an
// error, and that nothing is planned for it.
func TestForeignPredecessor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	id := newPaymentID()
	r.lead(id, creation(id, nil), answer(succeeded), capture(400, false), answer(succeeded))
	e, err := r.store.Load(context.Background(), eventstore.Payments.Key(merchantID, string(id)), eventstore.Applied)
	r.must(err)
	wrong := *e
	wrong.PrevSeq = 1
	if _, err := causes.Holds(context.Background(), r.store, &wrong, webhook.StatusChanges, r.store.Read); err == nil {
		t.Error("no error")
	}
	wrong.PrevSeq = e.Seq + 1000
	if _, err := causes.Holds(context.Background(), r.store, &wrong, webhook.StatusChanges, r.store.Read); !errors.Is(err, eventstore.ErrNotFound) {
		t.Error(fmt.Errorf("a missing predecessor: %w", err))
	}
}
