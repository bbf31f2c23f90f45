package conformance

import (
	"net/http"
	"strings"

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
			for _, d := range p.receiver.all() {
				if p.recorder.telling(string(d.body)) {
					p.broken("the notification %s has card data or the ledger's token", notificationID(d.body))
				}
			}
		},
	},
}
