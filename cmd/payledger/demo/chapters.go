package demo

import (
	"context"
	"fmt"
)

func (s *story) register(ctx context.Context) (err error) {
	s.endpoint, err = s.subscribe(ctx, s.receiver.url)
	return err
}

func (s *story) authorize(ctx context.Context) (err error) {
	s.paid, err = s.checkout(ctx, order{"order-1001", "Notebook", 2500, "4111111111111111"})
	return s.then(ctx, err, s.paid, "AUTHORIZED", []string{"payment.created", "payment.authorized"},
		hook{"PAYMENT.STATUS", "AUTHORIZED"})
}

func (s *story) captures(ctx context.Context) error {
	path := "/payments/" + s.paid.ID + "/capture"
	p, err := s.operate(ctx, path, "parcel-1", map[string]any{"amount": 1000, "final": false})
	err = s.then(ctx, err, p, "PARTIALLY_SETTLED", []string{"payment.capture_requested", "payment.captured"},
		hook{"PAYMENT.STATUS", "PARTIALLY_SETTLED"})
	if err != nil {
		return err
	}
	p, err = s.operate(ctx, path, "parcel-2", map[string]any{"amount": 1500})
	return s.then(ctx, err, p, "SETTLED", []string{"payment.capture_requested", "payment.captured"},
		hook{"PAYMENT.STATUS", "SETTLED"})
}

func (s *story) refund(ctx context.Context) error {
	now, err := s.read(ctx, s.paid.ID)
	if err != nil {
		return err
	}
	p, err := s.operate(ctx, "/payments/"+s.paid.ID+"/refund", "return-2", map[string]any{
		"transactionEventId": now.newest("CAPTURE_SUCCEEDED").ID, "reason": "returned",
	})
	if err == nil && p.Processor.AmountRefunded != 1500 {
		err = fmt.Errorf("%s was refunded, expected 15.00 EUR", euros(p.Processor.AmountRefunded))
	}
	return s.then(ctx, err, p, "SETTLED", []string{"payment.refund_requested", "payment.refunded"},
		hook{"PAYMENT.REFUND", "SETTLED"})
}

func (s *story) decline(ctx context.Context) error {
	p, err := s.checkout(ctx, order{"order-1002", "Fountain pen", 8000, "4000000000009995"})
	if err == nil && p.StatusReason.Code != "INSUFFICIENT_FUNDS" {
		err = fmt.Errorf("the payment is %s, expected INSUFFICIENT_FUNDS", p.note())
	}
	return s.then(ctx, err, p, "DECLINED", []string{"payment.created", "payment.declined"},
		hook{"PAYMENT.STATUS", "DECLINED"})
}

func (s *story) threeDSecure(ctx context.Context) error {
	p, err := s.checkout(ctx, order{"order-1003", "Desk lamp", 4900, "4916994064252017"})
	err = s.then(ctx, err, p, "PENDING", []string{"payment.created", "payment.action_required"},
		hook{"PAYMENT.STATUS", "PENDING"})
	if err != nil {
		return err
	}
	token, err := s.challenge(ctx, p.RequiredAction.ClientToken)
	if err != nil {
		return err
	}
	p, err = s.operate(ctx, "/payments/"+p.ID+"/resume", "resume-1003", map[string]any{"resumeToken": token})
	return s.then(ctx, err, p, "AUTHORIZED", []string{"payment.resumed", "payment.authorized"},
		hook{"PAYMENT.STATUS", "AUTHORIZED"})
}

func (s *story) approvedLater(ctx context.Context) error {
	p, err := s.checkout(ctx, order{"order-1007", "Rain coat", 7200, "4000000000003220"})
	err = s.then(ctx, err, p, "PENDING", []string{"payment.created", "payment.authorization_pending"},
		hook{"PAYMENT.STATUS", "PENDING"})
	if err != nil {
		return err
	}
	s.out.line("   the processor approves within 2 s, and sends a signed notification")
	err = s.later(ctx, p, "AUTHORIZED", []string{"payment.authorized"}, hook{"PAYMENT.STATUS", "AUTHORIZED"})
	if err != nil {
		return err
	}
	p, err = s.operate(ctx, "/payments/"+p.ID+"/capture", "parcel-5", nil)
	return s.then(ctx, err, p, "SETTLED", []string{"payment.capture_requested", "payment.captured"},
		hook{"PAYMENT.STATUS", "SETTLED"})
}

func (s *story) failedCapture(ctx context.Context) error {
	p, err := s.checkout(ctx, order{"order-1004", "Backpack", 6000, "4000000000005142"})
	err = s.then(ctx, err, p, "AUTHORIZED", []string{"payment.created", "payment.authorized"},
		hook{"PAYMENT.STATUS", "AUTHORIZED"})
	if err != nil {
		return err
	}
	p, err = s.operate(ctx, "/payments/"+p.ID+"/capture", "parcel-3", nil)
	err = s.then(ctx, err, p, "SETTLING", []string{"payment.capture_requested", "payment.capture_pending"},
		hook{"PAYMENT.STATUS", "SETTLING"})
	if err != nil {
		return err
	}
	s.out.line("   the processor decides within 2 s")
	return s.later(ctx, p, "AUTHORIZED", []string{"payment.capture_failed"},
		hook{"PAYMENT.CAPTURE.FAILED", ""}, hook{"PAYMENT.STATUS", "AUTHORIZED"})
}

func (s *story) dispute(ctx context.Context) error {
	p, err := s.checkout(ctx, order{"order-1006", "Umbrella", 3500, "4000000000000259"})
	err = s.then(ctx, err, p, "AUTHORIZED", []string{"payment.created", "payment.authorized"},
		hook{"PAYMENT.STATUS", "AUTHORIZED"})
	if err != nil {
		return err
	}
	p, err = s.operate(ctx, "/payments/"+p.ID+"/capture", "parcel-4", nil)
	err = s.then(ctx, err, p, "SETTLED", []string{"payment.capture_requested", "payment.captured"},
		hook{"PAYMENT.STATUS", "SETTLED"})
	if err != nil {
		return err
	}
	s.out.line("   two seconds after the settlement the processor reports a dispute")
	if err := s.later(ctx, p, "SETTLED", nil, hook{"DISPUTE.OPENED", ""}, hook{"DISPUTE.STATUS", "OPEN"}); err != nil {
		return err
	}
	return s.checkDispute(ctx, p.ID, 3500)
}

func (s *story) timeout(ctx context.Context) error {
	p, err := s.checkout(ctx, order{"order-1005", "Bicycle bell", 1900, "4000000000006470"})
	if err == nil && (p.Status != "PENDING" || p.StatusReason.Type != "GATEWAY_TIMEOUT") {
		err = fmt.Errorf("the payment is %s, expected PENDING with GATEWAY_TIMEOUT", p.note())
	}
	if err != nil {
		return err
	}
	s.out.line("   the service looks the operation up at the processor, by its key, until the outcome is known")
	return s.later(ctx, p, "AUTHORIZED", []string{"payment.created", "payment.authorization_timed_out", "payment.authorized"},
		hook{"PAYMENT.STATUS", "AUTHORIZED"})
}

// order is a customer's order, and the card that pays.
type order struct {
	id      string
	article string
	amount  int64 // minor units of EUR
	card    string
}

// checkout opens a session, enters the card and pays.
func (s *story) checkout(ctx context.Context, o order) (payment, error) {
	clientToken, err := s.clientSession(ctx, o.id, o.amount, o.article)
	if err != nil {
		return payment{}, err
	}
	token, err := s.tokenize(ctx, clientToken, o.card)
	if err != nil {
		return payment{}, err
	}
	return s.pay(ctx, token, "key-"+o.id)
}
