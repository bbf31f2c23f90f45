package simulator_test

import (
	"strings"
	"testing"

	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// TestTokens: an approved authorization with tokenize gives a token, with which the next one needs
// no number. It is the same for the same card, and worth nothing elsewhere.
func TestTokens(t *testing.T) {
	b := newBench(t)
	first := b.tokenized("4242424242424242")
	given := b.send(first)
	if given.CardToken == "" || given.CardTokenType != "" || strings.Contains(given.CardToken, "4242") {
		t.Fatalf("%+v", given)
	}
	if again := b.send(b.tokenized("4242424242424242")); again.CardToken != given.CardToken {
		t.Errorf("%q, then %q", given.CardToken, again.CardToken)
	}
	paid := b.send(b.byToken(given.CardToken))
	expect(t, paid, processor.Succeeded, "")
	if paid.CardTokenType != processor.ProcessorToken || paid.CardToken != "" || paid.Bin == nil || paid.Bin.Network != "VISA" {
		t.Errorf("%+v", paid)
	}
	elsewhere, other, made := b.byToken(given.CardToken), b.byToken(given.CardToken), b.byToken(given.CardToken)
	elsewhere.Processor, other.MerchantID = processor.Stripe, "another"
	made.Card.Token = strings.Replace(given.CardToken, "visa-2", "visa-1", 1)
	for _, op := range []processor.Operation{elsewhere, other, made} {
		if refused := b.send(op); refused.State != processor.Failed || refused.Code != protocol.CodeTokenUnknown || !refused.Retryable {
			t.Errorf("%+v", refused)
		}
	}
	for _, number := range []string{"4000000000000002", "4000000000000010", "4916994064252017", "4000000000003220"} {
		if answer := b.send(b.tokenized(number)); answer.CardToken != "" {
			t.Errorf("a card that is not approved has a token: %+v", answer)
		}
	}
	if answer := b.send(b.authorize("4242424242424242", 1000)); answer.CardToken != "" {
		t.Error("a token was given that nobody wants")
	}
	b.reopen()
	expect(t, b.send(b.byToken(given.CardToken)), processor.Succeeded, "")
	if strings.Contains(string(b.bytes()), given.CardToken) || strings.Contains(b.log.String(), given.CardToken) {
		t.Error("the token stands in the books or the log")
	}
}

// TestTokenForgotten: the processor gives a token of this card, and does not know it afterwards.
func TestTokenForgotten(t *testing.T) {
	b := newBench(t)
	given := b.send(b.tokenized("4000000000005340"))
	expect(t, given, processor.Succeeded, "")
	op := b.byToken(given.CardToken)
	expect(t, b.send(op), processor.Failed, protocol.CodeTokenUnknown)
	expect(t, *b.lookup(op).Answer, processor.Failed, protocol.CodeTokenUnknown)
}

// TestNetworkToken: the processor uses a token of the card scheme, whatever it gets.
func TestNetworkToken(t *testing.T) {
	b := newBench(t)
	given := b.send(b.tokenized("4000000000005423"))
	paid := b.send(b.byToken(given.CardToken))
	for _, answer := range []processor.Answer{given, paid} {
		if answer.CardTokenType != processor.NetworkToken || answer.Bin.AccountNumberType != "NETWORK_TOKEN" {
			t.Errorf("%+v", answer)
		}
	}
}

// TestTokenAlone: a token stands in the place of the number and of everything else of the card.
func TestTokenAlone(t *testing.T) {
	b := newBench(t)
	for _, card := range []string{
		`{"processorToken":"tok_1","number":"4242424242424242","expirationMonth":"12","expirationYear":"2031"}`, `{"processorToken":"tok_1","cvv":"123"}`,
		`{"processorToken":"tok 1"}`, `{"processorToken":"4242424242424242"}`, `{}`,
	} {
		body := `{"operation":"authorize","processorMerchantId":"shop","reference":"01t","amount":1,"currency":"EUR","card":` + card + `}`
		if status, text := b.post("/v1/processors/ADYEN/operations", body, protocol.HeaderIdempotencyKey, "01t.1"); status != 422 {
			t.Errorf("%s: %d %s", card, status, text)
		}
	}
}

// tokenized is an authorization of a stored card, ready to send.
func (b *bench) tokenized(number string) processor.Operation {
	op := b.authorize(number, 1000)
	op.Tokenize = true
	return op
}

// byToken is an authorization with a token of a card, ready to send.
func (b *bench) byToken(token string) processor.Operation {
	op := b.authorize("", 1000)
	op.Card = &processor.Card{Token: token}
	return op
}
