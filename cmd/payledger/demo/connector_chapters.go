package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"regexp"
	"strings"

	"payledger/httpapi/client"
	"payledger/processorsim/protocol"
)

// connectorChapters is the story at a connector: with the cards that it declares, and without what
// it declares that it cannot do.
var connectorChapters = []chapter[*story]{
	{"The merchant registers a webhook endpoint", (*story).register},
	{"A customer pays 25.00 EUR", steps(
		buysWith(protocol.CardApproved, order{id: "order-1001", article: "Notebook", amount: 2500}, "AUTHORIZED", "payment.created", "payment.authorized"),
		(*story).keep,
	)},
	{"Two parcels leave: two captures", (*story).captureParcels},
	{"The second parcel comes back: a refund", (*story).refundParcel},
	{"The issuer declines 80.00 EUR", steps(
		buysWith(protocol.CardDeclined, order{id: "order-1002", article: "Fountain pen", amount: 8000}, "DECLINED", "payment.created", "payment.declined"),
		(*story).declinedByIssuer,
	)},
	{"The bank wants to see the customer: 3-D Secure", steps(
		can(protocol.CanAuthenticate),
		buysWith(protocol.CardAuthentication, order{id: "order-1003", article: "Desk lamp", amount: 4900}, "PENDING", "payment.created", "payment.action_required"),
		(*story).visitBank,
		(*story).comeBack,
	)},
	{"A processor takes its time: it accepts now, and approves later", steps(
		buysWith(protocol.CardPending, order{id: "order-1007", article: "Rain coat", amount: 7200}, "PENDING", "payment.created", "payment.authorization_pending"),
		says("the processor approves, and sends a signed notification"),
		becomes("AUTHORIZED", []string{"payment.authorized"}, hook{"PAYMENT.STATUS", "AUTHORIZED"}),
	)},
	{"A capture fails at the processor", steps(
		buysWith(protocol.CardCaptureFails, order{id: "order-1004", article: "Backpack", amount: 6000}, "AUTHORIZED", "payment.created", "payment.authorized"),
		captures("parcel-3", nil, "SETTLING", "payment.capture_requested", "payment.capture_pending"),
		becomes("AUTHORIZED", []string{"payment.capture_failed"}, hook{"PAYMENT.CAPTURE.FAILED", ""}, hook{"PAYMENT.STATUS", "AUTHORIZED"}),
	)},
	{"A cardholder disputes what was paid", steps(
		can(protocol.CanReportDisputes),
		buysWith(protocol.CardDisputed, order{id: "order-1006", article: "Umbrella", amount: 3500}, "AUTHORIZED", "payment.created", "payment.authorized"),
		takes("parcel-4", nil, "SETTLED"),
		says("the processor reports a dispute"),
		becomes("SETTLED", nil, hook{"DISPUTE.OPENED", ""}, hook{"DISPUTE.STATUS", "OPEN"}),
		disputes(3500),
	)},
	{"An answer is lost on its way: nothing is guessed", (*story).loseAnswer},
	{"An auditor reads the first payment, and trusts nobody", (*story).audit},
	{"An analyst reads every event in one order", (*story).analyst},
}

// takes captures an amount. If the capture is pending, it waits for the outcome.
func takes(key string, body map[string]any, status string) step {
	return func(s *story, ctx context.Context) error {
		p, err := s.operate(ctx, "/payments/"+s.now.ID+"/capture", key, body)
		if err != nil {
			return err
		}
		pending, err := s.pends(ctx, p.ID, "payment.capture_pending")
		if err != nil || !pending {
			return s.then(ctx, err, p, status, []string{"payment.capture_requested", "payment.captured"}, hook{"PAYMENT.STATUS", status})
		}
		if p.Status != "SETTLING" && p.Status != status {
			return fmt.Errorf("the payment is %s, expected SETTLING or %s", note(p), status)
		}
		if err := s.checkEvents(ctx, p.ID, []string{"payment.capture_requested", "payment.capture_pending"}); err != nil {
			return err
		}
		if err := s.checkWebhooks(ctx, p, []hook{{"PAYMENT.STATUS", "SETTLING"}}); err != nil {
			return err
		}
		s.out.line("   %s accepts the capture, and notifies its outcome", s.connector.Name)
		return s.later(ctx, p, status, []string{"payment.captured"}, hook{"PAYMENT.STATUS", status})
	}
}

func (s *story) introduceConnector() {
	k := s.connector
	s.out.line("The processor %s is the program of a connector, %s, at %s.", k.Name, k.Declared.Connector, k.Own)
	s.out.line("Of the protocol's promises, the %d that can be tried without moving money hold.", k.Holding)
	if len(k.Declared.Cannot) > 0 {
		s.out.line("It declares that it lacks:")
	}
	for _, lack := range k.Declared.Cannot {
		s.out.line("   %-16s  %s", lack.Capability, lack.Instead)
	}
}

// buysWith pays with the card that the connector declares for an outcome.
func buysWith(outcome protocol.TestCase, o order, status string, events ...string) step {
	return func(s *story, ctx context.Context) error {
		if o.card = s.connector.Declared.TestCards[outcome]; o.card == "" {
			return leftOut(fmt.Sprintf("%s declares no test card with the outcome %q.", s.connector.Name, outcome))
		}
		return buys(o, status, events...)(s, ctx)
	}
}

// can leaves the chapter out if the connector lacks a capability.
func can(c protocol.Capability) step {
	return func(s *story, _ context.Context) error {
		if lack := s.connector.Lack(c); lack != "" {
			return leftOut(fmt.Sprintf("%s lacks %s. %s", s.connector.Name, c, lack))
		}
		return nil
	}
}

func (s *story) captureParcels(ctx context.Context) error {
	all := takes("parcel-2", map[string]any{"amount": 1500}, "SETTLED")
	if lack := s.connector.Lack(protocol.CanCaptureAgain); lack != "" {
		s.out.line("   %s lacks several captures: %s So both parcels leave together.", s.connector.Name, lack)
		return takes("parcels", nil, "SETTLED")(s, ctx)
	}
	first := takes("parcel-1", map[string]any{"amount": 1000, "final": false}, "PARTIALLY_SETTLED")
	return steps(first, all)(s, ctx)
}

// refundParcel refunds the second capture, or the payment if the connector cannot refund a capture.
func (s *story) refundParcel(ctx context.Context) error {
	if s.connector.Lack(protocol.CanCaptureAgain) == "" && s.connector.Lack(protocol.CanRefundCapture) == "" {
		return s.refund(ctx)
	}
	amount, k := int64(1500), s.connector
	if lack := k.Lack(protocol.CanRefundCapture); lack != "" {
		s.out.line("   %s lacks refunds of one capture: %s So this refund names the payment.", k.Name, lack)
	}
	if lack := k.Lack(protocol.CanRefundPartly); lack != "" {
		s.out.line("   %s lacks refunds of a part: %s So the whole is refunded.", k.Name, lack)
		amount = 2500
	}
	return s.refundOf(ctx, amount, map[string]any{"amount": amount, "reason": "returned"})
}

func (s *story) declinedByIssuer(context.Context) error {
	if r := reasonOf(s.now); r.Type != "ISSUER_DECLINED" {
		return fmt.Errorf("the payment is %s, expected ISSUER_DECLINED", note(s.now))
	}
	return nil
}

// leaving is the address in the page that sends the customer to the bank (D12).
var leaving = regexp.MustCompile(`data-address="([^"]+)"`)

// visitBank is the customer's browser: the checkout sends it to the bank's page, and the bank back.
func (s *story) visitBank(ctx context.Context) error {
	token := cmp.Or(s.now.RequiredAction, &client.RequiredAction{}).ClientToken
	_, page, err := s.browse(ctx, s.api+"/checkout/challenge?clientToken="+token)
	if err != nil {
		return err
	}
	found := leaving.FindStringSubmatch(page)
	if found == nil {
		s.out.line("   the processor has no page of its own for the check")
		return nil
	}
	address := html.UnescapeString(found[1])
	s.out.line("   the checkout sends the customer to the bank's page, %s", address)
	last, _, err := s.browse(ctx, address)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(last, s.api+"/") {
		return leftOut("the bank's page does not send a program back: its check needs a person. The payment waits for its customer.")
	}
	s.out.line("   the customer passes the check there, and comes back to %s", last)
	return nil
}

// comeBack completes the action and resumes. The processor's notification of the outcome may be
// faster: then there is no action any more.
func (s *story) comeBack(ctx context.Context) error {
	said := &strings.Builder{} // of the calls, if they are of use
	quick := s.quiet()
	quick.out = &printer{said}
	action := cmp.Or(s.now.RequiredAction, &client.RequiredAction{})
	token, err := quick.challenge(ctx, action.ClientToken)
	if err == nil {
		_, err = quick.operate(ctx, "/payments/"+s.now.ID+"/resume", "resume-1003", map[string]any{"resumeToken": token})
	}
	if err == nil {
		fmt.Fprint(s.out.w, said)
	} else {
		s.out.line("   the processor's notification of the outcome was faster than the customer: there is no action any more")
	}
	if failed := s.authorizedAfterCheck(ctx); failed != nil {
		return errors.Join(err, failed)
	}
	return nil
}

// authorizedAfterCheck checks the end of the customer's check. Three orders are possible: nothing
// was resumed; the completion was the first to have the outcome; or its notification was, and the
// completion found no action.
func (s *story) authorizedAfterCheck(ctx context.Context) error {
	if err := s.later(ctx, s.now, "AUTHORIZED", nil, hook{"PAYMENT.STATUS", "AUTHORIZED"}); err != nil {
		return err
	}
	expected := []string{"payment.authorized"}
	resumed, err := s.pends(ctx, s.now.ID, "payment.resumed")
	if err != nil {
		return err
	}
	late, err := s.pends(ctx, s.now.ID, "payment.completion_failed")
	if err != nil {
		return err
	}
	switch {
	case late:
		expected = []string{"payment.resumed", "payment.completion_failed", "payment.authorized"}
		if err := s.checkWebhooks(ctx, s.now, []hook{{"PAYMENT.STATUS", "PENDING"}}); err != nil {
			return err
		}
	case resumed:
		expected = []string{"payment.resumed", "payment.authorized"}
	}
	return s.checkEvents(ctx, s.now.ID, expected)
}

// browse reads a page, and returns the address at which it was after redirects.
func (s *story) browse(ctx context.Context, address string) (last, page string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", "", errors.New("the page of the check has no address")
	}
	answer, err := s.client.Do(r)
	if err != nil {
		return "", "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("a page of the check answered %d", answer.StatusCode)
	}
	return answer.Request.URL.String(), string(text), err
}

// loseAnswer pays while the processor's answer gets lost: it holds the money, and the service does
// not know.
func (s *story) loseAnswer(ctx context.Context) error {
	s.out.line("   the next answer of %s does not arrive", s.connector.Name)
	s.connector.LoseAnswer()
	return s.payWithoutAnswer(ctx, s.connector.Declared.TestCards[protocol.CardApproved])
}
