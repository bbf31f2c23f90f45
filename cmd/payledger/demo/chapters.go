package demo

import (
	"cmp"
	"context"
	"fmt"

	"payledger/httpapi/client"
)

var chapters = []chapter[*story]{
	{"The merchant registers a webhook endpoint", (*story).register},
	{"A customer pays 25.00 EUR", steps(
		buys(order{"order-1001", "Notebook", 2500, "4111111111111111"}, "AUTHORIZED", "payment.created", "payment.authorized"),
		(*story).keep,
	)},
	{"Two parcels leave: two captures", steps(
		captures("parcel-1", map[string]any{"amount": 1000, "final": false}, "PARTIALLY_SETTLED", "payment.capture_requested", "payment.captured"),
		captures("parcel-2", map[string]any{"amount": 1500}, "SETTLED", "payment.capture_requested", "payment.captured"),
	)},
	{"The second parcel comes back: a refund of that capture", (*story).refund},
	{"The issuer declines 80.00 EUR", (*story).decline},
	{"The bank wants to see the customer: 3-D Secure", steps(
		buys(order{"order-1003", "Desk lamp", 4900, "4916994064252017"}, "PENDING", "payment.created", "payment.action_required"),
		(*story).resume,
	)},
	{"A processor takes its time: it accepts now, and approves later", steps(
		buys(order{"order-1007", "Rain coat", 7200, "4000000000003220"}, "PENDING", "payment.created", "payment.authorization_pending"),
		says("the processor approves within 2 s, and sends a signed notification"),
		becomes("AUTHORIZED", []string{"payment.authorized"}, hook{"PAYMENT.STATUS", "AUTHORIZED"}),
		captures("parcel-5", nil, "SETTLED", "payment.capture_requested", "payment.captured"),
	)},
	{"A capture fails at the processor", steps(
		buys(order{"order-1004", "Backpack", 6000, "4000000000005142"}, "AUTHORIZED", "payment.created", "payment.authorized"),
		captures("parcel-3", nil, "SETTLING", "payment.capture_requested", "payment.capture_pending"),
		says("the processor decides within 2 s"),
		becomes("AUTHORIZED", []string{"payment.capture_failed"}, hook{"PAYMENT.CAPTURE.FAILED", ""}, hook{"PAYMENT.STATUS", "AUTHORIZED"}),
	)},
	{"A cardholder disputes what was paid", steps(
		buys(order{"order-1006", "Umbrella", 3500, "4000000000000259"}, "AUTHORIZED", "payment.created", "payment.authorized"),
		captures("parcel-4", nil, "SETTLED", "payment.capture_requested", "payment.captured"),
		says("two seconds after the settlement the processor reports a dispute"),
		becomes("SETTLED", nil, hook{"DISPUTE.OPENED", ""}, hook{"DISPUTE.STATUS", "OPEN"}),
		disputes(3500),
	)},
	{"A processor never answers: nothing is guessed", (*story).timeout},
	{"An auditor reads the first payment, and trusts nobody", (*story).audit},
	{"An analyst reads every event in one order", (*story).analyst},
}

// step is a part of a chapter. Its error is the first unexpected result.
type step = func(s *story, ctx context.Context) error

func steps(all ...step) step {
	return func(s *story, ctx context.Context) error {
		for _, one := range all {
			if err := one(s, ctx); err != nil {
				return err
			}
		}
		return nil
	}
}

// buys pays for an order. The later steps of the chapter are about this payment.
func buys(o order, status string, events ...string) step {
	return func(s *story, ctx context.Context) (err error) {
		s.now, err = s.checkout(ctx, o)
		return s.then(ctx, err, s.now, status, events, hook{"PAYMENT.STATUS", status})
	}
}

func captures(key string, body map[string]any, status string, events ...string) step {
	return func(s *story, ctx context.Context) error {
		p, err := s.operate(ctx, "/payments/"+s.now.ID+"/capture", key, body)
		return s.then(ctx, err, p, status, events, hook{"PAYMENT.STATUS", status})
	}
}

func says(text string) step {
	return func(s *story, _ context.Context) error { s.out.line("   %s", text); return nil }
}

func becomes(status string, events []string, webhooks ...hook) step {
	return func(s *story, ctx context.Context) error { return s.later(ctx, s.now, status, events, webhooks...) }
}

func disputes(amount int64) step {
	return func(s *story, ctx context.Context) error { return s.checkDispute(ctx, s.now.ID, amount) }
}

func (s *story) register(ctx context.Context) (err error) {
	s.endpoint, err = s.subscribe(ctx, s.receiver.url)
	return err
}

func (s *story) keep(context.Context) error {
	s.paid = s.now
	return nil
}

func (s *story) refund(ctx context.Context) error {
	now, err := s.read(ctx, s.paid.ID)
	if err != nil {
		return err
	}
	return s.refundOf(ctx, 1500, map[string]any{"transactionEventId": newest(now, "CAPTURE_SUCCEEDED"), "reason": "returned"})
}

// refundOf refunds an amount of the first payment.
func (s *story) refundOf(ctx context.Context, amount int64, body map[string]any) error {
	p, err := s.operate(ctx, "/payments/"+s.paid.ID+"/refund", "return-2", body)
	if err != nil {
		return err
	}
	pending, err := s.pends(ctx, p.ID, "payment.refund_pending")
	if err != nil {
		return err
	}
	requested, done, settled := "payment.refund_requested", "payment.refunded", hook{"PAYMENT.REFUND", "SETTLED"}
	if pending { // the processor tells the outcome later
		if err := s.checkEvents(ctx, p.ID, []string{requested, "payment.refund_pending"}); err != nil {
			return err
		}
		s.out.line("   the processor accepts the refund, and notifies its outcome")
		if err := s.later(ctx, p, "SETTLED", []string{done}, settled); err != nil {
			return err
		}
		if p, err = s.quiet().read(ctx, p.ID); err != nil {
			return err
		}
	} else if err := s.then(ctx, nil, p, "SETTLED", []string{requested, done}, settled); err != nil {
		return err
	}
	if processorOf(p).AmountRefunded != amount {
		return fmt.Errorf("%s was refunded, expected %s", euros(processorOf(p).AmountRefunded), euros(amount))
	}
	return nil
}

func (s *story) decline(ctx context.Context) error {
	p, err := s.checkout(ctx, order{"order-1002", "Fountain pen", 8000, "4000000000009995"})
	if err == nil && reasonOf(p).Code != "INSUFFICIENT_FUNDS" {
		err = fmt.Errorf("the payment is %s, expected INSUFFICIENT_FUNDS", note(p))
	}
	return s.then(ctx, err, p, "DECLINED", []string{"payment.created", "payment.declined"},
		hook{"PAYMENT.STATUS", "DECLINED"})
}

func (s *story) resume(ctx context.Context) error {
	token, err := s.challenge(ctx, cmp.Or(s.now.RequiredAction, &client.RequiredAction{}).ClientToken)
	if err != nil {
		return err
	}
	p, err := s.operate(ctx, "/payments/"+s.now.ID+"/resume", "resume-1003", map[string]any{"resumeToken": token})
	return s.then(ctx, err, p, "AUTHORIZED", []string{"payment.resumed", "payment.authorized"},
		hook{"PAYMENT.STATUS", "AUTHORIZED"})
}

func (s *story) timeout(ctx context.Context) error {
	return s.payWithoutAnswer(ctx, "4000000000006470")
}

// payWithoutAnswer pays with a card, and expects that the processor's answer does not arrive.
func (s *story) payWithoutAnswer(ctx context.Context, card string) error {
	p, err := s.checkout(ctx, order{"order-1005", "Bicycle bell", 1900, card})
	if err == nil && (p.Status != "PENDING" || reasonOf(p).Type != "GATEWAY_TIMEOUT") {
		err = fmt.Errorf("the payment is %s, expected PENDING with GATEWAY_TIMEOUT", note(p))
	}
	if err != nil {
		return err
	}
	s.out.line("   the service looks the operation up at the processor, by its key, until the outcome is known")
	return s.later(ctx, p, "AUTHORIZED", []string{"payment.created", "payment.authorization_timed_out", "payment.authorized"},
		hook{"PAYMENT.STATUS", "AUTHORIZED"})
}

type order struct {
	id      string
	article string
	amount  int64 // minor units of EUR
	card    string
}

func (s *story) checkout(ctx context.Context, o order) (client.Payment, error) {
	token, err := s.enterCard(ctx, o)
	if err != nil {
		return client.Payment{}, err
	}
	return s.operate(ctx, "/payments", "key-"+o.id, map[string]any{"paymentMethodToken": token})
}

func (s *story) enterCard(ctx context.Context, o order) (token string, err error) {
	clientToken, err := s.clientSession(ctx, o.id, o.amount, o.article)
	if err != nil {
		return "", err
	}
	return s.tokenize(ctx, clientToken, o.card)
}
