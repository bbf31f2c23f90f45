package payload

import (
	"encoding/json"
	"strconv"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/payment"
	"payledger/domain/webhook"
	"payledger/eventstore"
	"payledger/projections/paymentjson"
)

// config is notificationConfig of §6.2: the endpoint (D17).
type config struct {
	ID          domain.EndpointID `json:"id"`
	Description string            `json:"description"`
}

// Envelope has the first members of every body (§6.2, §6.3, D17).
type Envelope struct {
	EventType          webhook.Kind      `json:"eventType"`
	Date               *paymentjson.Time `json:"date,omitempty"`               // of the event; not for disputes (§6.4)
	NotificationConfig *config           `json:"notificationConfig,omitempty"` // only for payments (§6.4, §6.5)
	Version            string            `json:"version"`
	SignedAt           string            `json:"signedAt"` // Unix seconds, of the attempt (§5.2)
	EventID            string            `json:"eventId"`
	Sequence           uint64            `json:"sequence"` // the event's revision
}

// Status has the members of PAYMENT.STATUS and PAYMENT.REFUND after the envelope (§6.2, D17).
type Status struct {
	Payment paymentjson.Payment `json:"payment"`
}

// Body is the body of a webhook without the time of its signature.
type Body struct {
	Head Envelope
	Rest []byte // a JSON object: the members after the Envelope
}

// SignedAt returns the body for an attempt at now.
func (b Body) SignedAt(now time.Time) ([]byte, error) {
	b.Head.SignedAt = strconv.FormatInt(now.Unix(), 10)
	head, err := json.Marshal(b.Head)
	if err != nil {
		return nil, err
	}
	body := make([]byte, 0, len(head)+len(b.Rest))
	body = append(body, head[:len(head)-1]...)
	body = append(body, ',')
	return append(body, b.Rest[1:]...), nil
}

// NewEnvelope returns the envelope of an event's webhook, without the time of its signature.
func NewEnvelope(r *eventstore.Recorded, kind webhook.Kind, endpoint account.Endpoint) Envelope {
	e := Envelope{EventType: kind, Version: kind.Version(), EventID: r.EventID, Sequence: r.Revision}
	if r.Aggregate != eventstore.Disputes.Name {
		e.Date = &paymentjson.Time{Time: r.Time}
	}
	if r.Aggregate == eventstore.Payments.Name {
		e.NotificationConfig = &config{ID: endpoint.ID, Description: endpoint.Description}
	}
	return e
}

// ShowsCustomer reports whether webhooks of the kind contain the payment with its customer.
func ShowsCustomer(kind webhook.Kind) bool {
	return kind == webhook.PaymentStatus || kind == webhook.PaymentRefund
}

// OfPayment returns the members after the envelope for an event of a payment.
func OfPayment(kind webhook.Kind, r *eventstore.Recorded, s payment.State, personal domain.Personal, first6 bool) (any, error) {
	if !ShowsCustomer(kind) {
		return newFailurePayload(r, s)
	}
	return Status{paymentjson.Render(s, personal, paymentjson.Options{Webhook: true, First6Digits: first6})}, nil
}
