package projections

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/session"
	"payledger/eventstore"
	"payledger/eventstore/codec"
)

const testAccount domain.AccountID = "acct1"

var start = time.Date(2026, 3, 14, 9, 26, 53, 589_000_000, time.UTC)

// logbook makes the events of a log in memory, as the store would hand them to a reader.
type logbook struct {
	shards int
	now    time.Time
	events [][]*eventstore.Recorded // per shard
	all    []*eventstore.Recorded   // in the order of their making
	tips   map[string]*eventstore.Recorded
}

func newLogbook(shards int) *logbook {
	return &logbook{shards: shards, now: start, events: make([][]*eventstore.Recorded, shards), tips: map[string]*eventstore.Recorded{}}
}

func (l *logbook) tick() time.Time { l.now = l.now.Add(time.Millisecond); return l.now }

// addresses is how far the addresses of a logbook's events are apart, about: they grow, but not by
// one.
const addresses = 256

// record appends the decided event, with the state after it.
func record[S any, E domain.Event](l *logbook, a *eventstore.Aggregate[S, E], state S, key eventstore.Key, e E, err error) S {
	if err != nil {
		panic(err)
	}
	state = a.Core.Evolve(state, e).(S)
	body, err := codec.Marshal(map[string]any{"event": e, "state": state})
	if err != nil {
		panic(err)
	}
	shard := domain.Shard(key.ID, l.shards)
	r := &eventstore.Recorded{
		Key: key, Shard: shard, Number: uint64(len(l.events[shard])) + 1, Revision: 1, Type: e.Type(), Schema: a.Schema,
		EventID: fmt.Sprintf("00000000-0000-4000-8000-%012d", len(l.all)), Time: l.now, Body: body,
	}
	r.Seq = r.Number*addresses + r.Number%3
	if tip := l.tips[key.String()]; tip != nil {
		r.Revision, r.PrevSeq = tip.Revision+1, tip.Seq
	}
	binary.BigEndian.PutUint64(r.Hash[:], uint64(len(l.all))+1)
	l.tips[key.String()] = r
	l.events[shard] = append(l.events[shard], r)
	l.all = append(l.all, r)
	return state
}

// customer is a person with personal data.
var customer = domain.Personal{
	CardholderName: "Ada Byron",
	Customer: &domain.Customer{
		Email: "ada@example.com", MobileNumber: "+441234567890", FirstName: "Ada", LastName: "Byron",
		BillingAddress: &domain.Address{AddressLine1: "1 Main Street", City: "London", CountryCode: "GB", PostalCode: "W1A 1AA"},
	},
}

// card is the card of every test payment.
var card = domain.NewCard("4111111111111111", "12", "2030", true)

func (l *logbook) session(n int) session.State {
	id := domain.SessionID(fmt.Sprintf("11111111-0000-4000-8000-%012d", n))
	c := session.Create{At: l.tick(), ID: id, Account: testAccount, ExpiresAt: l.now.Add(24 * time.Hour), Fields: session.Fields{OrderID: "o"}}
	e, err := session.DecideCreate(session.State{}, c)
	return record(l, eventstore.Sessions, session.State{}, eventstore.Sessions.Key(testAccount, string(id)), e, err)
}

func paymentID(n int) domain.PaymentID {
	var b [16]byte
	binary.BigEndian.PutUint64(b[8:], uint64(n)*0x9e3779b97f4a7c15) // as random as real ids look to an index
	return domain.NewPaymentID(b)
}

func createCommand(at time.Time, n int) payment.Create {
	amount := domain.Amount(1000 + n)
	return payment.Create{
		At: at, ID: paymentID(n), Account: testAccount, OrderID: fmt.Sprintf("order-%d", n), CustomerID: "customer-7",
		Currency: "EUR", Amount: &amount, Metadata: domain.Metadata{"shop": "north", "attempt": int64(2), "gift": true},
		Method: payment.Method{
			Token: domain.Token(fmt.Sprintf("01token%d", n)), Type: instrument.MethodCard, AuthorizationType: "FINAL",
			Descriptor: "NORTH SHOP", AnalyticsID: "22222222-0000-4000-8000-000000000001", Card: card,
		},
		Session: "11111111-0000-4000-8000-000000000001", IdempotencyKey: fmt.Sprintf("key-%d", n),
		Route: []payment.Target{{Processor: processor.Adyen, MerchantID: "north-adyen"}},
	}
}

func (l *logbook) create(n int) payment.State {
	c := createCommand(l.tick(), n)
	e, err := payment.DecideCreate(payment.State{}, c)
	return record(l, eventstore.Payments, payment.State{}, eventstore.Payments.Key(testAccount, string(c.ID)), e, err)
}

func (l *logbook) answer(s payment.State, a processor.Answer) payment.State {
	e, err := payment.DecideAnswer(s, payment.RecordAnswer{
		At: l.tick(), EventID: fmt.Sprintf("33333333-0000-4000-8000-%012d", len(l.all)), Request: 1, Answer: a,
	})
	return record(l, eventstore.Payments, s, eventstore.Payments.Key(testAccount, string(s.ID)), e, err)
}

func (l *logbook) timeOut(s payment.State) payment.State {
	e, err := payment.DecideTimeOut(s, payment.TimeOut{At: l.tick(), Request: 1})
	return record(l, eventstore.Payments, s, eventstore.Payments.Key(testAccount, string(s.ID)), e, err)
}

// try records the event that decide returns; a refusal records nothing.
func (l *logbook) try(s payment.State, decide func(payment.State, payment.Request) (payment.Event, error)) payment.State {
	e, err := decide(s, payment.Request{At: l.tick(), EventID: fmt.Sprintf("33333333-0000-4000-8000-%012d", len(l.all))})
	if err != nil || e == nil {
		return s
	}
	return record(l, eventstore.Payments, s, eventstore.Payments.Key(testAccount, string(s.ID)), e, nil)
}

// answerTo records the processor's answer to the request at a revision.
func (l *logbook) answerTo(s payment.State, request uint64, a processor.Answer) payment.State {
	return l.try(s, func(s payment.State, r payment.Request) (payment.Event, error) {
		return payment.DecideAnswer(s, payment.RecordAnswer{
			At: r.At, EventID: r.EventID, Request: request, Answer: a, ActionExpiresAt: r.At.Add(time.Hour),
		})
	})
}

func (l *logbook) capture(s payment.State, amount domain.Amount) payment.State {
	return l.try(s, func(s payment.State, r payment.Request) (payment.Event, error) {
		return payment.DecideCapture(s, payment.Capture{Request: r, Amount: &amount, Metadata: domain.Metadata{"shop": "south"}})
	})
}

func (l *logbook) adjust(s payment.State, total domain.Amount) payment.State {
	return l.try(s, func(s payment.State, r payment.Request) (payment.Event, error) {
		return payment.DecideAdjust(s, payment.Adjust{Request: r, Amount: total})
	})
}

func (l *logbook) refund(s payment.State, amount domain.Amount) payment.State {
	return l.try(s, func(s payment.State, r payment.Request) (payment.Event, error) {
		return payment.DecideRefund(s, payment.Refund{Request: r, Amount: &amount, Reason: "too small"})
	})
}

func (l *logbook) cancel(s payment.State) payment.State {
	return l.try(s, func(s payment.State, r payment.Request) (payment.Event, error) {
		return payment.DecideCancel(s, payment.Cancel{Request: r, Reason: "out of stock"})
	})
}

func (l *logbook) resume(s payment.State) payment.State {
	return l.try(s, func(s payment.State, r payment.Request) (payment.Event, error) {
		return payment.DecideResume(s, payment.Resume{Request: r, Action: 1, Outcome: processor.Authenticated})
	})
}

// claim records the claim of an idempotency key: a stream that is no payment (D9).
func (l *logbook) claim(of domain.PaymentID, key string) {
	e, err := payment.DecideClaim(payment.State{}, payment.ClaimKey{At: l.tick(), Account: testAccount, Payment: of, Operation: processor.Capture})
	at := eventstore.Payments.Key(testAccount, string(domain.PaymentIDForKey(testAccount, key)))
	record(l, eventstore.Payments, payment.State{}, at, e, err)
}

func (l *logbook) account(id domain.AccountID) account.State {
	e, err := account.DecideCreate(account.State{}, account.Create{Created: account.Created{
		At: l.tick(), ID: id, Name: string(id), Environment: account.Sandbox,
		APIKey: account.APIKey{ID: domain.APIKeyID("first-" + id), Scopes: account.Scopes, CreatedAt: l.now},
	}})
	return record(l, eventstore.Accounts, account.State{}, eventstore.Accounts.Key(id, string(id)), e, err)
}

func (l *logbook) addKey(s account.State, key domain.APIKeyID) account.State {
	e, err := account.DecideCreateAPIKey(s, account.CreateAPIKey{At: l.tick(), Key: account.APIKey{ID: key, CreatedAt: l.now}})
	return record(l, eventstore.Accounts, s, eventstore.Accounts.Key(s.ID, string(s.ID)), e, err)
}

func approved() processor.Answer {
	return processor.Answer{
		State: processor.Succeeded, ProcessorTransactionID: "ptx-1", ProcessorEventID: "pev-1", AuthorizationCode: "A1B2C3",
		Bin:  &processor.BinData{IssuerCountryCode: "US", IssuerName: "First Bank", AccountFundingType: "CREDIT", ProductCode: "F", ProductName: "Visa Classic"},
		Risk: &processor.Risk{CVVSource: "ADYEN", CVVResult: "MATCHED", FraudSource: "ADYEN", FraudPre: "ACCEPT", AVSSource: "ADYEN", AVSStreet: "MATCHED", AVSPostalCode: "MATCHED"},
	}
}

// openTestModel opens a model on the file at path. It has no store: no event of an older schema
// comes. A new file is a copy of one without rows, because to create its tables takes longer than
// most tests do.
func openTestModel(tb testing.TB, path string, shards int) *model {
	tb.Helper()
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := os.WriteFile(path, emptyFile(tb, shards), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	m, err := openModel(context.Background(), path, nil, shards, zerolog.Nop())
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// emptyFile returns the content of a new model's file.
func emptyFile(tb testing.TB, shards int) []byte {
	tb.Helper()
	emptyFiles.Lock()
	defer emptyFiles.Unlock()
	if emptyFiles.of[shards] == nil {
		path := filepath.Join(tb.TempDir(), FileName)
		m, err := openModel(context.Background(), path, nil, shards, zerolog.Nop())
		if err == nil {
			err = m.Close()
		}
		if err == nil {
			emptyFiles.of[shards], err = os.ReadFile(path)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	return emptyFiles.of[shards]
}

var emptyFiles = struct {
	sync.Mutex
	of map[int][]byte
}{of: map[int][]byte{}}

func mustApply(tb testing.TB, m *model, events []*eventstore.Recorded) {
	tb.Helper()
	if err := m.apply(context.Background(), events); err != nil {
		tb.Fatal(err)
	}
}

func mustClose(tb testing.TB, m *model) {
	tb.Helper()
	if err := m.Close(); err != nil {
		tb.Fatal(err)
	}
}

// dump returns all rows of the tables as text, in the order of their keys.
func dump(tb testing.TB, m *model) []string {
	tb.Helper()
	var out []string
	for _, query := range []string{
		"SELECT 'position', * FROM positions ORDER BY shard", "SELECT 'payment', * FROM payments ORDER BY id",
		"SELECT 'session', * FROM sessions ORDER BY id", "SELECT 'account', * FROM accounts ORDER BY id",
		"SELECT 'dispute', * FROM disputes ORDER BY id", "SELECT 'inbox', * FROM inboxes ORDER BY reference", "SELECT 'person', * FROM persons ORDER BY id",
		"SELECT 'naming', * FROM namings ORDER BY account, customer, session",
		"SELECT 'instrument', * FROM instruments ORDER BY token", "SELECT 'attempt', * FROM attempts ORDER BY id", "SELECT 'run', * FROM runs ORDER BY id",
		"SELECT 'statistics', * FROM statistics ORDER BY account, daily, at",
		"SELECT 'audit', * FROM audit ORDER BY account, at, id",
		"SELECT 'transaction', code, id FROM transactions JOIN payments ON payments.rowid = payment ORDER BY code, id",
	} {
		rows, err := m.Readers().Query(query)
		if err != nil {
			tb.Fatal(err)
		}
		columns, err := rows.Columns()
		if err != nil {
			tb.Fatal(err)
		}
		for rows.Next() {
			values, into := make([]any, len(columns)), make([]any, len(columns))
			for i := range values {
				into[i] = &values[i]
			}
			if err := rows.Scan(into...); err != nil {
				tb.Fatal(err)
			}
			out = append(out, fmt.Sprintf("%x", values))
		}
		if err := rows.Err(); err != nil {
			tb.Fatal(err)
		}
		rows.Close()
	}
	return out
}
