package payments_test

import (
	"sync/atomic"
	"testing"

	"payledger/domain"
	"payledger/domain/inbox"
	"payledger/eventstore"
	"payledger/eventstore/commands/commandstest"
	"payledger/eventstore/secrets"
)

// received returns the newest notification of an inbox.
func (r *rig) received(reference domain.PaymentID) inbox.Received {
	r.T.Helper()
	tip, err := eventstore.NewRepositories(r.Store).Inboxes.Load(background, eventstore.InboxOwner, string(reference), eventstore.Applied)
	if err != nil {
		r.T.Fatal(err)
	}
	events, err := r.Store.Since(background, tip.Recorded, 1)
	if err != nil {
		r.T.Fatal(err)
	}
	var newest inbox.Received
	for _, e := range events {
		event, err := eventstore.Inboxes.Event(e)
		if err != nil {
			r.T.Fatal(err)
		}
		if n, is := event.(inbox.Received); is {
			newest = n
		}
	}
	return newest
}

// TestAdditionalFieldsAreErased checks the fields of a notification that the protocol does not
// name. They can be read until the key of the payment's personal data is destroyed. After that, and
// for an unknown payment, none are stored. The fact is stored in any case (D14).
func TestAdditionalFieldsAreErased(t *testing.T) {
	r := newRig(t)
	var known atomic.Bool
	s := r.InboxService(&known)
	paid := r.Pay(s, commandstest.ApprovedCard)
	key := secrets.PersonalKeyName(paid.Account, paid.CustomerID, paid.Session)
	notify := func(id string) inbox.Received {
		t.Helper()
		n := commandstest.DisputeNotification(id, paid.ID, "OPEN", commandstest.DisputedAt)
		n.Additional = `{"claimant":"Zenobia"}`
		if err := s.Notify(background, "request", n); err != nil {
			t.Fatal(err)
		}
		got := r.received(paid.ID)
		if got.Payload.ID != id {
			t.Fatalf("%+v", got)
		}
		return got
	}
	if early := notify("nt_1"); early.Additional != nil || !early.Redacted {
		t.Errorf("of a payment that is not known: %+v", early)
	}
	known.Store(true)
	sealed := notify("nt_2")
	if sealed.Additional == nil || sealed.Additional.Key != key || sealed.Redacted {
		t.Fatalf("%+v", sealed)
	}
	if text, err := r.Vault.OpenText(background, sealed.Additional); err != nil || text != `{"claimant":"Zenobia"}` {
		t.Errorf("opens as %q, %v", text, err)
	}
	if _, err := r.Vault.Open(background, sealed.Additional); err == nil {
		t.Error("the text opens as personal data")
	}
	if err := r.Vault.Destroy(background, key); err != nil {
		t.Fatal(err)
	}
	if text, err := r.Vault.OpenText(background, sealed.Additional); err != nil || text != "" {
		t.Errorf("erased, it opens as %q, %v", text, err)
	}
	if late := notify("nt_3"); late.Additional != nil || !late.Redacted {
		t.Errorf("of an erased payment: %+v", late)
	}
	if _, err := r.Vault.Seal(background, key, domain.Personal{CardholderName: "a person who came back"}); err != nil {
		t.Fatal(err)
	}
	if late := notify("nt_4"); late.Additional != nil || !late.Redacted {
		t.Errorf("of an erased payment of a person who came back: %+v", late)
	}
}
