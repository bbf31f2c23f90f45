package api_test

import (
	"strings"
	"testing"

	"payledger/deploy/connectors/stripe/api"
	"payledger/deploy/connectors/stripe/double"
	"payledger/domain/processor"
	"payledger/processorsim/connector"
	"payledger/processorsim/protocol"
)

func tokenized(number string) connector.Order {
	o := authorization(number)
	o.Tokenize = true
	return o
}

func byToken(token string) connector.Order {
	o := order(processor.Authorize, "")
	o.Card = &processor.Card{Token: token}
	return o
}

// TestTokens: an approved card with tokenize is attached to a Customer of its own, and pays again
// with both of their ids; the second payment makes no PaymentMethod.
func TestTokens(t *testing.T) {
	r := newRig(t)
	first := r.send(tokenized("4242424242424242")).Answer
	if !strings.HasPrefix(first.CardToken, "cus_") || !strings.Contains(first.CardToken, ":pm_") {
		t.Fatalf("%+v", first)
	}
	before := len(r.double.Calls())
	again := byToken(first.CardToken)
	paid := r.send(again).Answer
	if paid.State != processor.Succeeded || paid.CardTokenType != processor.ProcessorToken || paid.CardToken != "" {
		t.Errorf("%+v", paid)
	}
	if made := r.double.Calls()[before:]; len(made) != 1 {
		t.Errorf("%q", made)
	}
	again.Card = nil
	found, err := r.vendor.Find(t.Context(), again)
	if err != nil || found.Result == nil || found.Result.Answer.CardTokenType != processor.ProcessorToken {
		t.Errorf("%+v, %v", found, err)
	}
	captured := upon(again, connector.Result{Answer: paid}, processor.Capture)
	captured.Final = true
	if a := r.send(captured).Answer; a.State != processor.Succeeded {
		t.Errorf("%+v", a)
	}
	if a := r.send(authorization("4242424242424242")).Answer; a.CardToken != "" {
		t.Errorf("a token that nobody wants: %+v", a)
	}
	if a := r.send(tokenized("4000000000000002")).Answer; a.CardToken != "" || a.State != processor.Declined {
		t.Errorf("a token of a declined card: %+v", a)
	}
}

// TestTokensRefused: Stripe's refusal of a PaymentMethod or Customer is token_unknown, without a
// word of the token.
func TestTokensRefused(t *testing.T) {
	r := newRig(t)
	given := r.send(tokenized("4242424242424242")).Answer.CardToken
	_, method, _ := strings.Cut(given, ":")
	entered := r.double.Entered("4242424242424242")
	if a := r.send(byToken(entered)).Answer; a.State != processor.Succeeded { // it pays once
		t.Fatalf("%+v", a)
	}
	for _, token := range []string{"pm_none", "cus_none:" + method, method, entered, "tok_1", "cus_1:", "4242"} {
		a := r.send(byToken(token)).Answer
		if a.State != processor.Failed || a.Code != protocol.CodeTokenUnknown || !a.Retryable || strings.Contains(a.Message, token) {
			t.Errorf("%s: %+v", token, a)
		}
	}
	r.double.Detach()
	if a := r.send(byToken(given)).Answer; a.Code != protocol.CodeTokenUnknown {
		t.Errorf("a PaymentMethod that was detached: %+v", a)
	}
}

// TestTokenBehindNumber: a token that is none, in a repeat of an authorization by number whose
// outcome is unknown, is no failure of that authorization.
func TestTokenBehindNumber(t *testing.T) {
	r := newRig(t)
	o := authorization("4242424242424242")
	paid := r.send(o).Answer
	o.Card, o.Doubtful = &processor.Card{Token: "4242"}, true
	if a := r.send(o).Answer; a.State != processor.Succeeded || a.ProcessorTransactionID != paid.ProcessorTransactionID {
		t.Errorf("%+v after %+v", a, paid)
	}
	never := authorization("4242424242424242")
	never.Card, never.Doubtful = &processor.Card{Token: "4242"}, true
	if a := r.send(never).Answer; a.State != processor.Failed || a.Code != protocol.CodeTokenUnknown {
		t.Errorf("%+v", a)
	}
	never.Card, never.Doubtful = authorization("4242424242424242").Card, false
	if result, err := r.vendor.Send(t.Context(), never); err == nil { // its key is used up: an earlier try cannot arrive any more
		t.Errorf("%+v", result)
	}
}

// TestRefuse: what the connector refuses without Stripe.
func TestRefuse(t *testing.T) {
	r := newRig(t)
	paid := authorization("4242424242424242")
	verified := paid
	verified.Amount = 0
	approved := connector.Result{Answer: processor.Answer{State: processor.Succeeded, ProcessorTransactionID: "pi_1"}}
	odd := authorization("4242424242424242")
	odd.Currency, odd.Amount = "KWD", 1001
	less := upon(paid, approved, processor.Adjust)
	declined := connector.Result{Answer: processor.Answer{State: processor.Declined, Code: "05", ProcessorTransactionID: "pi_1"}}
	for code, o := range map[string]connector.Order{
		protocol.CodeTokenUnknown: byToken("4242"), protocol.CodeInvalidAmount: odd, "cannot_adjust": less,
		protocol.CodeAboveAuthorized: upon(verified, approved, processor.Capture), protocol.CodeNotAuthorized: upon(paid, declined, processor.Capture),
		protocol.CodeParentNotFound: order(processor.Void, "pi_none"),
	} {
		if got := r.vendor.Refuse(o); got == nil || got.State != processor.Failed || got.Code != code {
			t.Errorf("%s: %+v", code, got)
		}
	}
	for _, o := range []connector.Order{paid, verified, byToken("pm_1"), upon(paid, approved, processor.Capture), upon(verified, approved, processor.Void)} {
		if got := r.vendor.Refuse(o); got != nil {
			t.Errorf("%s: %+v", o.Kind, got)
		}
	}
	if calls := r.double.Calls(); len(calls) > 0 {
		t.Errorf("%q", calls)
	}
}

// TestEnteredToken: a PaymentMethod of the vendor's own form pays, and is stored with tokenize.
func TestEnteredToken(t *testing.T) {
	r := newRig(t)
	o := byToken(r.double.Entered("4242424242424242"))
	o.Tokenize = true
	first := r.send(o).Answer
	if first.State != processor.Succeeded || first.CardToken == "" || first.CardTokenType != processor.ProcessorToken {
		t.Fatalf("%+v", first)
	}
	for range 2 {
		if a := r.send(byToken(first.CardToken)).Answer; a.State != processor.Succeeded {
			t.Errorf("%+v", a)
		}
	}
}

// TestTokenOfVerification: a card that was verified, and not charged, is stored as well.
func TestTokenOfVerification(t *testing.T) {
	r := newRig(t)
	for _, o := range []connector.Order{tokenized("4242424242424242"), byToken(r.double.Entered("4242424242424242"))} {
		o.Tokenize, o.Amount = true, 0
		a := r.send(o).Answer
		if a.State != processor.Succeeded || a.CardToken == "" {
			t.Fatalf("%+v", a)
		}
		if paid := r.send(byToken(a.CardToken)).Answer; paid.State != processor.Succeeded {
			t.Errorf("%+v", paid)
		}
	}
}

// TestTokenAfterCheck: a card whose customer had to act is stored with the end of the check.
func TestTokenAfterCheck(t *testing.T) {
	r := newRig(t)
	o := tokenized("4000000000003220")
	waits := r.send(o)
	if waits.Answer.State != processor.ActionRequired || waits.Answer.CardToken != "" {
		t.Fatalf("%+v", waits.Answer)
	}
	r.double.Act("", true)
	complete := upon(o, waits, processor.Complete)
	complete.Outcome = processor.Authenticated
	if a := r.send(complete).Answer; a.State != processor.Succeeded || a.CardToken == "" {
		t.Errorf("%+v", a)
	}
}

// TestNetworkToken: Stripe used a token of the card scheme, whatever it got.
func TestNetworkToken(t *testing.T) {
	r := newRig(t, func(*api.Config, *double.Config) {})
	first := r.send(tokenized("4000000000005423")).Answer
	for _, a := range []processor.Answer{first, r.send(byToken(first.CardToken)).Answer} {
		if a.CardTokenType != processor.NetworkToken || a.Bin.AccountNumberType != "NETWORK_TOKEN" {
			t.Errorf("%+v", a)
		}
	}
}
