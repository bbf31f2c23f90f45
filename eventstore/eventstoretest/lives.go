package eventstoretest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/session"
	"payledger/eventstore"
	"payledger/eventstore/engine"
)

// Each life of Generate has these many aggregates (session, instrument, payment, claim of the
// capture's key) and events.
const (
	LifeAggregates = 4
	LifeEvents     = 8
)

// Generate appends n payments of an account, many at once, and returns their ids. Each has a client
// session, a card, an authorization, and a capture with an idempotency key. Generate calls no
// processor and stores no secret.
func Generate(ctx context.Context, s *engine.Store, account domain.AccountID, n, atOnce int) ([]domain.PaymentID, error) {
	ids, errs := make([]domain.PaymentID, n), make([]error, atOnce)
	var next atomic.Int64
	var running sync.WaitGroup
	for w := range atOnce {
		running.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && errs[w] == nil; i = int(next.Add(1)) - 1 {
				l := &life{ctx: ctx, s: s, account: account, n: i}
				l.live()
				ids[i], errs[w] = l.id, l.err
			}
		})
	}
	running.Wait()
	return ids, errors.Join(errs...)
}

// life is one payment with what belongs to it.
type life struct {
	ctx     context.Context
	s       *engine.Store
	account domain.AccountID
	n       int
	id      domain.PaymentID
	err     error
}

func (l *life) live() {
	l.id = domain.NewPaymentID(l.random())
	token, sid := domain.NewToken(l.random()), domain.SessionID(l.uuid())
	at, amount := l.s.Now(), domain.Amount(1000+l.n%9000)
	fields := session.Fields{
		OrderID: fmt.Sprintf("order-%09d", l.n), CustomerID: fmt.Sprintf("customer-%06d", l.n%100_000), Currency: "EUR", Amount: &amount,
		Metadata: domain.Metadata{"channel": "web", "basket": int64(l.n)},
	}
	card := domain.NewCard("4111111111111111", "03", "2031", true)
	create(l, eventstore.Sessions, string(sid), func(s session.State) (session.Event, error) {
		return session.DecideCreate(s, session.Create{At: at, ID: sid, Account: l.account, ExpiresAt: at.Add(24 * time.Hour), Fields: fields})
	})
	create(l, eventstore.Instruments, string(token), func(s instrument.State) (instrument.Event, error) {
		return instrument.DecideTokenize(s, instrument.Tokenize{Tokenized: instrument.Tokenized{
			At: at, Token: token, Account: l.account, ExpiresAt: at.Add(24 * time.Hour), Session: sid, CustomerID: fields.CustomerID,
			TokenType: instrument.SingleUse, AnalyticsID: l.uuid(), Card: card,
		}})
	})
	change(l, eventstore.Instruments, string(token), func(s instrument.State) (instrument.Event, error) {
		return instrument.DecideUse(s, instrument.Use{At: at, Payment: l.id})
	})
	create(l, eventstore.Payments, string(l.id), func(s payment.State) (payment.Event, error) {
		return payment.DecideCreate(s, payment.Create{
			At: at, ID: l.id, Account: l.account, OrderID: fields.OrderID, CustomerID: fields.CustomerID, Currency: "EUR", Amount: &amount,
			Metadata: fields.Metadata, Session: sid, IdempotencyKey: "create-" + string(l.id),
			Method: payment.Method{Token: token, Type: "PAYMENT_CARD", TokenizedAt: at, AuthorizationType: "ESTIMATED", Card: card},
			Route:  []payment.Target{{Processor: processor.Adyen, MerchantID: "merchant"}},
		})
	})
	l.answer("APPROVED")
	key := "capture-" + string(l.id)
	create(l, eventstore.Payments, string(domain.PaymentIDForKey(l.account, key)), func(s payment.State) (payment.Event, error) {
		return payment.DecideClaim(s, payment.ClaimKey{At: at, Account: l.account, Payment: l.id, Operation: processor.Capture})
	})
	change(l, eventstore.Payments, string(l.id), func(s payment.State) (payment.Event, error) {
		return payment.DecideCapture(s, payment.Capture{Request: payment.Request{At: at, IdempotencyKey: key}})
	})
	l.answer("CAPTURED")
}

// answer records that the processor completed the last request.
func (l *life) answer(message string) {
	event, transaction := l.uuid(), l.uuid()
	change(l, eventstore.Payments, string(l.id), func(s payment.State) (payment.Event, error) {
		return payment.DecideAnswer(s, payment.RecordAnswer{
			At: l.s.Now(), EventID: event, Request: s.NewestRequest().Revision, Answer: processor.Answer{
				State: processor.Succeeded, ProcessorTransactionID: transaction, ProcessorEventID: event, At: l.s.Now(), Code: "00", Message: message,
			},
		})
	})
}

func create[S any, E domain.Event](l *life, a *eventstore.Aggregate[S, E], id string, decide func(S) (E, error)) {
	l.append(func(meta eventstore.Meta) error {
		_, err := eventstore.ExecuteNew(l.ctx, l.s, a, a.Key(l.account, id), meta, decide)
		return err
	})
}

func change[S any, E domain.Event](l *life, a *eventstore.Aggregate[S, E], id string, decide func(S) (E, error)) {
	l.append(func(meta eventstore.Meta) error {
		_, err := eventstore.Execute(l.ctx, l.s, a, a.Key(l.account, id), meta, decide)
		return err
	})
}

func (l *life) append(execute func(eventstore.Meta) error) {
	if l.err != nil {
		return
	}
	meta, err := l.s.NewMeta("key:generated", "request")
	if err == nil {
		err = execute(meta)
	}
	l.err = err
}

func (l *life) random() [16]byte {
	var b [16]byte
	rand.Read(b[:]) // it never fails
	return b
}

func (l *life) uuid() string {
	id, err := eventstore.NewUUID(rand.Reader)
	l.err = errors.Join(l.err, err)
	return id
}
