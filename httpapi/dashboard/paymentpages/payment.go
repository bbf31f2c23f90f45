package paymentpages

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/person"
	"payledger/domain/processor"
	"payledger/httpapi/client"
	"payledger/httpapi/dashboard/frame"
	"payledger/httpapi/nextstep"
	"payledger/projections/paymentjson"
)

// paymentData is a payment as the API renders it (D6).
type paymentData struct {
	summary
	StatusReason   *paymentjson.StatusReason
	RequiredAction *struct{ Name, Description string }
	PaymentMethod  paymentjson.PaymentMethod
	Transactions   []transaction
	Order          *domain.Order
	Customer       *paymentjson.Customer
	RiskData       *paymentjson.RiskData
	Metadata       map[string]any
}

type transaction struct {
	TransactionType, OrderID, Reason, ProcessorStatus, ProcessorName, ProcessorMerchantID string
	ProcessorTransactionID, AuthorizationCode                                             string
	ProcessorStatusReason                                                                 *paymentjson.StatusReason
	Date                                                                                  time.Time
	Amount                                                                                domain.Amount
	CurrencyCode                                                                          domain.Currency
	Events                                                                                []struct{ Type string }
}

// entry is one event of the payment's history (I1).
type entry struct {
	Revision  uint64
	Position  *uint64
	Time      time.Time
	Type      string
	Actor     string
	ActorName string
	Event     json.RawMessage
	Payment   json.RawMessage
	Hash      string
	Moved     struct{ Held, Captured, Refunded domain.Amount }
	Changed   []struct {
		Path     string
		From, To json.RawMessage
	}
	Waiting       []wait
	Notifications []struct {
		ID, Processor, Kind, Outcome, Refusal string
		ReceivedAt                            time.Time
	}
	Webhooks   []hook
	NoEndpoint []string // event types of webhooks that no endpoint was subscribed to
	Processor  []processorCall
	Workflow   *struct {
		ID, Name string
		Version  int64
	}
}

// hook is a webhook of an event to one endpoint.
type hook struct {
	EndpointID, EventType, ID, Outcome string
	Dropped                            bool
	NextAttemptAt                      *time.Time
	Attempts                           []attempt
	Later                              bool `json:"-"` // an attempt is after the moment that the page shows
}

type attempt struct {
	Number     int
	StartedAt  time.Time
	DurationMs int64
	StatusCode int
	Failure    string
	Later      bool `json:"-"` // its answer came after the moment that the page shows
}

func (a attempt) answered() time.Time {
	return a.StartedAt.Add(time.Duration(a.DurationMs) * time.Millisecond)
}

// wait is an operation without an outcome after the event.
type wait struct {
	Operation processor.Kind
	Key       string
	State     string
	Since     time.Time
	ExpiresAt *time.Time
	AskedNext *time.Time
	Over      bool `json:"-"` // the payment does not wait for it any more
}

type processorCall struct {
	Step, Operation, IdempotencyKey, Processor, ProcessorMerchantID string
	Amount                                                          domain.Amount
	Answer                                                          *struct {
		ProcessorTransactionID string `json:"processorTransactionId"`
		Code, Message          string
		Raw                    *struct{ Body string }
	}
}

type view struct {
	Payment  paymentData
	Entries  []entry    // oldest first
	At       uint64     // the revision that is shown
	Time     *time.Time // that was chosen; nil: a revision was, or none
	Newest   bool       // the page shows now
	Then     moment
	Disputes []disputeRow
	Erased   *time.Time // the time of the erasure of the personal data; nil: not known
	Erasable bool       // the user may erase the guest who paid
	Next     string     // the next step of the merchant; "" in the past
	Actions  []action
	hooks    []endpoint

	Revisions uint64     // of the payment
	Until     uint64     // the last revision of an earlier part of the history; 0: the page has the newest part
	After     *time.Time // of the first event after an earlier part
}

type endpoint struct{ ID, URL, Description string }

// Endpoint returns the endpoint that a webhook went to. Without a URL it is deleted.
func (v view) Endpoint(id string) endpoint {
	if i := slices.IndexFunc(v.hooks, func(e endpoint) bool { return e.ID == id }); i >= 0 {
		return v.hooks[i]
	}
	return endpoint{ID: id}
}

// Name returns the endpoint's name for people.
func (e endpoint) Name() string { return cmp.Or(e.Description, e.URL) }

// show serves a payment's page. With the parameter at it shows the payment after that revision, or
// at that time; until is the last revision of an earlier part of the history. Without at the page
// is of now, with the newest part.
func show(v *frame.Visit) error {
	id := v.Request.PathValue("id")
	var out view
	var shown client.Payment // with the events of its transactions, of which the next step depends
	if err := read(v, id, &out.Payment, &shown); err != nil {
		return err
	}
	at := momentOf(v)
	err := out.readHistory(v, at, v.Value("until"), v.Revision)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(out.Entries, func(e entry) bool { return len(e.Webhooks) > 0 }) {
		if out.hooks, err = frame.All[endpoint](v, apiEndpoints); err != nil {
			return err
		}
	}
	if out.Disputes, err = disputesOf(v, id); err != nil {
		return err
	}
	if err := out.travel(at, v.Now()); err != nil {
		return out.nowhere(v, err)
	}
	if out.Shown().Impersonal() {
		if out.Erased, err = erasedAt(v, cmp.Or(out.Payment.CustomerID, id), out.Payment.Date); err != nil {
			return err
		}
	}
	if out.Newest {
		out.Actions = actions(out.Payment, v.Auditor())
		out.Erasable = v.Admin() && out.Payment.Guest()
		out.Next = nextstep.Reader{Money: frame.Money}.Of(shown, plainDisputes(out.Disputes))
	}
	return v.Show(frame.Page{
		Name: "payment", Title: "Payment of " + frame.Money(out.Payment.Amount, out.Payment.CurrencyCode) + ", " + plainStatus(out.Payment), Nav: pathPayments, Live: out.Newest, Data: out,
		Said: out.Payment.refundSaid(v.Value("done"), v.Value(refundField)),
	})
}

// nowhereView is the page of a moment that the payment does not have.
type nowhereView struct {
	ID, Text, Advice string
	First            string // the time of the earliest event that was read, as the field shows it
	Began            bool   // that is the first event of the payment
}

// nowhere serves the page of a moment that the payment does not have: with the field for another
// one, and the way back.
func (v *view) nowhere(visit *frame.Visit, err error) error {
	failure, is := errors.AsType[*frame.Failure](err)
	if !is {
		return err
	}
	return visit.Show(frame.Page{
		Name: "nowhere", Title: "The payment has no such moment", Nav: pathPayments, Status: failure.Status,
		Data: nowhereView{v.Payment.ID, failure.Text, failure.Advice, v.earliest().UTC().Format(fieldTime), v.First() == 1},
	})
}

// read decodes a payment with the events of its transactions into all variables.
func read(v *frame.Visit, id string, all ...any) error {
	var text json.RawMessage
	if err := v.Get(frame.Path("management", "payments", id), frame.Query("expand", "transactions.events"), &text); err != nil {
		return missing(err)
	}
	for _, to := range all {
		if err := json.Unmarshal(text, to); err != nil {
			return fmt.Errorf("paymentpages: a payment: %w", err)
		}
	}
	return nil
}

// erasedAt returns the time of the newest erasure of a customer, or of a guest by the payment,
// since a time; nil: there was none.
func erasedAt(v *frame.Visit, subject string, since time.Time) (*time.Time, error) {
	var found frame.List[struct{ At time.Time }]
	err := v.Get("/management/audit-log", frame.Query("type", (person.Erased{}).Type(), "subject", subject, "from", frame.APITime(since), "limit", "1"), &found)
	if err != nil || len(found.Data) == 0 {
		return nil, err
	}
	return &found.Data[0].At, nil
}

// endWaits marks the waits of events that the payment's newest event does not have any more.
func endWaits(entries []entry, newest []wait) {
	open := map[[2]string]bool{}
	for _, w := range newest {
		open[[2]string{w.Key, w.State}] = true
	}
	for i := range entries {
		for j := range entries[i].Waiting {
			w := &entries[i].Waiting[j]
			w.Over = !open[[2]string{w.Key, w.State}]
		}
	}
}

// missing makes an unknown payment a page that is not found: the merchant's calls answer 400 (D3).
func missing(err error) error {
	if frame.IDOf(err) == "PaymentError" {
		return &frame.Failure{Status: 404, ID: "NotFound", Text: "Your account has no payment with this id.", Advice: "Search for the order or the customer instead."}
	}
	return err
}

// proof serves the portable proof of a payment as a file (I1).
func proof(v *frame.Visit) error {
	id := v.Request.PathValue("id")
	body, err := v.Raw(frame.Path("payments", id, "proof"), nil)
	if err != nil {
		return err
	}
	v.Download("payment-"+id+".proof.json", "application/json")
	if _, err := v.Writer.Write(body); err != nil {
		return frame.Gone{Err: err}
	}
	return nil
}
