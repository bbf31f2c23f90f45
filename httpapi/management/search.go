package management

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"payledger/domain"
	"payledger/domain/dispute"
	"payledger/domain/payment"
	"payledger/httpapi/request"
	"payledger/httpapi/validation"
	"payledger/projections"
	"payledger/projections/deliveries"
	"payledger/projections/eventjson"
	"payledger/projections/paymentjson"
)

const maxFound = 20

// Deliveries finds and counts deliveries of webhooks, and finds replays.
type Deliveries interface {
	// Counts counts an account's deliveries that were planned in a period.
	Counts(ctx context.Context, account domain.AccountID, p deliveries.Period) (deliveries.Statistics, error)
	Delivery(ctx context.Context, account domain.AccountID, id string) (deliveries.Detail, error)
	Replay(ctx context.Context, account domain.AccountID, id string) (deliveries.Replay, error)
}

// Events finds an account's event by its position in the log.
type Events interface {
	At(ctx context.Context, account domain.AccountID, position uint64) (eventjson.Event, bool, error)
}

type found struct {
	Kind       string            `json:"kind"`
	ID         string            `json:"id"`
	Label      string            `json:"label,omitempty"` // for people
	Matched    string            `json:"matched"`         // the field that has the searched text
	Status     string            `json:"status,omitempty"`
	Amount     *domain.Amount    `json:"amount,omitempty"` // minor units
	Currency   domain.Currency   `json:"currencyCode,omitempty"`
	PaymentID  domain.PaymentID  `json:"paymentId,omitempty"`
	WorkflowID domain.WorkflowID `json:"workflowId,omitempty"`
	At         *paymentjson.Time `json:"at,omitempty"` // of creation
}

// search is one search. Its results are in the order in which they were found: ids first.
type search struct {
	h    *Handlers
	c    *request.Call
	text string
	all  []found
}

// Search serves GET /management/search: it looks an id, an order, a customer or an address up
// (D20). It compares whole texts only.
func (h *Handlers) Search(c *request.Call) (any, error) {
	s := &search{h: h, c: c, text: strings.TrimSpace(c.Query.Get("q")), all: []found{}}
	if err := c.ShowLag(h.Reader); err != nil {
		return nil, err
	}
	for _, look := range []func() error{
		s.payment, s.aggregates, s.account, s.workflows, s.webhooks, s.event, s.transaction, s.disputes, s.keyed, s.payments, s.customer,
	} {
		if err := look(); err != nil {
			return nil, err
		}
		if len(s.all) >= maxFound {
			break
		}
	}
	return request.List[found]{Data: s.all[:min(len(s.all), maxFound)]}, nil
}

func searchRules(v *validation.Violations, c *request.Call) {
	if text := c.Query.Get("q"); text != "" && strings.TrimSpace(text) == "" {
		v.Once("$.q", "must not be blank")
	}
}

func (s *search) left() int { return maxFound - len(s.all) }

func (s *search) add(f found) {
	if !slices.ContainsFunc(s.all, func(o found) bool { return o.Kind == f.Kind && o.ID == f.ID }) {
		s.all = append(s.all, f)
	}
}

func absent(err error) error {
	switch domain.ReasonOf(err) {
	case domain.ReasonEntityNotFound, domain.ReasonPayment:
		return nil
	}
	return err
}

func created(at time.Time) *paymentjson.Time { return &paymentjson.Time{Time: at} }

func (s *search) addPayment(p *payment.State, matched string) {
	s.add(found{
		Kind: "payment", ID: string(p.ID), Label: p.OrderID, Matched: matched, Status: string(p.Status()), Amount: &p.Amount, Currency: p.Currency,
		PaymentID: p.ID, At: created(p.CreatedAt),
	})
}

func (s *search) payment() error { return s.paymentOf(domain.PaymentID(s.text), "id") }

func (s *search) paymentOf(id domain.PaymentID, matched string) error {
	p, err := s.h.Reader.Payment(s.c.Ctx, s.c.Merchant.ID, id)
	if err == nil {
		s.addPayment(&p, matched)
	}
	return absent(err)
}

func (s *search) aggregates() error {
	owner := s.c.Merchant.ID
	d, err := s.h.Reader.Dispute(s.c.Ctx, owner, domain.DisputeID(s.text))
	if err == nil {
		s.addDispute(s.text, d, "id")
	} else if err = absent(err); err != nil {
		return err
	}
	run, err := s.h.Reader.FindRun(s.c.Ctx, owner, domain.RunID(s.text))
	if err != nil {
		return err
	}
	if run.Exists() {
		s.add(found{
			Kind: "workflow_run", ID: s.text, Label: run.Workflow.Name, Matched: "id", Status: string(run.Status()), PaymentID: run.Payment,
			WorkflowID: run.Workflow.ID, At: created(run.StartedAt),
		})
	}
	a, err := s.h.Commands.Attempt(s.c.Ctx, owner, domain.AttemptID(s.text))
	if err == nil {
		s.add(found{Kind: "payment_attempt", ID: s.text, Matched: "id", Status: string(a.Status(s.h.Now())), PaymentID: a.Payment, At: created(a.CreatedAt)})
	}
	return absent(err)
}

// account looks an API key, a webhook endpoint and a user up. The whole text of an API key is not
// compared: it is a secret.
func (s *search) account() error {
	if k, known := s.c.Merchant.Key(domain.APIKeyID(s.text)); known {
		s.add(found{Kind: "api_key", ID: s.text, Label: k.Name, Matched: "id", At: created(k.CreatedAt)})
	}
	if e, known := s.c.Merchant.Endpoint(domain.EndpointID(s.text)); known {
		s.add(found{Kind: "webhook_endpoint", ID: s.text, Label: e.Description, Matched: "id", At: created(e.CreatedAt)})
	}
	if u, known := s.c.Merchant.User(domain.UserID(s.text)); known {
		s.add(found{Kind: "user", ID: s.text, Label: u.Name, Matched: "id"})
	}
	return nil
}

func (s *search) workflows() error {
	all, err := s.h.Commands.Workflows(s.c.Ctx, s.c.Merchant.ID)
	if w, known := all.Find(domain.WorkflowID(s.text)); err == nil && known {
		s.add(found{Kind: "workflow", ID: s.text, Label: w.Definition.Name, Matched: "id", WorkflowID: w.ID, At: created(w.CreatedAt)})
	}
	return err
}

// The lengths of ids of deliveries, and of replays, which are UUIDs. A look-up of an unknown
// delivery waits for the index.
const deliveryIDLength, replayIDLength = 26, 36

func (s *search) webhooks() error {
	if s.h.Deliveries == nil || len(s.text) != deliveryIDLength && len(s.text) != replayIDLength {
		return nil
	}
	d, err := s.h.Deliveries.Delivery(s.c.Ctx, s.c.Merchant.ID, s.text)
	if err == nil {
		f := found{Kind: "webhook_delivery", ID: s.text, Label: d.EventType, Matched: "id", Status: d.Status, At: created(d.PlannedAt)}
		if d.Aggregate == "payment" {
			f.PaymentID = domain.PaymentID(d.AggregateID)
		}
		s.add(f)
	} else if err = absent(err); err != nil {
		return err
	}
	r, err := s.h.Deliveries.Replay(s.c.Ctx, s.c.Merchant.ID, s.text)
	if err == nil {
		s.add(found{Kind: "webhook_replay", ID: s.text, Matched: "id", Status: string(r.State), At: created(r.CreatedAt)})
	}
	return absent(err)
}

func (s *search) event() error {
	position, err := strconv.ParseUint(s.text, 10, 53)
	if err != nil || position == 0 || s.h.Events == nil {
		return nil //nolint:nilerror // it is no position
	}
	e, is, err := s.h.Events.At(s.c.Ctx, s.c.Merchant.ID, position)
	if err != nil || !is {
		return err
	}
	f := found{Kind: "event", ID: e.ID, Label: e.Type, Matched: "position", At: &e.Time}
	if e.Payment != nil {
		f.PaymentID = e.Payment.ID
	}
	s.add(f)
	return nil
}

func (s *search) transaction() error {
	all, err := s.h.Reader.PaymentsOfTransaction(s.c.Ctx, s.c.Merchant.ID, s.text, s.left())
	for i := range all {
		s.addPayment(&all[i], "processorTransactionId")
	}
	return err
}

func (s *search) addDispute(id string, d dispute.State, matched string) {
	s.add(found{
		Kind: "dispute", ID: id, Label: d.Subject.OrderID, Matched: matched, Status: string(d.Current.Status), PaymentID: d.Subject.Payment,
		At: created(d.CreatedAt),
	})
}

func (s *search) disputes() error {
	page, err := s.h.Reader.ListDisputes(s.c.Ctx, s.c.Merchant.ID, projections.DisputeFilter{ProcessorDisputeID: s.text}, nil, s.left())
	for _, d := range page.Data {
		id := domain.DisputeIDFor(s.c.Merchant.ID, string(d.Subject.Processor), d.Subject.ProcessorDisputeID)
		s.addDispute(string(id), d, "processorDisputeId")
	}
	return err
}

// keyed looks the payment of an idempotency key up: the id of a payment follows from its key (D9).
func (s *search) keyed() error {
	return s.paymentOf(domain.PaymentIDForKey(s.c.Merchant.ID, s.text), "idempotencyKey")
}

func (s *search) payments() error {
	for _, by := range []struct {
		matched string
		filter  projections.PaymentFilter
		skip    bool
	}{
		{"orderId", projections.PaymentFilter{OrderID: s.text}, false},
		{"customerId", projections.PaymentFilter{CustomerIDs: []string{s.text}}, false},
		{"sessionId", projections.PaymentFilter{Session: domain.SessionID(s.text)}, false},
		{"emailAddress", projections.PaymentFilter{Emails: []string{s.text}}, !strings.Contains(s.text, "@")},
	} {
		if by.skip || s.left() <= 0 {
			continue
		}
		page, err := s.h.Reader.ListPayments(s.c.Ctx, s.c.Merchant.ID, by.filter, nil, s.left())
		if err != nil {
			return err
		}
		for _, p := range page.Data {
			s.add(found{
				Kind: "payment", ID: string(p.ID), Label: p.OrderID, Matched: by.matched, Status: string(p.Status), Amount: &p.Amount, Currency: p.CurrencyCode,
				PaymentID: p.ID, At: &p.Date,
			})
		}
	}
	return nil
}

// customer looks a customer up, who may have no payment yet.
func (s *search) customer() error {
	known, err := s.h.Reader.HasCustomer(s.c.Ctx, s.c.Merchant.ID, s.text)
	if err == nil && known {
		s.add(found{Kind: "customer", ID: s.text, Matched: "customerId"})
	}
	return err
}
