package httpapi_test

import (
	"context"
	"testing"

	"payledger/domain"
	"payledger/domain/person"
	"payledger/eventstore"
	"payledger/eventstore/secrets"
)

// recordErasure records a customer's erasure, as a process that ends before it destroys anything.
func (r *rig) recordErasure(customer string) {
	r.t.Helper()
	meta, err := r.store.NewMeta("test", "request")
	must(r.t, err)
	owner := r.account.AccountID
	id := domain.PersonIDFor(secrets.PersonalKeyName(owner, customer, ""))
	tip, err := eventstore.NewRepositories(r.store).Persons.Execute(context.Background(), owner, id, meta, func(s person.State) (person.Event, error) {
		return person.DecideErase(s, person.Erase{At: meta.At, ID: id, Account: owner, CustomerID: customer})
	})
	must(r.t, err)
	must(r.t, r.views.WaitFor(context.Background(), tip.Recorded.Shard, tip.Recorded.Seq))
}

// TestErasureCutShort: a crash ends an erasure behind its event. Data that the customer enters more
// than a minute later, and before the recovery continues the erasure, stays; all earlier data goes.
func TestErasureCutShort(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	early := r.session(zenobiaSession("zen"))
	old := r.want(r.pay(payWith(r.cardOf(early))), 200, "").text1("id")
	r.want(r.vault(r.cardOf(early), `{"customerId":"zen"}`), 200, "")
	r.recordErasure("zen")
	r.late.Add(61)
	back := r.session(zenobiaSession("zen"))
	anew := r.want(r.pay(payWith(r.cardOf(back))), 200, "").text1("id")
	saved := r.want(r.vault(r.cardOf(back), `{"customerId":"zen"}`), 200, "").text1("token")
	for _, when := range []string{"before the continuation", "after it", "after its repeat"} {
		if found := showsHer(r.get("/payments/" + old).text); len(found) > 0 {
			t.Errorf("%s the erased payment shows %v", when, found)
		}
		for _, path := range []string{"/payments/" + anew, "/client-session?clientToken=" + back} {
			if found := showsHer(r.get(path).text); len(found) < 5 {
				t.Errorf("%s %s shows only %v", when, path, found)
			}
		}
		r.finishErasure("zen")
		if kept := r.keptFor("zen"); len(kept) != 1 {
			t.Errorf("%s and a continuation: %d saved cards", when, len(kept))
		}
	}
	r.want(r.pay(`{"paymentMethodToken":"`+saved+`","amount":700,"currencyCode":"EUR","customerId":"zen","orderId":"order-9"}`), 200, "")
	r.want(r.eraseCustomer("zen"), 200, "")
	if found := showsHer(r.get("/payments/" + anew).text); len(found) > 0 {
		t.Errorf("after the second erasure the payment shows %v", found)
	}
}

// TestErasureCutShortByAnEarlierClock: data that a node with a clock 20 seconds ahead recorded
// before an erasure belongs to it, also if a crash ends the erasure.
func TestErasureCutShortByAnEarlierClock(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.late.Add(20)
	guest := r.session(zenobiaSession(""))
	r.want(r.vault(r.cardOf(guest), `{"customerId":"zen"}`), 200, "")
	r.late.Add(-20)
	r.recordErasure("zen")
	if found := showsHer(r.get("/client-session?clientToken=" + guest).text); len(found) < 5 {
		t.Fatalf("before the continuation the guest's session shows only %v", found)
	}
	r.finishErasure("zen")
	if found := showsHer(r.get("/client-session?clientToken=" + guest).text); len(found) > 0 {
		t.Errorf("after it the guest's session shows %v", found)
	}
	if kept := r.keptFor("zen"); len(kept) != 0 {
		t.Errorf("%d saved cards", len(kept))
	}
}
