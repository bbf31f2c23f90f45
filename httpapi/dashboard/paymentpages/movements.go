package paymentpages

import (
	"net/url"
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/dispute"
	"payledger/domain/processor"
	"payledger/httpapi/dashboard/frame"
	"payledger/projections/csvtext"
)

// movementFile has a row for each capture and refund of the filtered payments that moved money, and
// for each step of a dispute that moved money or lost it.
var movementFile = file{"movements", []string{
	"date_utc", "type", "currency", "amount", "payment_id", "order_id", "operation_id", "processor_operation_id", "processor", "processor_merchant_id", "payment_created_utc",
}, func(v *frame.Visit, p summary) (rows [][]string, err error) {
	all, err := movements(v, p)
	for _, m := range all {
		rows = append(rows, m.row(p))
	}
	return rows, err
}}

// movement is a change of the money that a processor owes the merchant.
type movement struct {
	at                            time.Time
	kind                          string
	amount                        domain.Amount // negative: the merchant has less
	currency                      domain.Currency
	operation, processorOperation string
	processor                     processor.Name
	merchantID                    string
}

func (m movement) row(p summary) []string {
	cells := []string{
		m.at.UTC().Format(csvTime), m.kind, string(m.currency), "", p.ID, p.OrderID, m.operation, m.processorOperation,
		string(m.processor), m.merchantID, p.Date.UTC().Format(csvTime),
	}
	for i := range cells {
		cells[i] = csvtext.Escape(cells[i])
	}
	if cells[3] = units(m.amount, m.currency); m.amount < 0 {
		cells[3] = "-" + units(-m.amount, m.currency)
	}
	return cells
}

// movements returns the movements of a payment, oldest first.
func movements(v *frame.Visit, p summary) ([]movement, error) {
	if p.Processor == nil {
		return nil, nil
	}
	all, err := operationsOf(v, p)
	if err != nil {
		return nil, err
	}
	disputes, err := disputesOf(v, p.ID)
	if err != nil {
		return nil, err
	}
	for _, d := range disputes {
		var of disputed
		if err := v.Get(frame.Path("management", "disputes", d.ID), nil, &of); err != nil {
			return nil, err
		}
		all = append(all, of.movements()...)
	}
	slices.SortStableFunc(all, func(a, b movement) int { return a.at.Compare(b.at) })
	return all, nil
}

// operationsOf returns the captures and refunds of a payment that succeeded.
func operationsOf(v *frame.Visit, p summary) (all []movement, err error) {
	if p.Captured() == 0 {
		return nil, nil
	}
	var of struct {
		Transactions []struct {
			ProcessorName       processor.Name
			ProcessorMerchantID string
			Events              []struct {
				ID, Type, ProcessorEventID string
				Date                       time.Time
				Amount                     domain.Amount
			}
		}
	}
	if err := v.Get(frame.Path("management", "payments", p.ID), url.Values{"expand": {"transactions.events"}}, &of); err != nil {
		return nil, err
	}
	for _, t := range of.Transactions {
		for _, e := range t.Events {
			m := movement{
				at: e.Date, kind: "CAPTURE", amount: e.Amount, currency: p.CurrencyCode, operation: e.ID, processorOperation: e.ProcessorEventID,
				processor: t.ProcessorName, merchantID: t.ProcessorMerchantID,
			}
			switch e.Type {
			case "CAPTURE_SUCCEEDED":
				all = append(all, m)
			case "REFUND_SUCCEEDED":
				m.kind, m.amount = "REFUND", -e.Amount
				all = append(all, m)
			}
		}
	}
	return all, nil
}

// disputed is a dispute with its history.
type disputed struct {
	ID, MerchantID, ProcessorDisputeID string
	Processor                          processor.Name
	History                            []step
}

// step is a notification of a dispute.
type step struct {
	At, RecordedAt time.Time
	Type           processor.DisputeType
	Status         processor.DisputeStatus
	Verdict        dispute.Disposition
	Amount         domain.Amount
	Currency       domain.Currency
}

// withheld is the amount that the processor withholds after the step: that of a chargeback, unless
// it was won or cancelled.
func (s step) withheld() domain.Amount {
	if s.Type == processor.Retrieval || s.Status == processor.DisputeWon || s.Status == processor.DisputeCancelled {
		return 0
	}
	return s.Amount
}

// follows reports whether a step comes after another one of the same time, as package dispute says.
func (s step) follows(other step) bool {
	before, after := dispute.Place{Type: other.Type, Status: other.Status}, dispute.Place{Type: s.Type, Status: s.Status}
	return before.LeadsTo(after) || !after.LeadsTo(before)
}

// movements returns what the steps moved. A chargeback takes the money when it is opened: a lost
// one moves nothing more, and has a row of 0.
func (d disputed) movements() (all []movement) {
	var now step
	for _, s := range d.History {
		if s.Verdict == dispute.DispositionRejected || s.At.Before(now.At) || s.At.Equal(now.At) && !s.follows(now) {
			continue // a fact that was only noted may change the amount
		}
		m := movement{at: s.RecordedAt, kind: "DISPUTE_" + string(s.Status), currency: s.Currency, operation: d.ID, processorOperation: d.ProcessorDisputeID, processor: d.Processor, merchantID: d.MerchantID}
		if m.amount = now.withheld() - s.withheld(); now.Currency != s.Currency && now.withheld() > 0 {
			back := m
			back.amount, back.currency = now.withheld(), now.Currency
			all = append(all, back)
			m.amount = -s.withheld()
		}
		lost := s.Status.ReturnsMoney(s.Type) && !now.Status.ReturnsMoney(now.Type)
		if m.amount != 0 || lost {
			all = append(all, m)
		}
		now = s
	}
	return all
}
