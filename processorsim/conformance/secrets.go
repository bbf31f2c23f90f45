package conformance

import (
	"net/http"
	"strings"

	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

var secretChecks = []check{
	{
		id:      "secret.error",
		promise: "The answer to a wrong request repeats no card number and no verification value.",
		meaning: "Card data stands in logs, and the merchant must report a leak.",
		run: func(p *probe) {
			number := plainNumber
			for _, body := range []string{
				`{"operation":"authorize","card":{"number":` + number + `}}`, `{"operation":"authorize","card":"` + number + `"}`,
				`{"` + number + `":1}`, `{"operation":"` + number + `"}`, `{"operation":"authorize","card":{"number":"` + number + `","cvv":"` + plainCVV + `"`,
				strings.Replace(encoded(p.nothing()), "no-such-transaction", dividedNumber, 1),
			} {
				e := p.post(p.key(), body)
				if e.Status == http.StatusOK {
					p.broken("a wrong request is answered with 200")
				}
				if p.recorder.telling(string(e.raw)) {
					p.broken("the answer %d to a wrong request repeats card data", e.Status)
				}
			}
		},
	},
	{
		id:      "secret.answer",
		promise: "No answer, list or notification of the whole run repeats a card number or a verification value.",
		meaning: "Card data stands in the ledger's events and in webhooks, and the merchant must report a leak.",
		moves:   true,
		run: func(p *probe) {
			op := p.authorize(protocol.CardApproved, 1000)
			p.succeeds(op)
			p.known(op)
			p.listed()
			p.recorder.mu.Lock()
			leaks := p.recorder.leaks
			p.recorder.mu.Unlock()
			if len(leaks) > 0 {
				p.broken("%d answers have card data or the ledger's token, the first to %s", len(leaks), leaks[0])
			}
			for _, d := range p.receiver.All() {
				if p.recorder.telling(string(d.Body)) {
					p.broken("the notification %s has card data or the ledger's token", notificationID(d.Body))
				}
			}
		},
	},
}

// unknownToken is a token of a card that no connector has given.
const unknownToken = "payledger_check_no_such_token"

var tokens = []protocol.Capability{protocol.CanTokenize}

var tokenChecks = []check{
	{
		id:      "token.given",
		promise: "An approved authorization with tokenize gives a token of the card, with which a later authorization needs no number.",
		meaning: "The number of a stored card travels with each of its payments.",
		moves:   true,
		needs:   needs{can: tokens},
		run: func(p *probe) {
			first, token := p.tokenized(protocol.CardApproved)
			p.succeeds(p.final(first, 1000))
			paid := p.succeeds(p.byToken(token))
			if paid.CardTokenType != processor.ProcessorToken && paid.CardTokenType != processor.NetworkToken {
				p.broken("an authorization with a token has the cardTokenType %q, want PROCESSOR_TOKEN or NETWORK_TOKEN", paid.CardTokenType)
			}
			if paid.ProcessorTransactionID == first.ProcessorTransactionID {
				p.broken("an authorization with a token has the transaction of the one that gave the token")
			}
			p.succeeds(p.final(paid, 1000))
		},
	},
	{
		id:      "token.unasked",
		promise: "An authorization without tokenize gives no token.",
		meaning: "Cards of customers who never agreed to it are stored at the vendor.",
		moves:   true,
		run: func(p *probe) {
			if answer := p.succeeds(p.authorize(protocol.CardApproved, 1000)); answer.CardToken != "" {
				p.broken("an authorization without tokenize gives a token")
			}
		},
	},
	{
		id:      "token.unknown",
		promise: "An authorization with a token that the processor does not know is FAILED with the code token_unknown, or not_supported without tokens, and holds nothing; the answer does not repeat the token.",
		meaning: "Another customer's card pays, or the payment stays unknown.",
		moves:   true,
		run: func(p *probe) {
			op, want := p.byToken(unknownToken), protocol.CodeTokenUnknown
			if !p.declared.Can(protocol.CanTokenize) {
				want = protocol.CodeNotSupported
			}
			e := p.post(op.Key, encoded(op))
			if strings.Contains(string(e.raw), unknownToken) {
				p.brokenAt(e, "the answer repeats the token")
			}
			refused := p.refused(op, "with a token that does not exist")
			if refused.Code != want {
				p.broken("a token that does not exist is refused with the code %q, want %q", refused.Code, want)
			}
			p.same("the look-up of a refused token", p.known(op), refused)
		},
	},
	{
		id:      "token.repeat",
		promise: "A repeat of a key with the token where the first request had the number is the same operation.",
		meaning: "A payment whose answer was lost is held twice.",
		moves:   true,
		needs:   needs{can: tokens},
		run: func(p *probe) {
			_, token := p.tokenized(protocol.CardApproved)
			op := p.authorize(protocol.CardApproved, 1000)
			first := p.succeeds(op)
			op.Card = &processor.Card{Token: token}
			again := p.send(op)
			p.same("a repeat with the token", again, first)
			p.once(op.Key)
		},
	},
	{
		id:      "token.forgotten",
		promise: "A token that the vendor has forgotten is FAILED with the code token_unknown.",
		meaning: "A stored card never pays again, or another card pays in its place.",
		moves:   true,
		needs:   needs{can: tokens, cards: []protocol.TestCase{protocol.CardForgotten}},
		run: func(p *probe) {
			_, token := p.tokenized(protocol.CardForgotten)
			if refused := p.refused(p.byToken(token), "with a token that was forgotten"); refused.Code != protocol.CodeTokenUnknown {
				p.broken("a forgotten token is refused with the code %q, want %q", refused.Code, protocol.CodeTokenUnknown)
			}
		},
	},
	{
		id:      "token.network",
		promise: "An authorization that was made with a token of the card scheme has the cardTokenType NETWORK_TOKEN, in its answer and its look-up.",
		meaning: "The merchant's reports count the payment among those with the card's number.",
		moves:   true,
		needs:   needs{can: tokens, cards: []protocol.TestCase{protocol.CardNetworkToken}},
		run: func(p *probe) {
			op := p.authorize(protocol.CardNetworkToken, 1000)
			for _, answer := range []processor.Answer{p.succeeds(op), p.known(op)} {
				if answer.CardTokenType != processor.NetworkToken {
					p.broken("the cardTokenType is %q, want NETWORK_TOKEN", answer.CardTokenType)
				}
			}
		},
	},
	{
		id:      "token.list",
		promise: "No list has a token of a card.",
		meaning: "Tokens with which cards pay stand in reports and logs.",
		moves:   true,
		needs:   needs{can: tokens},
		run: func(p *probe) {
			_, token := p.tokenized(protocol.CardApproved)
			p.succeeds(p.byToken(token))
			for _, query := range []string{"?reference=" + string(p.reference), ""} {
				e := p.raw(p.ctx, http.MethodGet, protocol.OperationsPath(p.Processor)+query, "")
				if strings.Contains(string(e.raw), token) {
					p.broken("the list %s has a token of a card", e.Path)
				}
			}
		},
	},
}

// tokenized sends an authorization with tokenize, which must be approved, and returns its answer
// and the token.
func (p *probe) tokenized(card protocol.TestCase) (processor.Answer, string) {
	op := p.authorize(card, 1000)
	op.Tokenize = true
	answer := p.succeeds(op)
	if answer.CardToken == "" {
		p.broken("an approved authorization with tokenize gives no token of the card")
	}
	return answer, answer.CardToken
}

// byToken is an authorization with a token of a card, ready to send.
func (p *probe) byToken(token string) processor.Operation {
	op := p.authorize(protocol.CardApproved, 1000)
	op.Card = &processor.Card{Token: token}
	return op
}
