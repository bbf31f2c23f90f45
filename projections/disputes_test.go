package projections

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"payledger/domain"
	"payledger/domain/dispute"
	"payledger/domain/inbox"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands/pending"
	"payledger/eventstore/engine"
	"payledger/projections/listing"
)

// dispute records any fact about a dispute, also an impossible one.
func (l *logbook) dispute(r *rapid.T, n int, s dispute.State) dispute.State {
	id := domain.DisputeID(fmt.Sprintf("01dispute%d", n))
	e, err := dispute.DecideRecord(s, dispute.Record{
		At: l.tick(), ID: id, Account: testAccount, Subject: dispute.Subject{Payment: paymentID(n), Processor: "ADYEN"}, Fact: dispute.Fact{
			EventID: fmt.Sprint(len(l.all)), At: start.Add(time.Duration(rapid.IntRange(0, 99).Draw(r, "at")) * time.Second),
			Type: rapid.SampledFrom(processor.DisputeTypes).Draw(r, "type"), Status: rapid.SampledFrom(processor.DisputeStatuses).Draw(r, "status"),
			ChallengeBy: &start,
		},
	})
	return record(l, eventstore.Disputes, s, eventstore.Disputes.Key(testAccount, string(id)), e, err)
}

// inbox receives one more notification, or settles the oldest.
func (l *logbook) inbox(r *rapid.T, n int, s inbox.State) inbox.State {
	reference := paymentID(100 + n)
	var e inbox.Event
	var err error
	if waiting := s.Waiting(); len(waiting) > 0 && rapid.Bool().Draw(r, "settles") {
		e, err = inbox.DecideApplied(s, inbox.WasApplied{At: l.tick(), Processor: waiting[0].Processor, ID: waiting[0].ID})
	} else {
		e, err = inbox.DecideReceive(s, inbox.Receive{At: l.tick(), Payload: processor.Notification{ID: fmt.Sprint(len(l.all)), Processor: "ADYEN", Reference: reference}})
	}
	return record(l, eventstore.Inboxes, s, eventstore.InboxKey(string(reference)), e, err)
}

// tellDispute records a fact in a real log.
func tellDispute(t *testing.T, store *engine.Store, account domain.AccountID, about dispute.Subject, f dispute.Fact) domain.DisputeID {
	t.Helper()
	id := domain.DisputeIDFor(account, string(about.Processor), about.ProcessorDisputeID)
	command(t, store, eventstore.Disputes, eventstore.Disputes.Key(account, string(id)), func(s dispute.State, m eventstore.Meta) (dispute.Event, error) {
		return dispute.DecideRecord(s, dispute.Record{At: m.At, ID: id, Account: account, Subject: about, Fact: f})
	})
	return id
}

// TestListDisputes checks that every filter and every length of page returns the same disputes as a
// loop over all disputes, newest first, while more are opened, and after a restart and a rebuild
// (D20).
func TestListDisputes(t *testing.T) {
	t.Parallel()
	store, dir := openStore(t), t.TempDir()
	n := startNode(t, store, dir)
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	for i := range 60 {
		about := dispute.Subject{
			Payment: domain.PaymentID(pick("01a", "01b", "01c")), OrderID: pick("order-1", "order-2"), Processor: processor.Name(pick("ADYEN", "STRIPE")), ProcessorDisputeID: fmt.Sprint("dp_", i),
		}
		f := dispute.Fact{EventID: fmt.Sprint(i), At: start, Type: processor.DisputeType(pick("RETRIEVAL", "DISPUTE")), Status: "OPEN", ReasonCode: pick("10.4", "13.1")}
		if i%5 > 0 {
			f.ChallengeBy = new(start.Add(time.Duration(random.IntN(10)) * time.Hour)) // several have the same
		}
		tellDispute(t, store, testAccount, about, f)
		if i%3 == 0 {
			f.EventID, f.At, f.Status = fmt.Sprint(i, " later"), start.Add(time.Second), "CHALLENGED"
			tellDispute(t, store, testAccount, about, f)
		}
	}
	tellDispute(t, store, "acct2", dispute.Subject{Payment: "01a", Processor: "ADYEN", ProcessorDisputeID: "dp_1"}, dispute.Fact{EventID: "x", At: start, Type: "DISPUTE", Status: "OPEN"})
	tellDispute(t, store, testAccount, dispute.Subject{Payment: "01a", Processor: "ADYEN", ProcessorDisputeID: "never"}, dispute.Fact{EventID: "x", At: start, Type: "RETRIEVAL", Status: "WON"})
	all := pages(t, n, DisputeFilter{}, 100)
	if len(all) != 60 || all[0].Subject.ProcessorDisputeID != "dp_59" {
		t.Fatalf("%d disputes, first %+v", len(all), all[0].Subject)
	}
	middle := all[30].CreatedAt
	filters := []DisputeFilter{
		{}, {Types: []string{"RETRIEVAL"}}, {Types: []string{"RETRIEVAL", "DISPUTE", "RETRIEVAL"}}, {Statuses: []string{"CHALLENGED"}},
		{Statuses: []string{"CHALLENGED", "OPEN"}}, {Statuses: []string{"WON"}}, {Processors: []string{"STRIPE"}}, {ReasonCodes: []string{"13.1", "nothing"}}, {Payment: "01b"},
		{Payment: "01b", Statuses: []string{"OPEN"}, Types: []string{"DISPUTE"}}, {OrderID: "order-2", Processors: []string{"ADYEN"}}, {ProcessorDisputeID: "dp_7"},
		{From: &middle}, {To: &middle}, {From: &middle, To: &middle}, {Payment: "01nobody"},
		{ByDeadline: true, Now: start}, {ByDeadline: true, Now: start.Add(5 * time.Hour)}, {ByDeadline: true, Now: start.Add(5*time.Hour + 1)},
		{ByDeadline: true, Now: start, Payment: "01b"}, {ByDeadline: true, Now: start, Statuses: []string{"OPEN"}, Types: []string{"DISPUTE"}},
		{ByDeadline: true, Now: start, Statuses: []string{"CHALLENGED"}},
	}
	for _, when := range []string{"at once", "after a restart", "after a rebuild"} {
		for _, f := range filters {
			want := idsOf(all, f)
			for _, limit := range []int{1, 7, 100} {
				if limit == 1 && when != "at once" {
					continue // a query for each dispute
				}
				got := idsOf(pages(t, n, f, limit), DisputeFilter{})
				if !slices.Equal(got, want) {
					t.Errorf("%s, %+v in pages of %d: %d of %d", when, f, limit, len(got), len(want))
				}
			}
		}
		n.stop()
		if when == "after a restart" {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
		n = startNode(t, store, dir)
	}
}

// idsOf returns the ids of the disputes that fit, in the order of the filter.
func idsOf(all []dispute.State, f DisputeFilter) (ids []domain.DisputeID) {
	if f.ByDeadline {
		all = slices.DeleteFunc(slices.Clone(all), func(d dispute.State) bool {
			return d.Current.Status != "OPEN" || d.Current.ChallengeBy == nil || d.Current.ChallengeBy.Before(f.Now)
		})
		slices.SortFunc(all, func(a, b dispute.State) int {
			return cmp.Or(a.Current.ChallengeBy.Compare(*b.Current.ChallengeBy), cmp.Compare(a.ID, b.ID))
		})
	}
	for _, d := range all {
		if fitsDispute(f, d) {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

// fitsDispute is the filter as a loop has it.
func fitsDispute(f DisputeFilter, d dispute.State) bool {
	one := func(of []string, value string) bool { return len(of) == 0 || slices.Contains(of, value) }
	return one(f.Types, string(d.Current.Type)) && one(f.Statuses, string(d.Current.Status)) && one(f.Processors, string(d.Subject.Processor)) &&
		one(f.ReasonCodes, d.Current.ReasonCode) && (f.Payment == "" || d.Subject.Payment == f.Payment) && (f.OrderID == "" || d.Subject.OrderID == f.OrderID) &&
		(f.ProcessorDisputeID == "" || d.Subject.ProcessorDisputeID == f.ProcessorDisputeID) &&
		(f.From == nil || d.CreatedAt.UnixMicro() >= f.From.UnixMicro()) && (f.To == nil || d.CreatedAt.UnixMicro() <= f.To.UnixMicro())
}

// pages reads a list to its end.
func pages(t *testing.T, n *node, f DisputeFilter, limit int) (all []dispute.State) {
	t.Helper()
	for from := (*listing.Place)(nil); ; {
		page, err := n.ListDisputes(testContext(t), testAccount, f, from, limit)
		if err != nil || len(page.Data) > limit {
			t.Fatal(len(page.Data), err)
		}
		all = append(all, page.Data...)
		if from = page.Next; from == nil {
			return all
		}
	}
}

// TestDispute checks that one dispute is read as of the call. A dispute that does not exist,
// belongs to another account, or was never opened is not found.
func TestDispute(t *testing.T) {
	store := openStore(t)
	n := startNode(t, store, t.TempDir())
	about := dispute.Subject{Payment: "01a", Processor: "ADYEN", ProcessorDisputeID: "dp_1"}
	f := dispute.Fact{EventID: "1", At: start, Type: "RETRIEVAL", Status: "WON"}
	id := tellDispute(t, store, testAccount, about, f)
	for _, c := range []struct {
		account domain.AccountID
		id      domain.DisputeID
	}{{testAccount, id}, {testAccount, "01none"}, {testAccount, "a.b"}, {"acct2", id}} {
		if _, err := n.Dispute(testContext(t), c.account, c.id); domain.ReasonOf(err) != domain.ReasonEntityNotFound {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for i, status := range []processor.DisputeStatus{"OPEN", "CHALLENGED"} {
		f.EventID, f.Type, f.Status, f.At = fmt.Sprint("e", i), "DISPUTE", status, start.Add(time.Duration(i)*time.Second)
		tellDispute(t, store, testAccount, about, f)
		if d, err := n.Dispute(testContext(t), testAccount, id); err != nil || d.Current.Status != status || len(d.Facts) != i+2 {
			t.Errorf("%+v %v", d, err)
		}
	}
}

// TestWaitingInboxes checks that the list has the inboxes that can be processed, the longest
// waiting first: those of known payments, and those whose payments have not appeared in time. The
// number of other inboxes does not matter (D14).
func TestWaitingInboxes(t *testing.T) {
	t.Parallel()
	store, dir := openStore(t), t.TempDir()
	n := startNode(t, store, dir)
	in := func(reference domain.PaymentID, decide func(inbox.State, time.Time) (inbox.Event, error)) {
		t.Helper()
		command(t, store, eventstore.Inboxes, eventstore.InboxKey(string(reference)), func(s inbox.State, m eventstore.Meta) (inbox.Event, error) { return decide(s, m.At) })
	}
	receive := func(reference domain.PaymentID, id string) {
		in(reference, func(s inbox.State, at time.Time) (inbox.Event, error) {
			return inbox.DecideReceive(s, inbox.Receive{At: at, Payload: processor.Notification{ID: id, Processor: "ADYEN", Reference: reference}})
		})
	}
	settle := func(reference domain.PaymentID, id string) {
		in(reference, func(s inbox.State, at time.Time) (inbox.Event, error) {
			return inbox.DecideApplied(s, inbox.WasApplied{At: at, Processor: "ADYEN", ID: id})
		})
	}
	a, b, c, never, later := paymentID(1), paymentID(2), paymentID(3), paymentID(4), paymentID(5)
	receive(never, "1")
	receive(a, "1")
	receive(b, "1")
	receive(later, "1")
	receive(a, "2")
	settle(a, "1")
	receive(c, "1")
	settle(c, "1")
	for i := range 3 {
		createPayment(t, store, i+1)
	}
	createPayment(t, store, 5) // after its notifications
	now := time.Now()
	for range 2 {
		if err := n.CaughtUp(testContext(t)); err != nil {
			t.Fatal(err)
		}
		for at, want := range map[time.Time][]domain.PaymentID{now: {b, later, a}, now.Add(8 * 24 * time.Hour): {never, b, later, a}} {
			if waiting := waitingInboxes(t, n, at, 1); !slices.Equal(waiting, want) {
				t.Errorf("%v, not %v", waiting, want)
			}
		}
		n.stop()
		n = startNode(t, store, dir)
	}
	if err := n.CaughtUp(testContext(t)); err != nil {
		t.Fatal(err)
	}
	fill := `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) INSERT INTO inboxes SELECT 'unknown-' || i, 'ADYEN', ` +
		fmt.Sprint(now.Add(-time.Hour).UnixMicro()) + ` FROM n`
	if _, err := n.model.Writer().ExecContext(testContext(t), fill); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	waiting := waitingInboxes(t, n, now, 100)
	t.Logf("among 20,000 unknown ones: %s", time.Since(began))
	if !slices.Equal(waiting, []domain.PaymentID{b, later, a}) {
		t.Errorf("%v", waiting)
	}
	if waiting = waitingInboxes(t, n, now.Add(8*24*time.Hour), 500); len(waiting) != 20_004 {
		t.Errorf("%d, with those that have not appeared in time", len(waiting))
	}
	if page, err := n.WaitingInboxes(testContext(t), processor.Stripe, now.Add(8*24*time.Hour), pending.Place{}, 10); err != nil || len(page) != 0 {
		t.Errorf("of another processor %v %v", page, err)
	}
}

// waitingInboxes reads the list of ADYEN in pages.
func waitingInboxes(t *testing.T, n *node, at time.Time, limit int) (all []domain.PaymentID) {
	t.Helper()
	for after := (pending.Place{}); ; {
		page, err := n.WaitingInboxes(testContext(t), processor.Adyen, at, after, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range page {
			all = append(all, domain.PaymentID(i.ID))
		}
		if len(page) < limit {
			return all
		}
		after = page[len(page)-1].Place
	}
}
