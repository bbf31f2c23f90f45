package books

import (
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"go.uber.org/goleak"

	"payledger/domain"
	"payledger/domain/processor"
	_ "payledger/domain/scratchtest"
	"payledger/processorsim/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ticking is a clock that moves one second with each reading.
func ticking() func() time.Time {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return func() time.Time { now = now.Add(time.Second); return now }
}

func openBooks(t *testing.T, dir string) *Books {
	t.Helper()
	b, cut, err := Open(dir, ticking(), rand.Reader)
	if err != nil || cut != 0 {
		t.Fatalf("cut %d: %v", cut, err)
	}
	return b
}

// entries returns the whole books.
func entries(t *testing.T, b *Books) []protocol.Entry {
	t.Helper()
	var all []protocol.Entry
	if err := b.Entries(protocol.Filter{}, func(e protocol.Entry) error { all = append(all, e); return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}

// balances returns the balance of every sale as text, without pointers.
func balances(b *Books) map[string]string {
	all := map[string]string{}
	for id, s := range b.sales {
		all[id] = fmt.Sprint(s.phase, s.authorized, s.captured, s.capturing, s.refunded, s.closed)
	}
	for id, c := range b.captures {
		all[id] = fmt.Sprint(c.state, c.refunded)
	}
	return all
}

// check states the invariants of every balance once.
func check(t *testing.T, b *Books) {
	t.Helper()
	ofCaptures := map[*sale]domain.Amount{}
	for id, c := range b.captures {
		if c.refunded < 0 || c.refunded > c.op.Amount || c.state != processor.Succeeded && c.refunded != 0 {
			t.Fatalf("capture %s: %+v", id, c)
		}
		if c.state == processor.Succeeded {
			ofCaptures[c.sale] += c.op.Amount
		}
	}
	for id, s := range b.sales {
		switch {
		case s.captured < 0 || s.capturing < 0 || s.refunded < 0, s.captured+s.capturing > s.authorized,
			s.refunded > s.captured, s.captured != ofCaptures[s], s.phase != approved && s.used():
			t.Fatalf("sale %s: %+v", id, s)
		}
	}
}

// TestRandomHistories checks that the invariants hold for any operations in any order, and that the
// same books can be read from the file.
func TestRandomHistories(t *testing.T) {
	for seed := range uint64(30) {
		dir := t.TempDir()
		b := openBooks(t, dir)
		random := mathrand.New(mathrand.NewPCG(seed, 1))
		for step := range 150 {
			act(t, b, random, fmt.Sprintf("k%d", step))
			check(t, b)
		}
		want, wantBalances, pending := entries(t, b), balances(b), b.Pending()
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		b = openBooks(t, dir)
		if got := entries(t, b); !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: reopened %+v\nwant %+v", seed, got, want)
		}
		if got := balances(b); !reflect.DeepEqual(got, wantBalances) {
			t.Fatalf("seed %d: reopened %v\nwant %v", seed, got, wantBalances)
		}
		if got := b.Pending(); !reflect.DeepEqual(got, pending) {
			t.Fatalf("seed %d: pending %v, want %v", seed, got, pending)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// act does one random thing to the books.
func act(t *testing.T, b *Books, random *mathrand.Rand, key string) {
	t.Helper()
	op := processor.Operation{
		Kind: protocol.Kinds[random.IntN(len(protocol.Kinds))], Key: domain.OperationKey(key), Processor: processor.Adyen,
		Reference: domain.PaymentID(fmt.Sprintf("01p%d", random.IntN(3))), Amount: domain.Amount(random.IntN(60)),
		Currency: "EUR", Final: random.IntN(4) == 0, Outcome: []processor.Outcome{processor.Authenticated, processor.AuthenticationFailed}[random.IntN(2)],
	}
	switch pick := random.IntN(10); {
	case pick == 0:
		if due := b.Pending(); len(due) > 0 {
			if _, err := b.Finish(due[random.IntN(len(due))].ID); err != nil {
				t.Fatal(err)
			}
		}
		return
	case pick == 1:
		kind := []processor.Kind{processor.Capture, processor.Refund, processor.Void}[random.IntN(3)]
		_, _ = b.Act(kind, op.Reference, nil) // refused or not: check looks at the balances
		return
	}
	if op.Kind == processor.Authorize {
		op.Amount += 50
		op.Card = &processor.Card{Number: cards[random.IntN(len(cards))].number, ExpirationMonth: "12", ExpirationYear: "2031"}
	} else if parents := b.byReference[op.Reference]; len(parents) > 0 {
		op.ParentID = parents[random.IntN(len(parents))].Answer.ProcessorTransactionID
	}
	if a, err := b.Admit(op); err != nil || !a.Admitted {
		t.Fatalf("%+v %v", a, err)
	}
	if _, err := b.Perform(op, random.IntN(20) == 0); err != nil {
		t.Fatal(err)
	}
}

// TestUnwritable checks that an answer that is not durable is never returned, not even by a
// look-up.
func TestUnwritable(t *testing.T) {
	b := openBooks(t, t.TempDir())
	if err := b.Close(); err != nil { // as with a full disk
		t.Fatal(err)
	}
	op := processor.Operation{
		Kind: processor.Authorize, Key: "k", Processor: processor.Adyen, Reference: "01p", Amount: 1, Currency: "EUR",
		Card: &processor.Card{Number: "4242424242424242", ExpirationMonth: "12", ExpirationYear: "2031"},
	}
	if a, err := b.Admit(op); err != nil || !a.Admitted {
		t.Fatalf("%+v %v", a, err)
	}
	_, performed := b.Perform(op, false)
	_, repeated := b.Admit(op)
	_, lookedUp := b.Lookup(op.Processor, op.Key)
	_, fenced := b.Fence(op.Processor, "other")
	_, acted := b.Act(processor.Capture, op.Reference, nil)
	listed := b.Entries(protocol.Filter{}, func(protocol.Entry) error { return nil })
	for i, err := range []error{performed, repeated, lookedUp, fenced, acted, listed} {
		if err == nil {
			t.Errorf("answer %d was given", i)
		}
	}
}

// TestTable: names and numbers of the rows are their own, and every number is a card number.
func TestTable(t *testing.T) {
	if len(cardsByNumber) != len(cards) || len(cardsByName) != len(cards) {
		t.Error("two rows share a number or a name")
	}
	for _, c := range cards {
		network, known := domain.CardNetwork(c.number)
		if !known || !domain.ValidCardNumber(c.number) || network != c.bin.Network {
			t.Errorf("%s: not a %s number", c.name, c.bin.Network)
		}
	}
}

// TestRecords keeps the file's format as bytes: a book of an older build must stay readable.
func TestRecords(t *testing.T) {
	const golden = `{"type":"accepted","at":"2026-03-01T12:00:01Z","operation":{"id":"op_a","processor":"ADYEN","processorMerchantId":"m","reference":"01p","operation":"authorize","key":"01p.2","amount":1000,"currency":"EUR","card":"visa-async-capture","createdAt":"2026-03-01T12:00:01Z","answer":{"state":"SUCCEEDED","processorTransactionId":"adyen_a","at":"2026-03-01T12:00:01Z"}}}
{"type":"accepted","at":"2026-03-01T12:00:02Z","operation":{"id":"op_b","processor":"ADYEN","processorMerchantId":"m","reference":"01p","operation":"capture","key":"01p.4","amount":1000,"currency":"EUR","parentId":"adyen_a","final":true,"card":"visa-async-capture","notifyUrl":"http://127.0.0.1/n","createdAt":"2026-03-01T12:00:02Z","due":"2026-03-01T12:00:04Z","answer":{"state":"PENDING","processorTransactionId":"adyen_b","at":"2026-03-01T12:00:02Z"}}}
{"type":"finished","at":"2026-03-01T12:00:04Z","id":"op_b","answer":{"state":"SUCCEEDED","processorTransactionId":"adyen_b","at":"2026-03-01T12:00:04Z"}}
{"type":"notified","at":"2026-03-01T12:00:05Z","id":"op_b"}
{"type":"fenced","at":"2026-03-01T12:00:06Z","processor":"STRIPE","key":"01q.2"}
`
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, fileName), []byte(golden), 0o600); err != nil {
		t.Fatal(err)
	}
	b := openBooks(t, dir)
	check(t, b)
	if s := b.sales["adyen_a"]; s.captured != 1000 || !s.closed || len(b.Unnotified()) != 0 {
		t.Errorf("%+v", s)
	}
	if l, err := b.Lookup(processor.Stripe, "01q.2"); err != nil || l.State != processor.Fenced {
		t.Errorf("%+v %v", l, err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}
