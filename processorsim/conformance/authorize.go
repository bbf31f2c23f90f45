package conformance

import (
	"net/http"
	"strings"
	"time"

	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

var authorizeChecks = []check{
	{
		id:      "authorize",
		promise: "An approved authorization is SUCCEEDED with a transaction and a time in UTC, and stands in the list as it was sent.",
		meaning: "The ledger cannot name the payment at the processor, for a refund or in a dispute.",
		moves:   true,
		run:     checkAuthorize,
	},
	{
		id:      "authorize.declined",
		promise: "A decline is DECLINED with the issuer's code, holds no money, and stands in the list.",
		meaning: "A declined payment looks like a failure of the processor, or is captured.",
		moves:   true,
		needs:   needs{cards: []protocol.TestCase{protocol.CardDeclined}},
		run: func(p *probe) {
			op := p.authorize(protocol.CardDeclined, 1000)
			answer := p.ended(op)
			if answer.State != processor.Declined {
				p.broken("the declined card is %s %s, want DECLINED", answer.State, answer.Code)
			}
			if r := p.once(op.Key); r.State != processor.Declined {
				p.broken("the list has the decline as %s", r.State)
			}
			if answer.ProcessorTransactionID != "" {
				p.refused(p.final(answer, 1000), "of a declined authorization")
			}
		},
	},
	{
		id:      "authorize.rejected",
		promise: "A payment that the processor itself rejects is FAILED with a code, and holds no money.",
		meaning: "The payment is not tried at another processor, or looks approved.",
		moves:   true,
		needs:   needs{cards: []protocol.TestCase{protocol.CardRejected}},
		run: func(p *probe) {
			op := p.authorize(protocol.CardRejected, 1000)
			answer := p.refused(op, "with the rejected card")
			p.same("the look-up of a rejected authorization", p.known(op), answer)
		},
	},
	{
		id:      "complete",
		promise: "An authorization that needs its customer is ACTION_REQUIRED with a token, holds nothing until complete, and succeeds after AUTHENTICATED under its own transaction.",
		meaning: "A customer passes the check and the payment stays open, or money is taken without the check.",
		moves:   true,
		needs:   needs{cards: []protocol.TestCase{protocol.CardAuthentication}, can: []protocol.Capability{protocol.CanAuthenticate}},
		run:     checkComplete,
	},
	{
		id:      "complete.failed",
		promise: "After a failed check of the customer the authorization is DECLINED with a code, and its look-up agrees.",
		meaning: "A payment that the customer did not confirm is captured.",
		moves:   true,
		needs:   needs{cards: []protocol.TestCase{protocol.CardAuthentication}, can: []protocol.Capability{protocol.CanAuthenticate}},
		run: func(p *probe) {
			op := p.authorize(protocol.CardAuthentication, 1000)
			asked := p.action(op)
			answer := p.ended(p.complete(asked, processor.AuthenticationFailed))
			if answer.State != processor.Declined {
				p.broken("complete after a failed check is %s %s, want DECLINED", answer.State, answer.Code)
			}
			if found := p.known(op); found.State != processor.Declined || found.Code != answer.Code {
				p.broken("the look-up of the authorization is %s %s, want DECLINED %s", found.State, found.Code, answer.Code)
			}
			p.refused(p.final(asked, 1000), "after a failed check")
		},
	},
	{
		id:      "complete.twice",
		promise: "A second complete is refused with the code no_action_pending, and changes nothing; a repeat of the first has its answer.",
		meaning: "A failed check turns into an approval, or an approval into a decline.",
		moves:   true,
		needs:   needs{cards: []protocol.TestCase{protocol.CardAuthentication}, can: []protocol.Capability{protocol.CanAuthenticate}},
		run: func(p *probe) {
			op := p.authorize(protocol.CardAuthentication, 1000)
			asked := p.action(op)
			p.visit(asked)
			first := p.complete(asked, processor.Authenticated)
			answer := p.succeeds(first)
			again := p.refused(p.complete(asked, processor.AuthenticationFailed), "for the second time")
			if again.Code != processor.CodeNoAction {
				p.broken("the second complete has the code %q, want %q", again.Code, processor.CodeNoAction)
			}
			p.same("a repeat of the first complete", p.send(first), answer)
			p.succeeds(p.final(asked, 1000))
		},
	},
	{
		id:      "parent",
		promise: "An operation upon an unknown transaction, or one of another payment, is FAILED and moves nothing.",
		meaning: "A refund of one customer's payment is paid from another's.",
		moves:   true,
		run:     checkParent,
	},
}

func checkAuthorize(p *probe) {
	op := p.authorize(protocol.CardApproved, 1000)
	answer := p.succeeds(op)
	e := p.raw(p.ctx, http.MethodGet, protocol.OperationPath(p.Processor, op.Key), "")
	if e.Status != http.StatusOK || !strings.HasPrefix(e.mediaType, "application/json") {
		p.broken("the look-up is answered with %d and the media type %q, want 200 and application/json", e.Status, e.mediaType)
	}
	if !utc(answer.At) {
		p.broken("the answer's time %s is not in UTC", answer.At.Format(time.RFC3339Nano))
	}
	r := p.once(op.Key)
	switch {
	case r.Amount != op.Amount || r.Currency != op.Currency || r.Kind != op.Kind || r.State != processor.Succeeded || r.MerchantID != op.MerchantID:
		p.broken("the list has %s of %d %s by %q as %s", r.Kind, r.Amount, r.Currency, r.MerchantID, r.State)
	case r.Answer.ProcessorTransactionID != answer.ProcessorTransactionID:
		p.broken("the list has the transaction %q, the answer %q", r.Answer.ProcessorTransactionID, answer.ProcessorTransactionID)
	case !utc(r.CreatedAt) || !utc(r.UpdatedAt) || r.CreatedAt.IsZero() || r.UpdatedAt.Before(r.CreatedAt):
		p.broken("the list has the times %s and %s: they are not in UTC, or in the wrong order", r.CreatedAt, r.UpdatedAt)
	}
}

func utc(t time.Time) bool { _, offset := t.Zone(); return offset == 0 }

// action sends an authorization that needs its customer.
func (p *probe) action(op processor.Operation) processor.Answer {
	answer := p.send(op)
	if answer.State != processor.ActionRequired {
		p.broken("the card that needs its customer is %s %s, want ACTION_REQUIRED", answer.State, answer.Code)
	}
	return answer
}

// visit opens the page of an action, as the customer does who passes the check; without a page the
// outcome of complete decides.
func (p *probe) visit(asked processor.Answer) {
	if asked.ActionURL == "" {
		return
	}
	r, err := http.NewRequestWithContext(p.ctx, http.MethodGet, asked.ActionURL, nil)
	if err != nil {
		p.broken("the page of the action has no address that can be opened: %v", err)
	}
	browser := &http.Client{
		Timeout: p.Patience, Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the shop is not there
	}
	page, err := browser.Do(r)
	if err != nil {
		p.broken("the page of the action cannot be opened: %v", err)
	}
	_ = page.Body.Close()
}

func (p *probe) complete(parent processor.Answer, outcome processor.Outcome) processor.Operation {
	op := p.on(parent, processor.Complete, 0)
	op.Outcome = outcome
	return op
}

func checkComplete(p *probe) {
	op := p.authorize(protocol.CardAuthentication, 1000)
	asked := p.action(op)
	if found := p.known(op); found.State != processor.ActionRequired {
		p.broken("the look-up before complete is %s, want ACTION_REQUIRED", found.State)
	}
	p.refused(p.final(asked, 1000), "before complete")
	p.visit(asked)
	answer := p.succeeds(p.complete(asked, processor.Authenticated))
	if answer.ProcessorTransactionID != asked.ProcessorTransactionID {
		p.broken("complete has the transaction %q, the authorization %q", answer.ProcessorTransactionID, asked.ProcessorTransactionID)
	}
	if found := p.known(op); found.State != processor.Succeeded {
		p.broken("the look-up of the authorization after complete is %s, want SUCCEEDED", found.State)
	}
	p.succeeds(p.final(asked, 1000))
}

func checkParent(p *probe) {
	sale := p.succeeds(p.authorize(protocol.CardApproved, 1000))
	p.succeeds(p.final(sale, 600))
	unknown := processor.Answer{ProcessorTransactionID: "no-such-transaction"}
	for _, kind := range []processor.Kind{processor.Capture, processor.Refund, processor.Void, processor.Adjust} {
		p.refused(p.on(unknown, kind, 100), "upon an unknown transaction")
		elsewhere := p.on(sale, kind, 100)
		elsewhere.Reference = newReference()
		p.refused(elsewhere, "upon the transaction of another payment")
	}
	if kept := p.succeeds(p.on(sale, processor.Refund, 600)); kept.ProcessorTransactionID == sale.ProcessorTransactionID {
		p.broken("a refund has the transaction of its authorization, want one of its own")
	}
}
