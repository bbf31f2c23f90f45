package simulator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/adapter"
	"payledger/processorsim/dialects"
	"payledger/processorsim/protocol"
	"payledger/processorsim/simulator/dialect"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

// disputedCard opens a dispute 2 s after settlement (D13).
const disputedCard = "4000000000000259"

// sale authorizes with a card and captures all of it; r, if any, receives both notifications.
func (b *bench) sale(card string, r *receiver) (capture processor.Answer) {
	b.t.Helper()
	op := b.authorize(card, 1000)
	if r != nil {
		op.NotifyURL = r.URL
	}
	capture = b.send(b.on(b.send(op), processor.Capture, 1000))
	expect(b.t, capture, processor.Succeeded, "")
	return capture
}

// notifications returns a processor's notifications about disputes.
func (b *bench) notifications(name processor.Name) []processor.SignedNotification {
	b.t.Helper()
	page, err := b.client.NotificationsSince(b.t.Context(), name, time.Time{}, "")
	must(b.t, err)
	if page.Unreadable > 0 {
		b.t.Errorf("%d notifications cannot be read", page.Unreadable)
	}
	return page.Notifications
}

func (b *bench) dispute(typ processor.DisputeType) protocol.Dispute {
	b.t.Helper()
	d, err := b.client.OpenDispute(b.t.Context(), protocol.DisputeOrder{Reference: "01payment", Type: typ, ReasonCode: "13.1"})
	must(b.t, err)
	return d
}

func (b *bench) change(id string, typ processor.DisputeType, status processor.DisputeStatus) protocol.Dispute {
	b.t.Helper()
	d, err := b.client.ChangeDispute(b.t.Context(), id, protocol.DisputeChange{Type: typ, Status: status})
	must(b.t, err)
	return d
}

// TestDisputedCard: a dispute opens 2 s after settlement and not before, once, also after a restart
// (D13).
func TestDisputedCard(t *testing.T) {
	for name, settle := range map[string]func(b *bench, sale processor.Answer){
		"captured": func(b *bench, sale processor.Answer) { b.send(b.on(sale, processor.Capture, 1000)) },
		"in parts": func(b *bench, sale processor.Answer) {
			b.send(b.on(sale, processor.Capture, 300))
			b.send(b.on(sale, processor.Capture, 700))
		},
		"the rest released": func(b *bench, sale processor.Answer) {
			b.send(b.on(sale, processor.Capture, 300))
			b.send(b.on(sale, processor.Void, 0))
		},
		"behind our back": func(b *bench, sale processor.Answer) {
			_, err := b.client.Act(b.t.Context(), processor.Capture, "01payment", nil)
			must(b.t, err)
		},
		"and then restarted": func(b *bench, sale processor.Answer) { b.send(b.on(sale, processor.Capture, 1000)); b.reopen() },
		"and partly refunded": func(b *bench, sale processor.Answer) {
			b.send(b.on(sale, processor.Capture, 1000))
			b.send(b.on(sale, processor.Refund, 100))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			sale := b.send(b.authorize(disputedCard, 1000))
			b.clock.Advance(time.Hour)
			if sent := b.notifications(processor.Adyen); len(sent) != 0 {
				t.Errorf("before settlement: %+v", sent)
			}
			settle(b, sale)
			lines := b.books()
			b.clock.Advance(2*time.Second - 1)
			if sent := b.notifications(processor.Adyen); len(sent) != 0 {
				t.Errorf("too early: %+v", sent)
			}
			b.clock.Advance(1)
			b.reopen()
			b.clock.Advance(time.Hour)
			sent := b.notifications(processor.Adyen)
			if len(sent) != 1 || sent[0].Dispute.Type != processor.Chargeback || sent[0].Dispute.Status != processor.DisputeOpen || sent[0].Dispute.ReasonCode != "10.4" {
				t.Fatalf("%+v", sent)
			}
			if after := b.books(); !reflect.DeepEqual(after, lines) {
				t.Errorf("a dispute adds lines to the books: %+v", after)
			}
		})
	}
}

// TestSettleOpensDisputes checks that settle completes all pending operations and due disputes
// (D14).
func TestSettleOpensDisputes(t *testing.T) {
	b := newBench(t)
	capture := b.sale(disputedCard, nil)
	n, err := b.client.Settle(t.Context())
	sent := b.notifications(processor.Adyen)
	if err != nil || n != 1 || len(sent) != 1 || sent[0].Dispute.TransactionID != capture.ProcessorTransactionID || sent[0].Dispute.Amount != 1000 {
		t.Fatalf("%d %v %+v", n, err, sent)
	}
	b.clock.Advance(time.Hour)
	if sent := b.notifications(processor.Adyen); len(sent) != 1 {
		t.Errorf("its timer opened it again: %+v", sent)
	}
}

// TestDisputeControl checks which orders for disputes are accepted, and which are refused (D14).
func TestDisputeControl(t *testing.T) {
	b := newBench(t)
	sale := b.approved(1000)
	retrieval := b.dispute(processor.Retrieval)
	if retrieval.ProcessorTransactionID != sale.ProcessorTransactionID || retrieval.Amount != 1000 || retrieval.Status != processor.DisputeOpen || retrieval.Currency != "EUR" {
		t.Errorf("of an authorization: %+v", retrieval)
	}
	capture := b.send(b.on(sale, processor.Capture, 400))
	second := b.send(b.on(sale, processor.Capture, 100))
	if d := b.dispute(processor.Chargeback); d.ProcessorTransactionID != second.ProcessorTransactionID || d.Amount != 500 || capture.ProcessorTransactionID == "" {
		t.Errorf("of captures: %+v", d)
	}
	changed := b.change(retrieval.ID, processor.Chargeback, processor.DisputeOpen)
	if changed.ID != retrieval.ID || changed.Type != processor.Chargeback || !changed.UpdatedAt.After(retrieval.UpdatedAt) || changed.ChallengeRequiredBy.Equal(retrieval.ChallengeRequiredBy) {
		t.Errorf("%+v", changed)
	}
	if impossible := b.change(retrieval.ID, processor.Retrieval, processor.DisputeWon); impossible.Status != processor.DisputeWon {
		t.Errorf("%+v", impossible)
	}
	for body, status := range map[string]int{
		`{"reference":"01payment","type":"DISPUTE","reasonCode":"10.4","amount":7}`:                  200,
		`{"reference":"01payment","type":"DISPUTE","reasonCode":"10.4","amount":0}`:                  422,
		`{"reference":"01payment","type":"CHARGEBACK","reasonCode":"10.4"}`:                          422,
		`{"reference":"01payment","type":"DISPUTE"}`:                                                 422,
		`{"reference":"01payment","type":"DISPUTE","reasonCode":"10 4"}`:                             422,
		`{"reference":"01payment","type":"DISPUTE","reasonCode":"10.4","status":"OPEN"}`:             400,
		`{"reference":"01nobody","type":"DISPUTE","reasonCode":"10.4"}`:                              422,
		`{"reference":"*","type":"DISPUTE","reasonCode":"10.4"}`:                                     422,
		`{"reference":"01payment","type":"DISPUTE","reasonCode":"10.4","amount":9007199254740992}`:   422,
		`{"reference":"01payment","type":"PREARBITRATION","reasonCode":"4837","amount":99999999999}`: 200,
	} {
		if got, text := b.post("/sim/disputes", body); got != status {
			t.Errorf("%s: %d %s", body, got, text)
		}
	}
	for _, c := range []struct {
		id     string
		change protocol.DisputeChange
		says   string
	}{
		{"dp_none", protocol.DisputeChange{Status: processor.DisputeWon}, "404"},
		{retrieval.ID, protocol.DisputeChange{}, "422"},
		{retrieval.ID, protocol.DisputeChange{Status: "SETTLED"}, "422"},
		{retrieval.ID, protocol.DisputeChange{Type: "X", Status: processor.DisputeWon}, "422"},
	} {
		if _, err := b.client.ChangeDispute(t.Context(), c.id, c.change); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for path, want := range map[string]int{
		"/v1/processors/ADYEN/disputes?since=yesterday": 422, "/v1/processors/ADYEN/disputes?after=nt_x": 422, "/v1/processors/ACME/disputes": 404,
		"/v1/processors/ADYEN/disputes?limit=0": 422, "/v1/processors/ADYEN/disputes?limit=31": 422, "/v1/processors/ADYEN/disputes?limit=1": 200,
	} {
		response, err := b.server.Client().Get(b.server.URL + path)
		must(t, err)
		if must(t, response.Body.Close()); response.StatusCode != want {
			t.Errorf("%s: %d", path, response.StatusCode)
		}
	}
}

// TestNotificationsSince checks pages, a start time and stable cursors, also after a kill.
func TestNotificationsSince(t *testing.T) {
	b := newBench(t)
	b.approved(1000)
	d := b.dispute(processor.Chargeback)
	for range 64 {
		b.clock.Advance(time.Minute)
		b.change(d.ID, "", processor.DisputeOpen)
	}
	copied := b.killed(b.bytes())
	defer copied.close()
	for _, on := range []*bench{b, copied} {
		var seen []string
		for cursor, more := "", true; more; {
			page, err := on.client.NotificationsSince(context.Background(), processor.Adyen, time.Time{}, cursor)
			must(t, err)
			for _, n := range page.Notifications {
				seen = append(seen, n.ID)
			}
			cursor, more = page.Next, page.More
		}
		if len(seen) != 65 || len(map[string]bool{seen[0]: true, seen[29]: true, seen[30]: true, seen[64]: true}) != 4 {
			t.Errorf("%d notifications", len(seen))
		}
		end, err := on.client.NotificationsSince(t.Context(), processor.Adyen, start, seen[64])
		if err != nil || len(end.Notifications) != 0 || end.Next != seen[64] || end.More {
			t.Errorf("at the end: %+v %v", end, err)
		}
		late, err := on.client.NotificationsSince(t.Context(), processor.Adyen, start.Add(60*time.Minute), "")
		if err != nil || len(late.Notifications) != 5 || late.Notifications[0].ID != seen[60] {
			t.Errorf("since an hour later: %+v %v", late, err)
		}
		if other := on.notifications(processor.Stripe); len(other) != 0 {
			t.Errorf("another processor's: %+v", other)
		}
	}
}

// hears receives one notification and returns it.
func (r *receiver) hears(b *bench) processor.SignedNotification {
	b.t.Helper()
	h := <-r.received
	r.status <- http.StatusOK
	sent, err := adapter.ParseNotification(secret, h.note.Processor, http.Header{protocol.HeaderSignature: {h.signature}}, h.body)
	must(b.t, err)
	return sent
}

// TestDisputeNotifications checks that notifications go to the payment's URL until they are
// delivered, also after a restart, and that faults lose, delay, repeat and reorder them (D14).
func TestDisputeNotifications(t *testing.T) {
	b, r := newBench(t), newReceiver(t)
	b.sale("4242424242424242", r)
	fault := func(mode protocol.Mode, delayMs int) {
		b.fault(protocol.Fault{Processor: processor.Adyen, Operation: processor.Dispute, Mode: mode, Count: new(1), DelayMs: delayMs})
	}
	d := b.dispute(processor.Chargeback)
	first := r.hears(b)
	if first.Dispute.ID != d.ID || first.Dispute.Status != processor.DisputeOpen || first.Reference != "01payment" {
		t.Errorf("%+v", first)
	}

	fault(protocol.DropBefore, 0)
	b.change(d.ID, "", processor.DisputeChallenged) // lost
	fault(protocol.DuplicateNotification, 0)
	b.change(d.ID, "", processor.DisputeWon)
	if won, again := r.hears(b), r.hears(b); won.Dispute.Status != processor.DisputeWon || again.ID != won.ID {
		t.Errorf("%+v %+v", won, again)
	}
	if sent := b.notifications(processor.Adyen); len(sent) != 3 || sent[1].Dispute.Status != processor.DisputeChallenged {
		t.Errorf("a look-up finds %+v", sent)
	}

	fault(protocol.Latency, 5000)
	b.change(d.ID, "", processor.DisputeLost)
	fault(protocol.Reorder, 0)
	b.change(d.ID, processor.Prearbitration, processor.DisputeOpen)
	b.change(d.ID, "", processor.DisputeAccepted)
	if overtook, held := r.hears(b), r.hears(b); overtook.Dispute.Status != processor.DisputeAccepted || held.Dispute.Status != processor.DisputeOpen {
		t.Errorf("%+v %+v", overtook, held)
	}
	b.clock.AwaitTimers(2) // the late one, and reorder's own end
	b.clock.Advance(5 * time.Second)
	if late := r.hears(b); late.Dispute.Status != processor.DisputeLost {
		t.Errorf("%+v", late)
	}

	b.awaitNotified(6) // the lost one too
	b.change(d.ID, "", processor.DisputeOpen)
	unanswered := <-r.received
	b.reopen() // its answer never came
	r.status <- http.StatusOK
	if again := r.hears(b); again.ID != unanswered.note.ID {
		t.Errorf("after the restart %+v", again)
	}
	for _, mode := range []protocol.Mode{protocol.TechnicalError, protocol.DropAfter} {
		if err := (protocol.Fault{Operation: processor.Dispute, Mode: mode}).Check(); err == nil {
			t.Errorf("%s of a dispute", mode)
		}
	}
	b.fault(protocol.Fault{Mode: protocol.DropBefore}) // of all operations
	b.change(d.ID, "", processor.DisputeWon)
	if received := r.hears(b); received.Dispute.Status != processor.DisputeWon {
		t.Errorf("%+v", received)
	}
}

// TestDialects checks that each processor names every type and status in its own words, as in the
// reviewed files, and that the client understands all of them (D16).
func TestDialects(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)
	by := time.Date(2026, 3, 15, 23, 59, 59, 0, time.UTC)
	for _, name := range append(slices.Sorted(maps.Keys(dialects.Stages)), "ANOTHER") {
		var pages bytes.Buffer
		for _, typ := range processor.DisputeTypes {
			for i, status := range processor.DisputeStatuses {
				d := protocol.Dispute{
					ID: "dp_1", Processor: name, ProcessorMerchantID: "merchant 1", Reference: "01payment", ProcessorTransactionID: "tx_1", Type: typ, Status: status,
					ReasonCode: []string{"10.4", "4855", "C31", "F29", "13.6", "12.6.1", "ZZ9"}[i], Amount: []domain.Amount{1250, 5, 0, 100000, 1, 99, 10}[i],
					Currency: []domain.Currency{"EUR", "EUR", "JPY", "KRW", "BHD", "USD", "XAU"}[i], ChallengeRequiredBy: by, CreatedAt: at, UpdatedAt: at,
				}
				words := dialect.Write(d)
				fmt.Fprintf(&pages, "%s %s\n", typ, status)
				must(t, json.Indent(&pages, words, "", "  "))
				pages.WriteString("\n")
				body := encode(t, protocol.Notification{ID: "nt_1", Processor: name, Type: processor.Dispute, Reference: "01payment", Dispute: words})
				sent, err := adapter.ParseNotification(secret, name, http.Header{protocol.HeaderSignature: {protocol.Sign(secret, []byte(body))}}, []byte(body))
				must(t, err)
				want := processor.DisputeUpdate{
					ID: "dp_1", MerchantID: "merchant 1", TransactionID: "tx_1", Type: typ, Status: status, ReasonCode: d.ReasonCode,
					Wording: sent.Dispute.Wording, Amount: d.Amount, Currency: d.Currency, At: at,
				}
				if status == processor.DisputeOpen && !(name == processor.PayPal && typ == processor.Retrieval) {
					want.ChallengeBy = by
				}
				if *sent.Dispute != want || sent.Dispute.Wording == "" {
					t.Errorf("%s %s %s\n got %+v\nwant %+v", name, typ, status, *sent.Dispute, want)
				}
			}
		}
		file := filepath.Join("dialect", "testdata", strings.ToLower(string(name))+".txt")
		if *update {
			must(t, os.MkdirAll(filepath.Dir(file), 0o750))
			must(t, os.WriteFile(file, pages.Bytes(), 0o600))
		}
		golden, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(golden, pages.Bytes()) {
			t.Errorf("%s is other than it was; -update rewrites it (%v)", file, err)
		}
	}
}
