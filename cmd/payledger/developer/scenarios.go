package developer

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"payledger/cmd/payledger/options"
	"payledger/httpapi/client"
)

// scenario is something that can happen. simulator means that it needs the simulator's control API.
type scenario struct {
	name, about string
	simulator   bool
	play        func(context.Context, *shop) error
}

// The cards of the sandbox (D13).
const (
	cardApproved      = "4111111111111111"
	cardDeclined      = "4000000000000002"
	cardNoFunds       = "4000000000009995"
	cardFails         = "4000000000000010"
	cardChallenge     = "4916994064252017"
	cardLater         = "4000000000003220"
	cardNeverAnswers  = "4000000000006470"
	cardDisputed      = "4000000000000259"
	cardRefundFails   = "4000000000005126"
	cardCaptureFails  = "4000000000005142"
	cardCancelFails   = "4000000000005159"
	cardSettlesLater  = "4000000000005175"
	cardOtherAnswered = "4000000000005266"
)

var scenarios = []scenario{
	{"pay", "a payment: AUTHORIZED", false, paysWith(cardApproved, "AUTHORIZED")},
	{"decline", "the issuer declines: DECLINED (DO_NOT_HONOR)", false, paysWith(cardDeclined, "DECLINED")},
	{"no-funds", "the issuer declines: DECLINED (INSUFFICIENT_FUNDS)", false, paysWith(cardNoFunds, "DECLINED")},
	{"failed", "the processor fails: FAILED", false, paysWith(cardFails, "FAILED")},
	{"fallback", "the first processor fails, a second one approves: AUTHORIZED", false, paysWith(cardOtherAnswered, "AUTHORIZED")},
	{"3ds", "a 3-D Secure check, which the customer passes: AUTHORIZED", false, challenged("AUTHENTICATED", "AUTHORIZED")},
	{"3ds-fail", "a 3-D Secure check, which the customer fails: DECLINED", false, challenged("FAILED", "DECLINED")},
	{"3ds-open", "a 3-D Secure check that waits for the customer: PENDING", false, challengeOpen},
	{"late-approval", "the processor approves 2 s later: PENDING, then AUTHORIZED", false, approvedLater},
	{"timeout", "the processor never answers: PENDING after --payment-timeout of the server, then AUTHORIZED by a look-up", false, timedOut},
	{"manual-approval", "a session whose merchant approves the attempt: AUTHORIZED", false, approvedByHand},
	{"manual-abort", "a session whose merchant aborts the attempt: no payment", false, abortedByHand},
	{"vault", "a card that is saved, and pays again: AUTHORIZED", false, vaulted},
	{"capture", "a payment and its capture: SETTLED", false, operates(cardApproved, operation{"capture", nil, "SETTLED"})},
	{"partial-capture", "a capture of the half: PARTIALLY_SETTLED", false, halfCaptured},
	{"capture-later", "a capture that the processor confirms 2 s later: SETTLING, then SETTLED", false, captures(cardSettlesLater, "SETTLED")},
	{"capture-failed", "a capture that fails 2 s later: SETTLING, then AUTHORIZED", false, captures(cardCaptureFails, "AUTHORIZED")},
	{"refund", "a capture and its refund: SETTLED, all refunded", false, operates(cardApproved, operation{"capture", nil, "SETTLED"}, operation{"refund", nil, "SETTLED"})},
	{"refund-failed", "a refund that fails 2 s later", false, refundFails},
	{"cancel", "a payment that is cancelled: CANCELLED", false, operates(cardApproved, operation{"cancel", nil, "CANCELLED"})},
	{"cancel-failed", "a cancel that fails at the processor: AUTHORIZED", false, operates(cardCancelFails, operation{"cancel", nil, "AUTHORIZED"})},
	{"dispute", "a captured payment whose customer disputes it 2 s later: dispute OPEN", false, disputeEnds("")},
	{"dispute-won", "a dispute that the merchant wins; needs --simulator", true, disputeEnds("WON")},
	{"dispute-lost", "a dispute that the merchant loses; needs --simulator", true, disputeEnds("LOST")},
}

// tokenize opens a session and enters the card in it, as the customer's browser does.
func (s *shop) tokenize(ctx context.Context, card string, session map[string]any) (clientToken, token string, err error) {
	fields := map[string]any{
		"orderId": s.Order, "currencyCode": s.Currency, "amount": s.amount, "customerId": "trigger-" + s.run,
		"customer": map[string]any{"email": "ada@example.com"},
	}
	maps.Copy(fields, session)
	if clientToken, err = s.api.OpenSession(ctx, fields); err != nil {
		return "", "", err
	}
	s.step("POST  /client-session                 order %s, %s", s.Order, money(s.amount, s.Currency))
	var instrument struct {
		Token string `json:"token"`
		Data  struct {
			Network string `json:"network"`
			Last4   string `json:"last4Digits"`
		} `json:"paymentMethodData"`
	}
	err = s.api.Browser(ctx, clientToken, "/payment-instruments", map[string]any{"paymentInstrument": map[string]any{
		"number": card, "cvv": "737", "expirationMonth": "03", "expirationYear": strconv.Itoa(time.Now().Year() + 3), "cardholderName": "Ada Lovelace",
	}}, &instrument)
	if err == nil {
		s.step("POST  /payment-instruments            %s •••• %s", instrument.Data.Network, instrument.Data.Last4)
	}
	return clientToken, instrument.Token, err
}

func (s *shop) pay(ctx context.Context, card, status string) error {
	_, token, err := s.tokenize(ctx, card, nil)
	if err != nil {
		return err
	}
	return s.payWith(ctx, token, status, nil)
}

func (s *shop) payWith(ctx context.Context, token, status string, further map[string]any) (err error) {
	body := map[string]any{"paymentMethodToken": token}
	maps.Copy(body, further)
	if s.payment, err = s.api.CreatePayment(ctx, s.key(), body); err != nil {
		return err
	}
	s.step("POST  /payments                       %s", s.payment.Status+because(s.payment.StatusReason))
	return s.wants(status)
}

func (s *shop) operate(ctx context.Context, o operation) error {
	now, err := s.api.Operate(ctx, s.payment.ID, o.verb, s.key(), o.body)
	if err != nil {
		return err
	}
	s.payment = now
	s.step("POST  /payments/…/%-20s%s", o.verb, now.Status)
	return s.wants(o.status)
}

type operation struct {
	verb   string
	body   any
	status string
}

func paysWith(card, status string) func(context.Context, *shop) error {
	return func(ctx context.Context, s *shop) error { return s.pay(ctx, card, status) }
}

func operates(card string, operations ...operation) func(context.Context, *shop) error {
	return func(ctx context.Context, s *shop) error {
		if err := s.pay(ctx, card, "AUTHORIZED"); err != nil {
			return err
		}
		for _, o := range operations {
			if err := s.operate(ctx, o); err != nil {
				return err
			}
		}
		return nil
	}
}

func halfCaptured(ctx context.Context, s *shop) error {
	return operates(cardApproved, operation{"capture", map[string]any{"amount": s.amount / 2, "final": false}, "PARTIALLY_SETTLED"})(ctx, s)
}

func captures(card, status string) func(context.Context, *shop) error {
	return func(ctx context.Context, s *shop) error {
		if err := operates(card, operation{"capture", nil, "SETTLING"})(ctx, s); err != nil {
			return err
		}
		return s.until(ctx, status)
	}
}

func challenged(outcome, status string) func(context.Context, *shop) error {
	return func(ctx context.Context, s *shop) error {
		if err := s.pay(ctx, cardChallenge, "PENDING"); err != nil {
			return err
		}
		action := cmp.Or(s.payment.RequiredAction, &client.RequiredAction{})
		var done struct {
			ResumeToken string `json:"resumeToken"`
		}
		if err := s.api.Browser(ctx, action.ClientToken, "/required-actions/complete", map[string]any{"outcome": outcome}, &done); err != nil {
			return err
		}
		s.step("POST  /required-actions/complete      %s", outcome)
		return s.operate(ctx, operation{"resume", map[string]any{"resumeToken": done.ResumeToken}, status})
	}
}

func challengeOpen(ctx context.Context, s *shop) error {
	if err := s.pay(ctx, cardChallenge, "PENDING"); err != nil {
		return err
	}
	if action := s.payment.RequiredAction; action != nil {
		s.note("customer", strings.TrimRight(options.WithoutUsers(s.URL), "/")+"/checkout/challenge?clientToken="+url.QueryEscape(action.ClientToken))
	}
	return nil
}

func approvedLater(ctx context.Context, s *shop) error { return s.authorizedLater(ctx, cardLater) }

func timedOut(ctx context.Context, s *shop) error {
	s.step("the create is answered when --payment-timeout of the server ends (90 s, unless it is set)")
	return s.authorizedLater(ctx, cardNeverAnswers)
}

func (s *shop) authorizedLater(ctx context.Context, card string) error {
	if err := s.pay(ctx, card, "PENDING"); err != nil {
		return err
	}
	return s.until(ctx, "AUTHORIZED")
}

func (s *shop) attempted(ctx context.Context) (attempt string, err error) {
	clientToken, token, err := s.tokenize(ctx, cardApproved, map[string]any{"approvalMode": "MANUAL"})
	if err != nil {
		return "", err
	}
	var begun struct {
		Attempt struct {
			ID     string `json:"id"`
			Status string `json:"approvalStatus"`
		} `json:"currentAttempt"`
	}
	if err := s.api.Browser(ctx, clientToken, "/payment-attempts", map[string]any{"paymentMethodToken": token}, &begun); err != nil {
		return "", err
	}
	s.step("POST  /payment-attempts               %s", begun.Attempt.Status)
	s.note("attempt", begun.Attempt.ID)
	return begun.Attempt.ID, nil
}

func approvedByHand(ctx context.Context, s *shop) error {
	attempt, err := s.attempted(ctx)
	if err != nil {
		return err
	}
	var approved struct {
		PaymentID string `json:"paymentId"`
	}
	if err := s.api.Post(ctx, "/payment-attempts/"+url.PathEscape(attempt)+"/approve", nil, &approved); err != nil {
		return err
	}
	s.step("POST  /payment-attempts/…/approve     payment %s", approved.PaymentID)
	s.payment.ID = approved.PaymentID
	return s.until(ctx, "AUTHORIZED")
}

func abortedByHand(ctx context.Context, s *shop) error {
	attempt, err := s.attempted(ctx)
	if err != nil {
		return err
	}
	if err := s.api.Post(ctx, "/payment-attempts/"+url.PathEscape(attempt)+"/abort", map[string]any{"reason": "out of stock"}, nil); err != nil {
		return err
	}
	s.step("POST  /payment-attempts/…/abort       ABORTED")
	s.note("order", s.Order)
	return nil
}

func vaulted(ctx context.Context, s *shop) error {
	_, token, err := s.tokenize(ctx, cardApproved, nil)
	if err != nil {
		return err
	}
	customer := "trigger-" + s.run
	var saved struct {
		Token string `json:"token"`
	}
	if err := s.api.Post(ctx, "/payment-instruments/"+url.PathEscape(token)+"/vault", map[string]any{"customerId": customer}, &saved); err != nil {
		return err
	}
	s.step("POST  /payment-instruments/…/vault    customer %s", customer)
	for _, order := range []string{s.Order, s.Order + "-again"} {
		err := s.payWith(ctx, saved.Token, "AUTHORIZED", map[string]any{"customerId": customer, "orderId": order, "currencyCode": s.Currency, "amount": s.amount})
		if err != nil {
			return err
		}
	}
	s.note("customer", customer)
	s.note("token", saved.Token)
	return nil
}

func refundFails(ctx context.Context, s *shop) error {
	if err := operates(cardRefundFails, operation{"capture", nil, "SETTLED"}, operation{"refund", nil, "SETTLED"})(ctx, s); err != nil {
		return err
	}
	return await(ctx, func() (is bool, err error) {
		if s.payment, err = s.api.Payment(ctx, s.payment.ID); err != nil {
			return false, err
		}
		for _, t := range s.payment.Transactions {
			if is = t.Type == "REFUND" && t.Status == "FAILED"; is {
				s.step("the refund is FAILED%s", because(t.StatusReason))
				break
			}
		}
		return is, nil
	})
}

// disputeEnds opens a dispute, and ends it with a status; "" leaves it open.
func disputeEnds(status string) func(context.Context, *shop) error {
	return func(ctx context.Context, s *shop) error {
		if err := operates(cardDisputed, operation{"capture", nil, "SETTLED"})(ctx, s); err != nil {
			return err
		}
		opened, err := s.disputed(ctx, "OPEN")
		if err != nil || status == "" {
			return err
		}
		if err := s.simulate(ctx, http.MethodPatch, "/sim/disputes/"+url.PathEscape(opened), map[string]any{"status": status}); err != nil {
			return err
		}
		_, err = s.disputed(ctx, status)
		return err
	}
}
