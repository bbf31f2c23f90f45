package history

import (
	"context"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/inbox"
	"payledger/domain/processor"
	"payledger/eventstore"
)

// TestNotices: an entry has the notifications that arrived after its event, with their bodies and
// effects. Notifications that arrived before the payment are in the first entry. A replay that ends
// earlier does not have them (D14).
func TestNotices(t *testing.T) {
	store, vault := ledger(t)
	times := played(t, store, nil)
	in := func(at time.Time, decide func(inbox.State) (inbox.Event, error)) {
		t.Helper()
		meta, err := store.NewMeta("processor:ADYEN", "request")
		if err != nil {
			t.Fatal(err)
		}
		meta.At = at
		if _, err := eventstore.Execute(context.Background(), store, eventstore.Inboxes, eventstore.InboxKey(string(id)), meta, decide); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := vault.Seal(t.Context(), "session-key.acct.s", domain.Personal{CardholderName: "Zenobia"}); err != nil {
		t.Fatal(err)
	}
	additional, err := vault.SealText(t.Context(), "session-key.acct.s", 0, `{"claimant":"Zenobia"}`)
	if err != nil {
		t.Fatal(err)
	}
	receive := func(at time.Time, name string) {
		t.Helper()
		in(at, func(s inbox.State) (inbox.Event, error) {
			return inbox.DecideReceive(s, inbox.Receive{At: at, Additional: additional, Body: `{"id":"` + name + `", "its":"own <words>"}`, Listed: name == "nt_3", Payload: processor.Notification{
				ID: name, Processor: processor.Adyen, Kind: processor.Dispute, Reference: id, Dispute: &processor.DisputeUpdate{ID: "dp_1"},
			}})
		})
	}
	receive(times[0].Add(-time.Hour), "nt_1")
	receive(times[2].Add(time.Second), "nt_2")
	receive(times[3].Add(time.Hour), "nt_3")
	in(times[3].Add(time.Hour), func(s inbox.State) (inbox.Event, error) {
		return inbox.DecideApplied(s, inbox.WasApplied{At: times[3].Add(time.Hour), Processor: processor.Adyen, ID: "nt_2", Effect: "dispute.opened", Dispute: "01d"})
	})
	in(times[3].Add(2*time.Hour), func(s inbox.State) (inbox.Event, error) {
		return inbox.DecideRejected(s, inbox.WasRejected{At: times[3].Add(2 * time.Hour), Processor: processor.Adyen, ID: "nt_3", Refusal: "impossible"})
	})
	h := Reader{Store: store, Secrets: vault}
	entries, err := h.all(owner, id, At{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		line := ""
		for _, n := range e.Notices {
			line += n.ID + " " + string(n.Outcome) + " " + n.Effect + n.Refusal
			if !strings.Contains(string(n.Body), `"id":"`+n.ID+`", "its":"own <words>"`) || len(n.Hash) != 64 || n.Found != (n.ID == "nt_3") || string(n.Additional) != `{"claimant":"Zenobia"}` {
				t.Errorf("%+v", n)
			}
		}
		names = append(names, line)
	}
	if got, want := strings.Join(names, "|"), "nt_1 WAITING ||nt_2 APPLIED dispute.opened|nt_3 REJECTED impossible"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if err := vault.Destroy(t.Context(), additional.Key); err != nil {
		t.Fatal(err)
	}
	erased, err := h.all(owner, id, At{})
	if err != nil || len(erased[0].Notices) != 1 || erased[0].Notices[0].Additional != nil {
		t.Errorf("erased: %+v %v", erased[0].Notices, err)
	}
	at, err := ParseAt("2")
	if err != nil {
		t.Fatal(err)
	}
	earlier, err := h.all(owner, id, at)
	if err != nil || len(earlier) != 2 || earlier[0].Notices != nil {
		t.Errorf("%+v %v", earlier, err)
	}
}
