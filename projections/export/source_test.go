package export_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/projections/export"
	"payledger/projections/paymentjson"
)

// feed is a log of random payments and disputes in memory.
type feed struct {
	all      []export.Event
	failAt   uint64 // position at which reading fails; 0: never
	payments map[string]*paymentjson.Payment
	disputes map[string]*export.Dispute
	random   *rand.Rand
}

var (
	errBroken  = errors.New("the connection broke")
	errUnknown = fmt.Errorf("%w: it is beyond the end", export.ErrBeyond)
)

var start = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

func newFeed(seed uint64) *feed {
	return &feed{payments: map[string]*paymentjson.Payment{}, disputes: map[string]*export.Dispute{}, random: rand.New(rand.NewPCG(seed, 1))}
}

func (f *feed) Events(_ context.Context, after uint64, handle func(e export.Event, newest uint64) error) error {
	if after > uint64(len(f.all)) {
		return errUnknown
	}
	for _, e := range f.all[after:] {
		if e.Position == f.failAt {
			return errBroken
		}
		if err := handle(e, uint64(len(f.all))); err != nil {
			return err
		}
	}
	return nil
}

// grow appends n events: to a new payment, a payment that exists, or a dispute.
func (f *feed) grow(n int) {
	for range n {
		at := paymentjson.Time{Time: start.Add(time.Duration(len(f.all)) * time.Minute)}
		e := export.Event{
			Position: uint64(len(f.all) + 1), ID: fmt.Sprintf("event-%d", len(f.all)+1), Time: at, Account: "acct", Actor: "api_key:first",
			Revision: 1, Hash: "00", Fact: json.RawMessage(`{"note":"a \"quoted\", text\nof two lines"}`),
		}
		switch pick := f.random.IntN(10); {
		case pick < 3 || len(f.payments) == 0:
			f.create(&e)
		case pick < 9:
			f.change(&e)
		default:
			f.dispute(&e)
		}
		f.all = append(f.all, e)
	}
}

func (f *feed) create(e *export.Event) {
	id := fmt.Sprintf("payment-%04d", len(f.payments))
	currency := []domain.Currency{"EUR", "JPY", "KWD"}[f.random.IntN(3)]
	p := &paymentjson.Payment{
		ID: domain.PaymentID(id), Date: e.Time, DateUpdated: e.Time, Status: payment.StatusPending, OrderID: "=order, " + id,
		CurrencyCode: currency, Amount: domain.Amount(100 + f.random.IntN(900)),
		Processor: &paymentjson.PaymentProcessor{Name: processor.Adyen, ProcessorMerchantID: "north"},
	}
	f.payments[id] = p
	f.show(e, "payment.created", p)
}

// change lets the payment take a random step.
func (f *feed) change(e *export.Event) {
	p := f.payments[fmt.Sprintf("payment-%04d", f.random.IntN(len(f.payments)))]
	of := *p.Processor
	kind := "payment.key_claimed"
	switch p.Status {
	case payment.StatusPending:
		switch f.random.IntN(3) {
		case 0:
			p.Status, kind = payment.StatusAuthorized, "payment.authorized"
		case 1:
			p.Status, kind = payment.StatusDeclined, "payment.declined"
			p.StatusReason = &paymentjson.StatusReason{Type: domain.IssuerDeclined, DeclineType: "SOFT_DECLINE", Code: "INSUFFICIENT_FUNDS"}
		default:
			of.Name, kind = processor.Stripe, "payment.authorization_rerouted"
		}
	case payment.StatusAuthorized, payment.StatusPartiallySettled:
		if f.random.IntN(4) == 0 {
			p.Status, kind = payment.StatusCancelled, "payment.voided"
			if of.AmountCaptured > 0 {
				p.Status = payment.StatusSettled
			}
			break
		}
		of.AmountCaptured += domain.Amount(f.random.IntN(int(p.Amount-of.AmountCaptured)) + 1)
		p.Status, kind = payment.StatusPartiallySettled, "payment.captured"
		if of.AmountCaptured == p.Amount {
			p.Status = payment.StatusSettled
		}
	case payment.StatusSettled:
		if of.AmountRefunded < of.AmountCaptured {
			by := domain.Amount(f.random.IntN(int(of.AmountCaptured-of.AmountRefunded)) + 1)
			of.AmountRefunded, kind = of.AmountRefunded+by, "payment.refunded"
			p.Transactions = append([]paymentjson.Transaction(nil), p.Transactions...)
			p.Transactions = append(p.Transactions, paymentjson.Transaction{
				TransactionType: "REFUND", Date: e.Time, Amount: by, CurrencyCode: p.CurrencyCode, Reason: "too, \"small\"",
				ProcessorStatus: payment.StatusSettled, ProcessorName: of.Name,
			})
		}
	}
	p.Processor, p.DateUpdated = &of, e.Time
	f.show(e, kind, p)
}

// show adds a copy of the payment to the event.
func (f *feed) show(e *export.Event, kind string, p *paymentjson.Payment) {
	shown := *p
	e.Type, e.Aggregate, e.AggregateID, e.Payment = kind, "payment", string(p.ID), &shown
	if p.Status == payment.StatusAuthorized || p.Status == payment.StatusPartiallySettled {
		e.AmountHeld = p.Amount - p.Processor.AmountCaptured
	}
}

func (f *feed) dispute(e *export.Event) {
	number := len(f.disputes)
	if number == 0 || f.random.IntN(2) == 0 {
		p := f.payments[fmt.Sprintf("payment-%04d", f.random.IntN(len(f.payments)))]
		id := fmt.Sprintf("dispute-%03d", number)
		d := &export.Dispute{ID: domain.DisputeID(id), CreatedAt: e.Time}
		d.Subject.Payment, d.Subject.OrderID, d.Subject.Processor, d.Subject.ProcessorDisputeID = p.ID, p.OrderID, processor.Adyen, "psp-"+id
		d.Current.Type, d.Current.ReasonCode, d.Current.Amount, d.Current.Currency = processor.Chargeback, "13.1", p.Amount, p.CurrencyCode
		f.disputes[id] = d
	} else {
		number = f.random.IntN(number)
	}
	d := *f.disputes[fmt.Sprintf("dispute-%03d", number)]
	d.Current.Status = []processor.DisputeStatus{processor.DisputeOpen, processor.DisputeChallenged, processor.DisputeWon, processor.DisputeLost}[f.random.IntN(4)]
	d.UpdatedAt = e.Time
	f.disputes[string(d.ID)] = &d
	shown := d
	e.Type, e.Aggregate, e.AggregateID, e.Dispute = "dispute.changed", "dispute", string(d.ID), &shown
}
