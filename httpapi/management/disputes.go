package management

import (
	"cmp"
	"net/url"

	"payledger/domain"
	"payledger/domain/dispute"
	"payledger/domain/processor"
	"payledger/httpapi/request"
	"payledger/httpapi/validation"
	"payledger/projections"
	"payledger/projections/paymentjson"
)

// disputeAnswer is a dispute; its fields are those of the webhook (§6.4).
type disputeAnswer struct {
	ID                  domain.DisputeID        `json:"id"`
	Type                processor.DisputeType   `json:"type"`
	Status              processor.DisputeStatus `json:"status"`
	PaymentID           domain.PaymentID        `json:"paymentId"`
	OrderID             string                  `json:"orderId"`
	TransactionID       string                  `json:"transactionId,omitempty"`
	PaymentMethod       disputedMethod          `json:"paymentMethod"`
	Processor           processor.Name          `json:"processor"`
	MerchantID          string                  `json:"merchantId,omitempty"`
	ProcessorDisputeID  string                  `json:"processorDisputeId"`
	ReasonCode          string                  `json:"reasonCode"`
	Reason              string                  `json:"reason,omitempty"`
	ProcessorReason     string                  `json:"processorReason,omitempty"`
	Amount              domain.Amount           `json:"amount"`
	Currency            domain.Currency         `json:"currency"`
	ChallengeRequiredBy *paymentjson.Time       `json:"challengeRequiredBy"` // null: the processor gave none (D16)
	ReceivedAt          paymentjson.Time        `json:"receivedAt"`
	OpenedAt            paymentjson.Time        `json:"openedAt"`
	UpdatedAt           paymentjson.Time        `json:"updatedAt"`
}

type disputedMethod struct {
	Type string             `json:"paymentMethodType"`
	Data disputedMethodData `json:"paymentMethodData"`
}

type disputedMethodData struct {
	Network domain.Network `json:"network"`
}

type disputeDetail struct {
	disputeAnswer
	History []disputeFact `json:"history"`
}

type disputeFact struct {
	ProcessorEventID    string                  `json:"processorEventId"`
	At                  paymentjson.Time        `json:"at"`
	ReceivedAt          paymentjson.Time        `json:"receivedAt"`
	RecordedAt          paymentjson.Time        `json:"recordedAt"`
	Type                processor.DisputeType   `json:"type"`
	Status              processor.DisputeStatus `json:"status"`
	Verdict             dispute.Disposition     `json:"verdict"`
	Refusal             string                  `json:"refusal,omitempty"`
	ReasonCode          string                  `json:"reasonCode"`
	Amount              domain.Amount           `json:"amount"`
	Currency            domain.Currency         `json:"currency"`
	ChallengeRequiredBy *paymentjson.Time       `json:"challengeRequiredBy"`
}

// ListDisputes serves GET /management/disputes.
func (h *Handlers) ListDisputes(c *request.Call) (any, error) {
	if err := c.ShowLag(h.Reader); err != nil {
		return nil, err
	}
	reading, err := c.Reading(disputeCursors(c), func(name, value string) (bool, error) {
		found, err := h.Reader.ListDisputes(c.Ctx, c.Merchant.ID, disputeFilter(url.Values{name: {value}}), nil, 1)
		return len(found.Data) > 0, err
	})
	if err != nil {
		return nil, err
	}
	filter := disputeFilter(reading.Query)
	cursors := c.Cursors("disputes", filter)
	if filter.ByDeadline {
		filter.Now = h.Now()
	}
	found, err := h.Reader.ListDisputes(c.Ctx, c.Merchant.ID, filter, c.From, request.Limit(c.Query))
	return disputeList{request.List[disputeAnswer]{Data: request.Map(found.Data, renderDispute), NextCursor: cursors.Text(found.Next)}, reading.Warnings()}, err
}

type disputeList struct {
	request.List[disputeAnswer]
	Warnings []request.Warning `json:"warnings,omitempty"`
}

func disputeCursors(c *request.Call) func(url.Values) request.Cursors {
	return func(query url.Values) request.Cursors { return c.Cursors("disputes", disputeFilter(query)) }
}

// GetDispute serves GET /management/disputes/{id}.
func (h *Handlers) GetDispute(c *request.Call) (any, error) {
	d, err := h.Reader.Dispute(c.Ctx, c.Merchant.ID, domain.DisputeID(c.Vars["id"]))
	if err != nil {
		return nil, err
	}
	answer := disputeDetail{disputeAnswer: renderDispute(d), History: make([]disputeFact, len(d.Facts))}
	for i, f := range d.Facts {
		answer.History[i] = disputeFact{
			ProcessorEventID: f.EventID, At: paymentjson.Time{Time: f.At}, ReceivedAt: paymentjson.Time{Time: f.ReceivedAt},
			RecordedAt: paymentjson.Time{Time: f.Entered}, Type: f.Type, Status: f.Status, Verdict: f.Disposition, Refusal: f.Refusal,
			ReasonCode: f.ReasonCode, Amount: f.Amount, Currency: f.Currency, ChallengeRequiredBy: request.Time(f.ChallengeBy),
		}
	}
	return answer, nil
}

func renderDispute(d dispute.State) disputeAnswer {
	about, now := d.Subject, d.Current
	return disputeAnswer{
		ID: d.ID, Type: now.Type, Status: now.Status, PaymentID: about.Payment, OrderID: about.OrderID, TransactionID: now.TransactionID,
		PaymentMethod: disputedMethod{about.PaymentMethodType, disputedMethodData{cmp.Or(about.Network, domain.NetworkOther)}},
		Processor:     about.Processor, MerchantID: now.MerchantID, ProcessorDisputeID: about.ProcessorDisputeID,
		ReasonCode: now.ReasonCode, Reason: now.Reason, ProcessorReason: now.Wording, Amount: now.Amount, Currency: now.Currency,
		ChallengeRequiredBy: request.Time(now.ChallengeBy), ReceivedAt: paymentjson.Time{Time: now.ReceivedAt},
		OpenedAt: paymentjson.Time{Time: d.CreatedAt}, UpdatedAt: paymentjson.Time{Time: d.UpdatedAt},
	}
}

func disputeFilter(query url.Values) projections.DisputeFilter {
	several := func(name string) []string { return request.Several(query, name) }
	return projections.DisputeFilter{
		Types: several("type"), Statuses: several("status"), Processors: several("processor"), ReasonCodes: several("reasonCode"),
		Payment: domain.PaymentID(query.Get("paymentId")), OrderID: query.Get("orderId"),
		ProcessorDisputeID: query.Get("processorDisputeId"), From: request.Read(query, "from", validation.ParseTime), To: request.Read(query, "to", validation.ParseTime),
		ByDeadline: query.Get("sort") == "deadline",
	}
}

func disputeRules(v *validation.Violations, c *request.Call) {
	filter := disputeFilter(c.Query)
	v.Range(filter.From, filter.To)
	c.CheckCursor(v, disputeCursors(c))
}
