package projections

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/seedtest"
	"payledger/eventstore"
	"payledger/eventstore/eventstoretest"
)

const (
	manyAccount  domain.AccountID = "01jq5c6k2rz3h8v9m4x7t1w0ab" // as long as a real one
	otherAccount domain.AccountID = "01jq5c6k2rz3h8v9m4x7t1w0cd"

	// manyYears is the time over which the payments were made: more and more each day.
	manyYears = 2 * 365 * 24 * time.Hour
)

// manyBegin is when the oldest payment was made.
var manyBegin = time.Date(2024, 3, 14, 9, 26, 53, 0, time.UTC)

var manyPayments = flag.Int("payments", 0, "how many payments TestManyPayments has; 0: 20,000, or 5,000 if it takes a sample")

// TestManyPayments lists many payments, and counts them. For figures: -payments 1000000 -timeout
// 1h.
func TestManyPayments(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	n := *manyPayments
	switch {
	case n > 0:
	case seedtest.Sampled():
		n = 5_000 // several blocks
	default:
		n = 20_000
	}
	m := openTestModel(t, filepath.Join(t.TempDir(), FileName), 1)
	defer mustClose(t, m)
	began := time.Now()
	facts := fillMany(t, m, n)
	t.Logf("%d payments in %.1f s, %d bytes each", len(facts), time.Since(began).Seconds(), fileSize(t, m)/len(facts))
	t.Run("filters", func(t *testing.T) { testFilters(t, m, facts) })
	t.Run("statistics", func(t *testing.T) { testManyStatistics(t, m, facts) })
}

// many creates the payments of a busy merchant, the same in every run, and writes their rows with
// the projector's own code. It writes two rows a payment, after its creation and after its last
// event, some of them much later.
type many struct {
	t       testing.TB
	m       *model
	n       int
	written int // rows
	batch   batch
	late    [][]view[payment.State] // by the payment after which they are written
	facts   []manyFact
}

// manyFact has the values of one payment that D11's filters use.
type manyFact struct {
	id                                                 string
	at                                                 int64
	amount                                             domain.Amount
	account, status, method, currency                  string
	customer, order, email, last4, processor, merchant string
}

// manyLag is how many payments later a late row is written at most.
const manyLag = 5000

// fillMany writes n payments and returns their facts, in the order of their creation.
func fillMany(t testing.TB, m *model, n int) []manyFact {
	t.Helper()
	f := &many{t: t, m: m, n: n, late: make([][]view[payment.State], n+manyLag+1), facts: make([]manyFact, 0, n)}
	for i := range n + manyLag + 1 {
		for _, v := range f.late[i] {
			f.add(v)
		}
		f.late[i] = nil
		if i < n {
			f.live(i)
		}
	}
	f.flush()
	slices.SortFunc(f.facts, func(a, b manyFact) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.id, b.id)) })
	return f.facts
}

// add takes a row into the batch.
func (f *many) add(v view[payment.State]) {
	if f.batch.places == nil {
		f.batch.places = slices.Clone(f.m.places)
	}
	f.written++
	v.seq = uint64(f.written)
	f.batch.payments.list = append(f.batch.payments.list, v)
	if len(f.batch.payments.list) == maxBatch {
		f.flush()
	}
}

func (f *many) flush() {
	if err := f.m.write(context.Background(), &f.batch); err != nil {
		f.t.Fatal(err)
	}
	f.batch = batch{}
}

// pick chooses a value by weights, which add up to 100.
func pick(r *rand.Rand, values []string, weights ...int) string {
	at := r.IntN(100)
	for i, w := range weights {
		if at -= w; at < 0 {
			return values[i]
		}
	}
	return values[len(values)-1]
}

// live creates payment i and its later events.
func (f *many) live(i int) {
	r := rand.New(rand.NewPCG(14, uint64(i)))
	age := float64(i) / float64(f.n)
	c := f.command(r, i, age)
	s := evolve(f.t, payment.State{}, func(s payment.State) (payment.Event, error) { return payment.DecideCreate(s, c) })
	key := eventstore.Payments.Key(c.Account, string(c.ID))
	f.add(view[payment.State]{key: key, revision: s.Revision, state: s})
	first := s.Revision
	s = f.fate(r, s, i, age)
	f.note(&s)
	if s.Revision == first {
		return
	}
	after := i
	switch {
	case r.IntN(3) == 0: // captured when the parcel leaves
		after += 100 + r.IntN(manyLag-100)
	default:
		after += 1 + r.IntN(20)
	}
	f.late[after] = append(f.late[after], view[payment.State]{key: key, revision: s.Revision, before: first, state: s})
}

// command draws a payment. Some large parts of it never meet: no USD at ADYEN, no card 4242 in USD,
// no large customer with card 1111.
func (f *many) command(r *rand.Rand, i int, age float64) payment.Create {
	at := manyBegin.Add(time.Duration(math.Pow(age, 0.7) * float64(manyYears)))
	if r.IntN(1000) == 0 {
		at = at.Add(-time.Duration(r.IntN(3600)) * time.Second) // a clock that is behind
	}
	at = at.Truncate(time.Microsecond)
	c := payment.Create{
		At: at, ID: paymentID(i), Account: manyAccount, OrderID: fmt.Sprintf("order-%09d", i),
		Currency:       domain.Currency(pick(r, []string{"EUR", "USD", "GBP", "SEK", "PLN", "CHF"}, 60, 20, 10, 5, 3, 2)),
		IdempotencyKey: fmt.Sprintf("key-%d", i), Session: domain.SessionID(fmt.Sprintf("11111111-0000-4000-8000-%012d", i)),
	}
	if r.IntN(20) == 0 {
		c.Account = otherAccount
	}
	if r.IntN(20) == 0 {
		c.OrderID = "order-of-a-test"
	}
	at1 := pick(r, []string{"ADYEN", "STRIPE", "CHECKOUT", "BRAINTREE"}, 55, 30, 10, 5)
	if c.Currency == "USD" && at1 == "ADYEN" {
		at1 = "STRIPE"
	}
	if age < 0.1 && r.IntN(2) == 0 {
		at1 = "WORLDPAY" // which was given up
	}
	c.Route = []payment.Target{{Processor: processor.Name(at1), MerchantID: at1 + pick(r, []string{"-main", "-north", "-south"}, 80, 15, 5)}}
	if i == f.n/1000 {
		c.Currency = "JPY"
	}
	f.customer(r, &c)
	f.card(r, &c)
	amount := f.amount(r, i)
	c.Amount = &amount
	return c
}

// customer draws the customer: many pay once, few very often, and a fifth of the payments has no
// known customer.
func (f *many) customer(r *rand.Rand, c *payment.Create) {
	n := 0
	switch at := r.IntN(100); {
	case at < 20:
		return
	case at < 30:
		n = 1 // a reseller
	case at < 45:
		n = 2 + r.IntN(20)
	default:
		n = 22 + r.IntN(max(1, f.n/10))
	}
	c.CustomerID = fmt.Sprintf("customer-%07d", n)
	if r.IntN(10) > 0 {
		c.Personal = &domain.Sealed{Key: "customer-key.x", Box: []byte{1}, EmailHash: fmt.Sprintf("%032x", n)}
	}
}

func (f *many) card(r *rand.Rand, c *payment.Create) {
	last := fmt.Sprintf("%04d", 1+r.IntN(9999))
	switch at := r.IntN(100); {
	case at < 30 && c.CustomerID != "customer-0000001":
		last = "1111"
	case at >= 30 && at < 45 && c.Currency != "USD":
		last = "4242"
	}
	c.Method = payment.Method{
		Token: domain.Token("01token" + last), Type: pick(r, []string{"PAYMENT_CARD", "GOOGLE_PAY", "APPLE_PAY"}, 90, 8, 2),
		AuthorizationType: "FINAL", Card: domain.NewCard("411111111111"+last, "12", "2030", true),
	}
}

// amount draws a price, two in five of them a usual one; ten of the oldest are very large.
func (f *many) amount(r *rand.Rand, i int) domain.Amount {
	switch {
	case i%7 == 3 && i < 70:
		return domain.Amount(5_000_000_000 + int64(i))
	case i%5000 == 4998:
		return 0 // a card is verified
	case r.IntN(5) < 2:
		return []domain.Amount{999, 1999, 4999}[r.IntN(3)]
	}
	return domain.Amount(min(50_000_000, math.Exp(r.NormFloat64()*1.4+8.3)))
}

// fate draws the outcome of a payment: most are settled, few wait, settling ones are old.
func (f *many) fate(r *rand.Rand, s payment.State, i int, age float64) payment.State {
	answer := func(a processor.Answer) {
		s = evolve(f.t, s, func(s payment.State) (payment.Event, error) {
			return payment.DecideAnswer(s, payment.RecordAnswer{
				At: s.UpdatedAt.Add(time.Second), EventID: "33333333-0000-4000-8000-000000000001", Request: s.NewestRequest().Revision, Answer: a,
			})
		})
	}
	request := func() payment.Request {
		return payment.Request{At: s.UpdatedAt.Add(time.Minute), EventID: "33333333-0000-4000-8000-000000000002"}
	}
	if i < 20 || i >= f.n-20 {
		return s // PENDING
	}
	switch at := r.IntN(100); {
	case at < 9:
		answer(processor.Answer{State: processor.Declined, Code: "05"})
		return s
	case at < 11:
		answer(processor.Answer{State: processor.Failed})
		return s
	}
	answer(approved())
	switch at := r.IntN(100); {
	case at < 5: // AUTHORIZED
	case at < 8 && s.Amount > 0:
		s = evolve(f.t, s, func(s payment.State) (payment.Event, error) {
			return payment.DecideCancel(s, payment.Cancel{Request: request()})
		})
		answer(processor.Answer{State: processor.Succeeded})
	case s.Amount > 1:
		amount, final := s.Amount, true
		if at < 9 {
			amount, final = s.Amount/2, false
		}
		s = evolve(f.t, s, func(s payment.State) (payment.Event, error) {
			return payment.DecideCapture(s, payment.Capture{Request: request(), Amount: &amount, Final: final})
		})
		state := processor.Succeeded
		if age < 0.02 && r.IntN(4) == 0 {
			state = processor.Pending // SETTLING
		}
		answer(processor.Answer{State: state})
	}
	return s
}

func evolve(t testing.TB, s payment.State, decide func(payment.State) (payment.Event, error)) payment.State {
	t.Helper()
	e, err := decide(s)
	if err != nil {
		t.Fatal(err)
	}
	return payment.Evolve(s, e)
}

func (f *many) note(s *payment.State) {
	to := targetOf(s)
	f.facts = append(f.facts, manyFact{
		id: string(s.ID), at: s.CreatedAt.UnixMicro(), amount: s.Amount, account: string(s.Account), status: string(s.Status()),
		method: s.Method.Type, currency: string(s.Currency), customer: s.CustomerID, order: s.OrderID, email: s.EmailHash,
		last4: s.Method.Card.Last4Digits, processor: string(to.Processor), merchant: to.MerchantID,
	})
}
