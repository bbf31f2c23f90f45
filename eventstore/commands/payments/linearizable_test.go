package payments_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/seedtest"
	"payledger/eventstore/commands/commandstest"
	"payledger/eventstore/commands/payments"
	"payledger/eventstore/commands/service"
)

// keyUse is a request with a key about a payment. Its answer names the payment that the key belongs
// to.
type keyUse struct {
	key, what string
	payment   domain.PaymentID
}

type keyAnswer struct {
	accepted bool
	owner    domain.PaymentID
	err      error
}

// keyState is a key: the payment that it belongs to, and whether a request under it took effect.
type keyState struct {
	owner domain.PaymentID
	taken bool
}

// keyModel: the first accepted request under a key takes effect, its payment owns the key, and
// every other request is refused. A request about another payment is refused from the claim on,
// which comes before the effect (D9): the request that takes effect may then be a later one about
// the owner.
var keyModel = porcupine.Model{
	Partition: func(list []porcupine.Operation) [][]porcupine.Operation {
		byKey := map[string][]porcupine.Operation{}
		for _, o := range list {
			key := o.Input.(keyUse).key
			byKey[key] = append(byKey[key], o)
		}
		var parts [][]porcupine.Operation
		for _, part := range byKey {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return keyState{} },
	Step: func(state, input, output any) (bool, any) {
		key, got := state.(keyState), output.(keyAnswer)
		belongs := key.owner == "" || key.owner == got.owner
		switch {
		case key.taken:
			return !got.accepted && got.err == nil && got.owner == key.owner, key
		case got.accepted:
			return belongs, keyState{got.owner, true}
		default:
			return belongs && got.err == nil && got.owner != input.(keyUse).payment, keyState{owner: got.owner}
		}
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v → %+v", in, out) },
}

// answered sorts an answer to a request under a key.
func answered(p payment.State, err error) keyAnswer {
	var e *domain.Error
	switch {
	case err == nil:
		return keyAnswer{accepted: true, owner: p.ID}
	case errors.As(err, &e) && e.Reason == domain.ReasonIdempotencyKeyExists && e.Status != "":
		return keyAnswer{owner: e.Payment}
	default:
		return keyAnswer{err: err}
	}
}

// TestKeysAreLinearizable: of concurrent requests with one key, on two nodes and of any kind,
// exactly one takes effect, and every other is refused with the key's payment (D9).
func TestKeysAreLinearizable(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
	nodes := r.TwoNodes()
	random := commandstest.Seeded(t)
	var paid []domain.PaymentID
	for range 3 {
		p := r.Pay(nodes[0].Service, commandstest.ApprovedCard)
		if _, err := nodes[0].Capture(background, r.By, p.ID, payment.Capture{Amount: commandstest.Amount(1000)}); err != nil {
			t.Fatal(err)
		}
		paid = append(paid, p.ID)
	}
	const clients = 8
	keys := 24
	if seedtest.Sampled() {
		keys = 12 // three of each kind
	}
	type plan struct {
		what  int
		token domain.Token
		id    domain.PaymentID
	}
	plans := make([][clients]plan, keys)
	for i := range plans {
		kind, token := i%4, r.Token(nodes[0].Service)
		for c := range clients {
			plans[i][c] = plan{what: kind, token: token, id: paid[i%len(paid)]}
			if kind == 3 { // of any kind, about any payment, with any token
				plans[i][c] = plan{what: random.IntN(3), token: token, id: paid[random.IntN(len(paid))]}
			}
		}
	}
	h := commandstest.NewHistory()
	effects := make([]atomic.Int64, keys) // accepted requests
	start := make(chan struct{})
	var ready sync.WaitGroup
	ready.Add(clients)
	go func() { ready.Wait(); close(start) }()
	r.Clients(nodes, clients, func(client int, s *service.Service) {
		ready.Done()
		<-start
		for i, key := range plans {
			p, name := key[client], fmt.Sprintf("key-%d", i)
			if p.what == 0 {
				p.id = domain.PaymentIDForKey(r.By.Account, name)
			}
			h.Call(client, keyUse{name, []string{"create", "capture", "refund"}[p.what], p.id}, func() any {
				var got keyAnswer
				switch p.what {
				case 0:
					got = answered(s.CreatePayment(background, r.By, payments.PaymentInput{Token: p.token, IdempotencyKey: name}))
				case 1:
					got = answered(s.Capture(background, r.By, p.id, payment.Capture{Request: payment.Request{IdempotencyKey: name}, Amount: commandstest.Amount(1)}))
				default:
					got = answered(s.Refund(background, r.By, p.id, payment.Refund{Request: payment.Request{IdempotencyKey: name}, Amount: commandstest.Amount(1)}))
				}
				if got.accepted {
					effects[i].Add(1)
				}
				return got
			})
		}
	})
	h.Linearizable(t, keyModel)
	for i := range effects {
		if n := effects[i].Load(); n != 1 {
			t.Errorf("%d requests under key-%d took effect", n, i)
		}
	}
	for _, id := range paid {
		r.Audit(id)
	}
}

// moneyRequest is a request about the one payment of a history.
type moneyRequest struct {
	what   string
	amount domain.Amount
}

// moneyAnswer is the answer: a refusal with its reason, or the sums after the request.
type moneyAnswer struct {
	reason                         domain.Reason
	authorized, captured, refunded domain.Amount
	status                         payment.Status
}

// money is the sequential model: the amounts that can still be captured and refunded.
type money struct {
	authorized, captured, refunded domain.Amount
	released                       bool
}

func (m money) status() payment.Status {
	switch {
	case m.captured == 0 && m.released:
		return payment.StatusCancelled
	case m.captured == 0:
		return payment.StatusAuthorized
	case m.released || m.captured == m.authorized:
		return payment.StatusSettled
	default:
		return payment.StatusPartiallySettled
	}
}

// after returns the model after a request, and the reason of a refusal.
func (m money) after(q moneyRequest) (money, domain.Reason) {
	status := m.status()
	open := status == payment.StatusAuthorized || status == payment.StatusPartiallySettled
	switch {
	case q.what == "cancel" && !open, q.what == "capture" && !open, q.what == "adjust" && status != payment.StatusAuthorized,
		q.what == "refund" && m.captured == 0:
		return m, domain.ReasonInvalidPaymentStatus
	case q.what == "capture" && q.amount > m.authorized-m.captured:
		return m, domain.ReasonRequestValidation
	case q.what == "refund" && m.refunded == m.captured:
		return m, domain.ReasonPaymentAlreadyRefunded
	case q.what == "refund" && q.amount > m.captured-m.refunded:
		return m, domain.ReasonUnprocessableRefundAmount
	}
	switch q.what {
	case "cancel":
		m.released = true
	case "capture":
		m.captured += q.amount
	case "adjust":
		m.authorized = q.amount
	case "refund":
		m.refunded += q.amount
	}
	return m, ""
}

var moneyModel = porcupine.Model{
	Init: func() any { return money{authorized: 2500} },
	Step: func(state, input, output any) (bool, any) {
		got := output.(moneyAnswer)
		m, reason := state.(money).after(input.(moneyRequest))
		if reason != "" || got.reason != "" {
			return reason == got.reason, m
		}
		return got == moneyAnswer{"", m.authorized, m.captured, m.refunded, m.status()}, m
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v → %+v", in, out) },
}

// TestMoneyIsLinearizable checks that concurrent captures, refunds, adjustments and cancellations
// of one payment, on two nodes, have the answers of some sequential order (D7): the answers fit the
// model of the remaining amounts.
func TestMoneyIsLinearizable(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
	nodes := r.TwoNodes()
	random := commandstest.Seeded(t)
	const clients, requests = 6, 5
	payments := 6
	if seedtest.Sampled() {
		payments = 3
	}
	var all sync.WaitGroup
	for range payments {
		p := r.Pay(nodes[0].Service, commandstest.ApprovedCard)
		var plan [clients][requests]moneyRequest
		for c := range plan {
			for i := range plan[c] {
				plan[c][i] = moneyRequest{[]string{"capture", "capture", "capture", "refund", "refund", "adjust", "cancel"}[random.IntN(7)], domain.Amount(1 + random.IntN(1500))}
				if plan[c][i].what == "cancel" && random.IntN(2) == 0 { // it ends the story
					plan[c][i].what = "refund"
				}
			}
		}
		all.Go(func() {
			h := commandstest.NewHistory()
			r.Clients(nodes, clients, func(client int, s *service.Service) {
				for _, q := range plan[client] {
					h.Call(client, q, func() any { return r.ask(s, p.ID, q) })
				}
			})
			h.Linearizable(t, moneyModel)
			r.Audit(p.ID)
		})
	}
	all.Wait()
}

// ask sends a request and returns its answer.
func (r *rig) ask(s *service.Service, id domain.PaymentID, q moneyRequest) moneyAnswer {
	var p payment.State
	var err error
	switch q.what {
	case "capture":
		p, err = s.Capture(background, r.By, id, payment.Capture{Amount: &q.amount})
	case "refund":
		p, err = s.Refund(background, r.By, id, payment.Refund{Amount: &q.amount})
	case "adjust":
		p, err = s.Adjust(background, r.By, id, payment.Adjust{Amount: q.amount})
	default:
		p, err = s.Cancel(background, r.By, id, payment.Cancel{})
	}
	if err != nil {
		return moneyAnswer{reason: domain.ReasonOf(err)}
	}
	return moneyAnswer{"", p.Amount, p.Captured(), p.Refunded(), p.Status()}
}
