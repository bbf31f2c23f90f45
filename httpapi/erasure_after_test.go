package httpapi_test

import (
	"context"
	"testing"

	"payledger/domain"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/secrets"
)

// finishErasure does the work that the recovery does at a start, and repeats for minutes after an
// erasure.
func (r *rig) finishErasure(customer string) {
	r.t.Helper()
	id := domain.PersonIDFor(secrets.PersonalKeyName(r.account.AccountID, customer, ""))
	must(r.t, r.service.FinishErasure(context.Background(), r.account.AccountID, id))
}

// TestErasureSparesLaterData checks that data that a customer enters after an erasure stays when
// the recovery repeats the erasure: an older card that is vaulted afterwards, and the guest's data
// of an older session that names the customer afterwards.
func TestErasureSparesLaterData(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	hers := r.session(zenobiaSession("zen"))
	old := r.want(r.pay(payWith(r.cardOf(hers))), 200, "").text1("id")
	before := r.cardOf(hers)
	open := r.session(`{"orderId":"order-1","currencyCode":"EUR","amount":1000}`)
	plain := r.session(zenobiaSession(""))
	plainPaid := r.want(r.pay(payWith(r.cardOf(plain))), 200, "").text1("id")
	r.want(r.eraseCustomer("zen"), 200, "")
	r.want(r.vault(before, `{"customerId":"zen"}`), 200, "")
	r.want(r.do(request{method: "PATCH", path: "/client-session", body: `{"clientToken":"` + open + `",` + zenobiaAs + `}`}), 200, "")
	guestPaid := r.want(r.pay(payWith(r.cardOf(open))), 200, "").text1("id")
	named := r.want(r.pay(`{"paymentMethodToken":"`+r.cardOf(open)+`","customerId":"zen"}`), 200, "").text1("id")
	r.want(r.pay(`{"paymentMethodToken":"`+r.cardOf(plain)+`","customerId":"zen"}`), 200, "")
	for _, when := range []string{"before the repeat", "after the repeat", "after another repeat"} {
		if kept := r.keptFor("zen"); len(kept) != 1 {
			t.Errorf("%s: %d saved cards", when, len(kept))
		}
		for _, path := range []string{"/client-session?clientToken=" + open, "/payments/" + guestPaid, "/payments/" + named, "/payments/" + plainPaid} {
			if found := showsHer(r.get(path).text); len(found) < 5 {
				t.Errorf("%s: %s shows only %v", when, path, found)
			}
		}
		if found := showsHer(r.get("/payments/" + old).text); len(found) > 0 {
			t.Errorf("%s: the erased payment shows %v", when, found)
		}
		events := r.events()
		r.finishErasure("zen")
		if now := r.events(); now != events {
			t.Errorf("%s: the repeat recorded %d events", when, now-events)
		}
	}
	r.want(r.eraseCustomer("zen"), 200, "") // all of it belongs to the next one
	for _, path := range []string{"/client-session?clientToken=" + open, "/payments/" + guestPaid, "/payments/" + named, "/payments/" + plainPaid} {
		if found := showsHer(r.get(path).text); len(found) > 0 {
			t.Errorf("after the second erasure %s shows %v", path, found)
		}
	}
	if kept := r.keptFor("zen"); len(kept) != 0 {
		t.Errorf("after the second erasure: %d saved cards", len(kept))
	}
}

// TestErasureReachesSessions: an erasure reaches a guest's session through a card that is vaulted
// for the customer, through a later change of the session, and through a customerId that the
// session had earlier.
func TestErasureReachesSessions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	vaulted := r.session(zenobiaSession(""))
	r.want(r.vault(r.cardOf(vaulted), `{"customerId":"y"}`), 200, "")
	moved, left := r.session(zenobiaSession("")), r.session(zenobiaSession("y"))
	movedPaid := r.want(r.pay(payWith(r.cardOf(moved))), 200, "").text1("id")
	change := func(clientToken, fields string) {
		t.Helper()
		r.want(r.do(request{method: "PATCH", path: "/client-session", body: `{"clientToken":"` + clientToken + `",` + fields + `}`}), 200, "")
	}
	change(moved, `"customerId":"y"`)
	change(moved, `"customerId":"z"`)
	change(left, `"customerId":null`)
	r.want(r.eraseCustomer("y"), 200, "")
	for what, path := range map[string]string{
		"the session whose card was vaulted": "/client-session?clientToken=" + vaulted, "the payment of a session that moved on": "/payments/" + movedPaid,
		"the session that has no customer now": "/client-session?clientToken=" + left,
	} {
		if found := showsHer(r.get(path).text); len(found) > 0 {
			t.Errorf("%s shows %v", what, found)
		}
	}
	if found := showsHer(r.get("/client-session?clientToken=" + moved).text); len(found) < 5 {
		t.Errorf("the session of another customer shows only %v", found)
	}
	if found := showsHer(r.want(r.pay(payWith(r.cardOf(vaulted))), 200, "").text); len(found) > 1 { // the cardholder of the new card
		t.Errorf("a new payment shows %v", found)
	}
}

// TestErasureOfSharedSession: a session in which two customers pay belongs to both. Erasing one
// takes the session's own data and its guest payments; the other one's payment stays.
func TestErasureOfSharedSession(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	shared := r.session(zenobiaSession(""))
	paid := map[string]string{}
	for _, customer := range []string{"a", "b"} {
		paid[customer] = r.want(r.pay(`{"paymentMethodToken":"`+r.cardOf(shared)+`","customerId":"`+customer+`"}`), 200, "").text1("id")
	}
	guest := r.want(r.pay(payWith(r.cardOf(shared))), 200, "").text1("id")
	r.want(r.eraseCustomer("a"), 200, "")
	for _, path := range []string{"/payments/" + paid["a"], "/payments/" + guest, "/client-session?clientToken=" + shared} {
		if found := showsHer(r.get(path).text); len(found) > 0 {
			t.Errorf("%s shows %v", path, found)
		}
	}
	if found := showsHer(r.get("/payments/" + paid["b"]).text); len(found) < 5 {
		t.Errorf("the other customer's payment shows only %v", found)
	}
}

// TestEraseOddCustomers: a customer's id is any text without control characters (D22.5).
func TestEraseOddCustomers(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	for _, id := range []string{"..", "a/../b", " ", "a%2fb", "ünï-漢字", "erase"} {
		paid := r.want(r.pay(payWith(r.cardOf(r.session(zenobiaSession(id))))), 200, "").text1("id")
		if erased := r.want(r.eraseCustomer(id), 200, ""); erased.text1("customerId") != id {
			t.Errorf("%q: answered %s", id, erased.text)
		}
		if found := showsHer(r.get("/payments/" + paid).text); len(found) > 0 {
			t.Errorf("%q: the payment shows %v", id, found)
		}
	}
}
