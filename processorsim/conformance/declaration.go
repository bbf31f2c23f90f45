package conformance

import (
	"net/http"
	"slices"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

var declarationChecks = []check{
	{
		id:      "declaration",
		promise: "The connector declares its protocol, its name, each thing it cannot do with one sentence for the merchant, and its test cards.",
		meaning: "The ledger offers operations that this processor does not have, or takes a test account for a real one.",
		run:     checkDeclaration,
	},
	{
		id:      "declaration.other",
		promise: "A processor that the connector does not serve is answered with 404 on every path.",
		meaning: "A payment that is routed to a wrong name ends at another merchant account.",
		run:     checkOtherProcessor,
	},
	{
		id:      "token",
		promise: "A request without the ledger's token, or with a wrong one, is answered with 401 and changes nothing.",
		meaning: "Anybody in the network can refund money to a card of his own.",
		needs:   needs{token: true},
		run:     checkToken,
	},
}

func checkDeclaration(p *probe) {
	p.readDeclaration()
	d := p.declared
	if d.Connector == "" {
		p.broken("the declaration does not name the connector")
	}
	if d.Live && len(d.TestCards) > 0 {
		p.broken("the connector declares real money and test cards")
	}
	seen := map[protocol.Capability]bool{}
	for _, lack := range d.Cannot {
		if lack.Instead == "" || seen[lack.Capability] {
			p.broken("the lack of %q has no sentence, or stands twice", lack.Capability)
		}
		seen[lack.Capability] = true
	}
	for outcome, number := range d.TestCards {
		if !slices.Contains(protocol.TestCases, outcome) {
			continue // of a later version
		}
		if len(number) < 12 || len(number) > 19 || !domain.Luhn(number) {
			p.broken("the test card %q has no number of 12 to 19 digits with a right check digit", outcome)
		}
	}
}

// readDeclaration reads the declaration again, now with an exchange in the report.
func (p *probe) readDeclaration() {
	if _, err := p.client.Declaration(p.ctx, p.Processor); err != nil {
		p.broken("%v", err)
	}
}

func checkOtherProcessor(p *probe) {
	const other = processor.Name("NOBODY_HAS_THIS_NAME")
	key := p.key()
	for _, path := range []string{
		protocol.DeclarationPath(other), protocol.OperationPath(other, key), protocol.OperationsPath(other) + "?reference=" + string(p.reference),
		protocol.DisputesPath(other),
	} {
		p.error(p.raw(p.ctx, http.MethodGet, path, ""), http.StatusNotFound)
	}
	body := encoded(p.nothing())
	p.error(p.raw(p.ctx, http.MethodPost, protocol.OperationsPath(other), body, protocol.HeaderIdempotencyKey, string(key)), http.StatusNotFound)
}

// nothing is an operation that no processor can carry out: its transaction does not exist.
func (p *probe) nothing() processor.Operation {
	return p.on(processor.Answer{ProcessorTransactionID: "no-such-transaction"}, processor.Capture, 1)
}

func checkToken(p *probe) {
	op := p.nothing()
	for _, token := range []string{"", "x" + p.Token, p.Token + "x"} {
		ctx := withToken(p.ctx, token)
		unauthorized := func(method, path, body string, header ...string) {
			e := p.raw(ctx, method, path, body, header...)
			if code := p.error(e, http.StatusUnauthorized); code != protocol.CodeUnauthorized {
				p.broken("%s %s is refused with the code %q, want %q", e.Method, e.Path, code, protocol.CodeUnauthorized)
			}
		}
		unauthorized(http.MethodGet, protocol.DeclarationPath(p.Processor), "")
		unauthorized(http.MethodGet, protocol.OperationPath(p.Processor, op.Key), "")
		unauthorized(http.MethodGet, protocol.OperationsPath(p.Processor)+"?reference="+string(p.reference), "")
		unauthorized(http.MethodGet, protocol.DisputesPath(p.Processor), "")
		unauthorized(http.MethodPost, protocol.OperationPath(p.Processor, op.Key)+"/fence", "")
		unauthorized(http.MethodPost, protocol.OperationsPath(p.Processor), encoded(op), protocol.HeaderIdempotencyKey, string(op.Key))
	}
	p.untouched(op.Key)
}

// untouched checks that a refused request left no trace under its key.
func (p *probe) untouched(key domain.OperationKey) {
	if found := p.lookup(processor.Operation{Key: key}); found.State != processor.Unseen {
		p.broken("the key of a refused request is %s, want UNSEEN", found.State)
	}
	if found := p.listed(); len(found) != 0 {
		p.broken("refused requests left %d operations", len(found))
	}
}
