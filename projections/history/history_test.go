package history

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/checkpointlog"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/secrets"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) { eventstoretest.RunWithoutLeaks(m) }

const (
	owner domain.AccountID = "acct1"
	id    domain.PaymentID = "010000000000001111111111111"
)

// ledger is a store whose times, ids and hashes are the same in every run.
func ledger(t *testing.T) (*engine.Store, *secrets.Store) {
	t.Helper()
	var mu sync.Mutex
	now := time.Date(2026, 3, 14, 9, 26, 53, 589_000_000, time.UTC)
	c := eventstoretest.Config(eventstoretest.Server(t, t.TempDir()))
	c.Shards = 1
	c.Now = func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(time.Millisecond)
		return now
	}
	store := eventstoretest.OpenOn(t, c)
	return store, eventstoretest.Secrets(t, store)
}

// played appends the events of one payment: created, timed out, pending at the processor,
// authorized.
func played(t *testing.T, store *engine.Store, personal *domain.Sealed) []time.Time {
	t.Helper()
	ctx := context.Background()
	start := time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)
	amount := domain.Amount(1250)
	create := payment.Create{
		At: start, ID: id, Account: owner, OrderID: "order-1", Currency: "EUR", Amount: &amount,
		Personal: personal,
		Metadata: domain.Metadata{"shop": "north", "a.b": int64(1)},
		Method:   payment.Method{Token: "01token1", Type: instrument.MethodCard, AuthorizationType: "FINAL", Card: domain.NewCard("4111111111111111", "12", "2030", true)},
		Route:    []payment.Target{{Processor: processor.Adyen, MerchantID: "north-adyen"}},
	}
	answer := func(at time.Time, eventID string, a processor.Answer) func(payment.State) (payment.Event, error) {
		return func(s payment.State) (payment.Event, error) {
			return payment.DecideAnswer(s, payment.RecordAnswer{At: at, EventID: eventID, Request: 1, Answer: a})
		}
	}
	var times []time.Time
	for i, decide := range []func(payment.State) (payment.Event, error){
		func(s payment.State) (payment.Event, error) { return payment.DecideCreate(s, create) },
		func(s payment.State) (payment.Event, error) {
			return payment.DecideTimeOut(s, payment.TimeOut{At: start.Add(90 * time.Second), Request: 1})
		},
		answer(start.Add(95*time.Second), "00000000-0000-4000-8000-000000000003", processor.Answer{State: processor.Pending, ProcessorTransactionID: "ptx-1", ProcessorEventID: "pev-1"}),
		answer(start.Add(99*time.Second), "00000000-0000-4000-8000-000000000004", processor.Answer{State: processor.Succeeded, ProcessorTransactionID: "ptx-1", ProcessorEventID: "pev-2", AuthorizationCode: "A1B2C3"}),
	} {
		at := []time.Duration{0, 90, 95, 99}[i] * time.Second
		digit := string(rune('1' + i))
		meta := eventstore.Meta{
			EventID: "00000000-0000-4000-8000-00000000000" + digit, CommandID: "11111111-0000-4000-8000-00000000000" + digit,
			CorrelationID: "request-" + digit, Actor: "api_key:first", At: start.Add(at),
		}
		if _, err := eventstore.Execute(ctx, store, eventstore.Payments, eventstore.Payments.Key(owner, string(id)), meta, decide); err != nil {
			t.Fatal(err)
		}
		times = append(times, meta.At)
	}
	return times
}

// all replays a payment up to at.
func (h *Reader) all(account domain.AccountID, id domain.PaymentID, at At) ([]Entry, error) {
	entries, next, err := h.part(account, id, Part{At: at})
	if next != 0 {
		return nil, fmt.Errorf("the history continues after %d", next)
	}
	return entries, err
}

// part collects a part of a replay.
func (h *Reader) part(account domain.AccountID, id domain.PaymentID, p Part) (entries []Entry, next uint64, err error) {
	next, err = h.Payment(context.Background(), account, id, p, func(e Entry) error {
		entries = append(entries, e)
		return nil
	})
	return entries, next, err
}

// TestHistory compares the replay of one payment with a reviewed file (I1).
func TestHistory(t *testing.T) {
	store, vault := ledger(t)
	played(t, store, nil)
	h := Reader{Store: store, Secrets: vault, First6Digits: func(context.Context, domain.AccountID) (bool, error) { return true, nil }}
	entries, err := h.all(owner, id, At{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(entries, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	path := filepath.Join("testdata", "history.json")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; got\n%s", path, got)
	}
}

// TestParseSecond: people read times cut to seconds, so a time without a fraction is the end of its
// second.
func TestParseSecond(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "3": "3", "2026-03-14T09:26:53Z": "2026-03-14T09:26:53.999999999Z", "2026-03-14t10:26:53+01:00": "2026-03-14T09:26:53.999999999Z",
		"2026-03-14 09:26:53": "2026-03-14T09:26:53.999999999Z", "14 Mar 2026 09:26:53 UTC": "2026-03-14T09:26:53.999999999Z", "2026-03-14 09:26:53.5": "2026-03-14T09:26:53.5Z",
		"2026-03-14T09:26:53": "2026-03-14T09:26:53.999999999Z", "2026-03-14T09:26:53.5Z": "2026-03-14T09:26:53.5Z", "2026-03-14T09:26:53.000": "2026-03-14T09:26:53Z",
		"14 mar 2026 09:26:53 utc": "2026-03-14T09:26:53.999999999Z",
	} {
		at, err := ParseSecond(text)
		if err != nil || at.String() != want {
			t.Errorf("%q: %q, %v; want %q", text, at, err, want)
		}
		if again, err := ParseAt(at.String()); err != nil || again.String() != want {
			t.Errorf("%q is not read again: %q, %v", want, again, err)
		}
	}
	if _, err := ParseSecond("soon"); err == nil {
		t.Error("soon is taken")
	}
}

// TestAt: a replay ends after a revision, or with the last event at or before a time. An unknown
// revision, or a time before the first event, is an error.
func TestAt(t *testing.T) {
	store, vault := ledger(t)
	times := played(t, store, nil)
	h := Reader{Store: store, Secrets: vault, Now: func() time.Time { return times[3].Add(-time.Hour) }} // the clock of the events was ahead
	for text, want := range map[string]int{
		"": 4, "1": 1, "4": 4, "5": 0, "0": 0,
		"2026-03-14T09:26:52Z": 0, "2026-03-14T09:26:53": 1, times[1].Format(time.RFC3339Nano): 2,
		"2026-03-14T10:28:30+01:00": 3, times[3].Format(time.RFC3339Nano): 4,
		"2026-03-14t09:26:53z": 1, "2026-03-14t09:26:53": 1, "0001-01-01T00:00:00Z": 0, "0000-01-01t00:00:00z": 0,
	} {
		at, err := ParseAt(text)
		var entries []Entry
		if err == nil {
			entries, err = h.all(owner, id, at)
		}
		if len(entries) != want || (err != nil) != (want == 0) || (err != nil && !errors.Is(err, ErrNotThere)) {
			t.Errorf("at %q: %d entries, %v; want %d", text, len(entries), err, want)
		}
	}
	for second, future := range map[int]bool{60: false, 61: true} {
		h.Now = func() time.Time { return times[3] }
		at := times[3].Add(time.Duration(second) * time.Second)
		if entries, err := h.all(owner, id, At{Time: &at}); errors.Is(err, ErrFuture) != future || len(entries) == 4 == future {
			t.Errorf("%d seconds after now: %d entries, %v", second, len(entries), err)
		}
	}
	if _, err := ParseAt("yesterday"); err == nil || errors.Is(err, ErrNotThere) {
		t.Errorf("yesterday: %v", err)
	}
	for _, unknown := range []struct {
		account domain.AccountID
		id      domain.PaymentID
	}{{owner, "01unknown"}, {"acct2", id}} {
		if _, err := h.all(unknown.account, unknown.id, At{}); domain.ReasonOf(err) != domain.ReasonPayment {
			t.Errorf("%v: %v", unknown, err)
		}
	}
}

// TestPersonalData: the payment shows personal data while its key exists. The event shows only
// sealed data.
func TestPersonalData(t *testing.T) {
	ctx := context.Background()
	store, vault := ledger(t)
	sealed, err := vault.Seal(ctx, "customer-key.acct1.x", domain.Personal{
		CardholderName: "Ada Byron", Customer: &domain.Customer{Email: "ada@example.com"},
	})
	if err != nil {
		t.Fatal(err)
	}
	played(t, store, sealed)
	h := Reader{Store: store, Secrets: vault}
	for _, erased := range []bool{false, true} {
		if erased {
			if err := vault.Destroy(ctx, sealed.Key); err != nil {
				t.Fatal(err)
			}
		}
		entries, err := h.all(owner, id, At{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			shown := e.Payment.Customer != nil && e.Payment.Customer.Email == "ada@example.com"
			if shown == erased || (e.Payment.PaymentMethod.PaymentMethodData.CardholderName != "") == erased {
				t.Errorf("erased %t: revision %d shows %+v", erased, e.Revision, e.Payment.Customer)
			}
			if event, err := json.Marshal(e.Event); err != nil || bytes.Contains(event, []byte("ada@example.com")) {
				t.Errorf("the event shows it: %s, %v", event, err)
			}
		}
	}
}

// TestPositions: an event is shown at once, first without its position. After a checkpoint covers
// the event, it is shown with its position in the whole log.
func TestPositions(t *testing.T) {
	store, vault := ledger(t)
	h := Reader{Store: store, Secrets: vault}
	played(t, store, nil)
	entries, err := h.all(owner, id, At{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := json.Marshal(e)
		if err != nil || e.Position != nil || bytes.Contains(text, []byte(`"position"`)) {
			t.Errorf("revision %d has a position that no checkpoint fixes: %s, %v", e.Revision, text, err)
		}
	}
	covered(t, store, vault)
	if entries, err = h.all(owner, id, At{}); err != nil {
		t.Fatal(err)
	}
	last := uint64(0)
	for _, e := range entries {
		if e.Position == nil || *e.Position <= last {
			t.Fatalf("revision %d has position %v after %d", e.Revision, e.Position, last)
		}
		last = *e.Position
	}
}

// covered writes a checkpoint that covers the whole log.
func covered(t *testing.T, store *engine.Store, vault *secrets.Store) {
	t.Helper()
	fanout := eventstore.NewFanout(store)
	signer, _, err := vault.CheckpointSigner(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	checkpoints, err := checkpointlog.NewWriter(context.Background(), store.Checkpoints(), fanout.Reader, signer)
	if err != nil {
		t.Fatal(err)
	}
	checkpoints.Every = time.Millisecond
	ctx, stop := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	defer loops.Wait()
	defer stop()
	for _, run := range []func(context.Context) error{checkpoints.Run, fanout.Run} {
		loops.Go(func() {
			if err := run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	for again := time.NewTicker(5 * time.Millisecond); ; <-again.C {
		newest, err := store.Checkpoints().Last(ctx)
		if err != nil && !errors.Is(err, eventstore.ErrNotFound) {
			t.Fatal(err)
		}
		if newest.Size >= store.Events() {
			again.Stop()
			return
		}
	}
}
