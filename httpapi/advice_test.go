package httpapi_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"payledger/eventstore/eventstoretest"
)

// paysAgain matches advice that leads to a second charge, unless the first payment ended unpaid.
var paysAgain = regexp.MustCompile(`(?i)(another|new|the) (payment|token|one)\b.*create|create (a new|another|the payment)`)

// harmless are words of advice about another payment that charges nothing twice.
var harmless = []string{"of the difference", "Do not create another", "when it is CANCELLED, create"}

var operationNamed = regexp.MustCompile(`POST /payments/\{id\}(/[a-z-]+)`)

// advised checks the texts of a refusal of a request about a payment: they can be followed, with
// the ids that the error has, and do not lead to paying twice.
func (r *rig) advised(a answer, at, what string, create bool) {
	r.t.Helper()
	if a.status < 400 {
		return
	}
	status := r.want(r.get(at), 200, "").text1("status")
	said := a.text1("error", "description") + " " + a.text1("error", "recoverySuggestion")
	unpaid := slices.Contains([]string{"DECLINED", "FAILED", "CANCELLED"}, status)
	if paysAgain.MatchString(said) && !unpaid && !slices.ContainsFunc(harmless, func(h string) bool { return strings.Contains(said, h) }) {
		r.t.Errorf("%s of a payment that is %s leads to paying twice: %s", what, status, said)
	}
	if id, is := a.text1("error", "paymentId"), a.text1("error", "paymentStatus"); create && (id != strings.TrimPrefix(at, "/payments/") || is != status) {
		r.t.Errorf("%s names the payment %q, %q: %s", what, id, is, a.text)
	}
	for _, m := range operationNamed.FindAllStringSubmatch(said, -1) {
		if got := r.post(at+m[1], ""); got.status != 200 {
			r.t.Errorf("%s of a payment that is %s suggests %s, which is refused: %s", what, status, m[0], got.text)
		}
	}
}

// TestAdvice walks the suggestions of the refusals of all requests in all statuses: repeats of the
// creation under the same key, another one and none, from the browser too, and all operations.
func TestAdvice(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	for name, c := range map[string]struct {
		card  string
		first []string // operations with their bodies
	}{
		"challenge":         {challengedCard, nil},
		"answers later":     {laterCard, nil},
		"authorized":        {goodCard, nil},
		"settling":          {settlesCard, []string{"/capture"}},
		"partially settled": {goodCard, []string{`/capture{"amount":1000,"final":false}`}},
		"settled":           {goodCard, []string{"/capture"}},
		"released":          {goodCard, []string{`/capture{"amount":1000}`}},
		"refunded":          {goodCard, []string{"/capture", "/refund"}},
		"part refunded":     {goodCard, []string{`/capture{"amount":1000,"final":false}`, "/refund"}},
		"declined":          {declinedCard, nil},
		"failed":            {"4000000000000010", nil},
		"cancelled":         {goodCard, []string{"/cancel"}},
	} {
		t.Run(name, func(t *testing.T) {
			client := r.session(someSession)
			token := r.tokenize(client, c.card)
			at := "/payments/" + r.want(r.pay(payWith(token), "X-Idempotency-Key", "first-"+strings.ReplaceAll(name, " ", "-")), 200, "").text1("id")
			for _, call := range c.first {
				path, body, _ := strings.Cut(call, "{")
				if body != "" {
					body = "{" + body
				}
				r.want(r.post(at+path, body), 200, "")
			}
			r.advised(r.pay(payWith(token), "X-Idempotency-Key", "again-"+strings.ReplaceAll(name, " ", "-")), at, "a repeat under another key", true)
			r.advised(r.pay(payWith(token)), at, "a repeat without a key", true)
			r.advised(r.pay(payWith(token), "X-Idempotency-Key", "first-"+strings.ReplaceAll(name, " ", "-")), at, "a repeat", true)
			r.advised(r.inBrowser(client, "POST", "/checkout/payments", payWith(token)), at, "a payment in the browser", true)
			r.advised(r.post(at+"/resume", `{"resumeToken":"x"}`), at, "resume", false)
			r.advised(r.inBrowser(client, "POST", strings.Replace(at, "/payments", "/checkout/payments", 1)+"/resume", `{"resumeToken":"x"}`), at, "resume in the browser", false)
			r.advised(r.post(at+"/adjust-authorization", `{"amount":1}`), at, "adjust-authorization", false)
			r.advised(r.post(at+"/refund", `{"amount":1}`), at, "refund", false)
			r.advised(r.post(at+"/cancel", ""), at, "cancel", false)
			r.advised(r.post(at+"/capture", ""), at, "capture", false)
		})
	}
}
