package conformance

import (
	"net/http"
	"strings"

	"payledger/processorsim/protocol"
)

var errorChecks = []check{
	{
		id:      "error.path",
		promise: "An unknown path is answered with 404 and an error body.",
		meaning: "The ledger takes the page of a proxy, or an answer of another version, for an answer.",
		run: func(p *probe) {
			for _, path := range []string{"/v1/processors/" + string(p.Processor) + "/nothing", "/v1/nothing"} {
				p.error(p.raw(p.ctx, http.MethodGet, path, ""), http.StatusNotFound)
			}
		},
	},
	{
		id:      "error.method",
		promise: "A method that a path does not have is answered with 405 and an error body.",
		meaning: "A wrong call looks like a success.",
		run: func(p *probe) {
			p.error(p.raw(p.ctx, http.MethodPut, protocol.OperationsPath(p.Processor), "{}"), http.StatusMethodNotAllowed)
			p.error(p.raw(p.ctx, http.MethodDelete, protocol.OperationPath(p.Processor, p.key()), ""), http.StatusMethodNotAllowed)
		},
	},
	{
		id:      "error.key",
		promise: "An operation without a key of 1 to 255 visible ASCII characters is refused with 400 or 422.",
		meaning: "An operation without a key is done again at each repeat.",
		run:     checkBadKeys,
	},
	{
		id:      "error.body",
		promise: "A body that is no operation is refused with 400 or 422, and its key stays unseen.",
		meaning: "The connector moves money that nobody named, or records an outcome of nothing.",
		run:     checkBadBodies,
	},
	{
		id:      "error.size",
		promise: "A body above 64 KiB is refused with a status from 400 to 499, and its key stays unseen.",
		meaning: "One request can exhaust the connector's memory, and all payments wait.",
		run: func(p *probe) {
			key := p.key()
			e := p.post(key, strings.Repeat(" ", protocol.MaxBody)+encoded(p.nothing()))
			p.error(e, http.StatusRequestEntityTooLarge, http.StatusBadRequest, http.StatusUnprocessableEntity)
			p.untouched(key)
		},
	},
	{
		id:      "error.unknown-field",
		promise: "A field that the connector does not know is ignored.",
		meaning: "After an update of the ledger each payment fails with an unclear outcome.",
		moves:   true,
		run:     checkUnknownField,
	},
}

// post sends a body as an operation.
func (p *probe) post(key any, body string) Exchange {
	return p.raw(p.ctx, http.MethodPost, protocol.OperationsPath(p.Processor), body, protocol.HeaderIdempotencyKey, text(key))
}

func checkBadKeys(p *probe) {
	good := encoded(p.nothing())
	e := p.raw(p.ctx, http.MethodPost, protocol.OperationsPath(p.Processor), good)
	p.error(e, http.StatusBadRequest, http.StatusUnprocessableEntity)
	for _, key := range []string{"", "a b", "a\u00e9", strings.Repeat("k", 256)} {
		p.error(p.post(key, good), http.StatusBadRequest, http.StatusUnprocessableEntity)
	}
}

func checkBadBodies(p *probe) {
	op := p.nothing()
	good := encoded(op)
	change := func(old, new string) string { return strings.Replace(good, old, new, 1) }
	for _, body := range []string{
		"", "null", "[]", `"text"`, "{", good[:len(good)-1], good + good, "{}", "<html></html>",
		change(`"capture"`, `"pay"`), change(`"amount":1`, `"amount":-1`), change(`"amount":1`, `"amount":1.5`), change(`"amount":1`, `"amount":"1"`),
		change(`"amount":1`, `"amount":9007199254740992`), change(`"EUR"`, `"EURO"`), change(`"EUR"`, `""`),
		change(string(p.reference), ""), change(string(p.reference), "a b"), change("no-such-transaction", ""),
		change(`"amount":1`, `"amount":1,"amount":2`),
	} {
		e := p.post(op.Key, body)
		if code := p.error(e, http.StatusBadRequest, http.StatusUnprocessableEntity); code != protocol.CodeInvalidRequest {
			p.broken("a body that is no operation is refused with the code %q, want %q", code, protocol.CodeInvalidRequest)
		}
	}
	p.untouched(op.Key)
}

func checkUnknownField(p *probe) {
	op := p.authorize(protocol.CardApproved, 1000)
	e := p.post(op.Key, strings.TrimSuffix(encoded(op), "}")+`,"fieldOfALaterVersion":{"a":1}}`)
	if e.Status != http.StatusOK {
		p.broken("an operation with an unknown field is answered with %d, want 200", e.Status)
	}
	p.succeeds(op) // under its key: the same operation
	if r := p.once(op.Key); r.Amount != op.Amount {
		p.broken("the operation has the amount %d, want %d", r.Amount, op.Amount)
	}
}
