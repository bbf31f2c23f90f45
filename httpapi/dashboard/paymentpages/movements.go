package paymentpages

import (
	"time"

	"payledger/domain"
	"payledger/domain/dispute"
	"payledger/domain/processor"
	"payledger/projections/csvtext"
)

// movement is a change of the money that a processor owes the merchant.
type movement struct {
	at                            time.Time
	kind                          string
	amount                        domain.Amount // negative: the merchant has less
	currency                      domain.Currency
	operation, processorOperation string // the processor's books name the movement by the latter
	processor                     processor.Name
	merchantID                    string
	step                          int // of a dispute's history
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

// sale is one of a payment's transactions, with its events.
type sale struct {
	ProcessorName       processor.Name
	ProcessorMerchantID string
	Events              []operation
}

type operation struct {
	ID, Type string
	Date     time.Time
	Amount   domain.Amount
}

// movement returns the movement of a capture or a refund that succeeded; another event of a
// transaction has no kind.
func (t sale) movement(o operation, c domain.Currency) movement {
	m := movement{
		at: o.Date, amount: o.Amount, currency: c, operation: o.ID,
		processor: t.ProcessorName, merchantID: t.ProcessorMerchantID,
	}
	switch o.Type {
	case "CAPTURE_SUCCEEDED":
		m.kind = "CAPTURE"
	case "REFUND_SUCCEEDED":
		m.kind, m.amount = "REFUND", -o.Amount
	}
	return m
}

// disputed is a dispute with its history.
type disputed struct {
	ID, PaymentID, MerchantID, ProcessorDisputeID string
	Processor                                     processor.Name
	History                                       []step
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
	for i, s := range d.History {
		if s.Verdict == dispute.DispositionRejected || s.At.Before(now.At) || s.At.Equal(now.At) && !s.follows(now) {
			continue // a fact that was only noted may change the amount
		}
		m := movement{step: i, at: s.RecordedAt, kind: "DISPUTE_" + string(s.Status), currency: s.Currency, operation: d.ID, processorOperation: d.ProcessorDisputeID, processor: d.Processor, merchantID: d.MerchantID}
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
