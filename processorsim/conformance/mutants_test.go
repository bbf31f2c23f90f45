package conformance_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// mutant is a fault of a connector, and the checks that must find it.
type mutant struct {
	name   string
	breaks []string
	wrap   func(http.Handler) http.Handler
	notify func(*http.Request, []byte) []byte // changes a notification, whose header may change too
	open   bool                               // no token is needed
	soon   bool                               // the fault is that something never comes: the suite waits for a moment only
}

func mutants() []mutant {
	var all []mutant
	for _, some := range [][]mutant{
		declarationMutants(), errorMutants(), lookupMutants(), keyMutants(), fenceMutants(), authorizeMutants(), amountMutants(),
		captureMutants(), refundMutants(), pendingMutants(), answerMutants(), disputeMutants(), listMutants(), tokenMutants(), secretMutants(),
	} {
		all = append(all, some...)
	}
	return all
}

func breaks(ids ...string) []string { return ids }

func declarationMutants() []mutant {
	return []mutant{
		{name: "a lack without a sentence", breaks: breaks("declaration"), wrap: edited(declared, func(d map[string]any) {
			d["cannot"] = []any{map[string]any{"capability": "adjust", "instead": ""}}
		})},
		{name: "a test card that is no card", breaks: breaks("declaration"), wrap: edited(declared, func(d map[string]any) {
			d["testCards"].(map[string]any)["declined"] = "4000000000000003"
		})},
		{name: "every name is served", breaks: breaks("declaration.other"), wrap: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				r.URL.Path = strings.Replace(r.URL.Path, "NOBODY_HAS_THIS_NAME", "ADYEN", 1)
				next.ServeHTTP(w, r)
			})
		}},
		{name: "no token is needed", breaks: breaks("token"), open: true},
	}
}

func errorMutants() []mutant {
	status := func(from, to int, body string) func(http.Handler) http.Handler {
		return answers(anything, func(a *answer) {
			if a.status == from {
				a.status, a.body = to, body
			}
		})
	}
	const refusal = `{"state":"FAILED","code":"invalid","at":"2026-03-01T12:00:00Z"}`
	return []mutant{
		{name: "a page instead of an error", breaks: breaks("error.path"), wrap: status(404, 404, "<html>not found</html>")},
		{name: "200 for an unknown path", breaks: breaks("error.path"), wrap: status(404, 200, "{}")},
		{name: "200 for a wrong method", breaks: breaks("error.method"), wrap: status(405, 200, "{}")},
		{name: "garbage is a refusal", breaks: breaks("error.body", "error.key"), wrap: answers(posted(""), func(a *answer) {
			if a.status != http.StatusOK {
				a.status, a.body = http.StatusOK, refusal
			}
		})},
		{name: "a key is made up", breaks: breaks("error.key"), wrap: func(next http.Handler) http.Handler {
			var made atomic.Int64
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if posted("")(r, "") && len(r.Header.Get(protocol.HeaderIdempotencyKey)) < 10 {
					r.Header.Set(protocol.HeaderIdempotencyKey, fmt.Sprintf("made-up-%d", made.Add(1)))
				}
				next.ServeHTTP(w, r)
			})
		}},
		{name: "500 for a wrong body", breaks: breaks("error.body"), wrap: status(422, 500, "{}")},
		{name: "a body of any size", breaks: breaks("error.size"), wrap: requests(posted(""), func(map[string]any) {})},
		{name: "an unknown field is refused", breaks: breaks("error.unknown-field"), wrap: answers(posted(""), func(a *answer) {
			if strings.Contains(a.sent, "fieldOfALaterVersion") {
				a.status, a.body = http.StatusBadRequest, `{"error":{"code":"invalid_request","message":"an unknown field"}}`
			}
		})},
		{name: "an unknown field halves the amount", breaks: breaks("error.unknown-field"), wrap: requests(posted(""), func(op map[string]any) {
			if _, has := op["fieldOfALaterVersion"]; has {
				delete(op, "fieldOfALaterVersion")
				op["amount"] = 500
			}
		})},
	}
}

// keyOf returns the key in the path of a look-up.
func keyOf(r *http.Request) string { return r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:] }

func lookupMutants() []mutant {
	return []mutant{
		{name: "an unseen key is known", breaks: breaks("lookup.unseen"), wrap: replaced(lookedUp, `{"state":"UNSEEN"}`,
			`{"state":"KNOWN","answer":{"state":"FAILED","code":"unknown","at":"2026-03-01T12:00:00Z"}}`)},
		{name: "a page as answer", breaks: breaks("lookup.unseen", "authorize"), wrap: answers(anything, func(a *answer) {
			if !declared(a.request, "") {
				a.status, a.body = http.StatusOK, "<html>all is well</html>"
			}
		})},
		{name: "a look-up hangs", breaks: breaks("lookup.unseen", "lookup.after"), soon: true, wrap: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if lookedUp(r, "") {
					<-r.Context().Done()
					return
				}
				next.ServeHTTP(w, r)
			})
		}},
		{name: "a slash ends a key", breaks: breaks("lookup.key-in-path"), wrap: answers(lookedUp, func(a *answer) {
			if strings.Contains(a.request.URL.EscapedPath(), "%2F") {
				a.status, a.body = http.StatusNotFound, `{"error":{"code":"not_found","message":"no such path"}}`
			}
		})},
		{name: "another time at a look-up", breaks: breaks("lookup.after", "lookup.during", "fence.race"),
			wrap: edited(lookedUp, func(l map[string]any) {
				if answer, has := l["answer"].(map[string]any); has {
					answer["at"] = time.Now().UTC().Format(time.RFC3339Nano)
				}
			})},
		{name: "a refusal is not kept", breaks: breaks("lookup.after"), wrap: answers(lookedUp, func(a *answer) {
			if strings.Contains(a.body, `"FAILED"`) {
				a.body = `{"state":"UNSEEN"}`
			}
		})},
		{name: "a known key is unseen again", breaks: breaks("lookup.during"), wrap: func(next http.Handler) http.Handler {
			var mu sync.Mutex
			known := map[string]bool{}
			return answers(lookedUp, func(a *answer) {
				mu.Lock()
				defer mu.Unlock()
				if key := keyOf(a.request); known[key] {
					a.body = `{"state":"UNSEEN"}`
				} else if strings.Contains(a.body, `"KNOWN"`) {
					known[key] = true
				}
			})(next)
		}},
		{name: "a cut connection is forgotten", breaks: breaks("lookup.lost-answer"), wrap: forgetful},
	}
}

// forgetful carries an operation out, and forgets its key when the client goes away.
func forgetful(next http.Handler) http.Handler {
	var mu sync.Mutex
	forgotten := map[string]bool{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get(protocol.HeaderIdempotencyKey)
		mu.Lock()
		again := forgotten[key]
		mu.Unlock()
		if again {
			r.Header.Set(protocol.HeaderIdempotencyKey, key+".again")
		}
		answers(posted(""), func(a *answer) {
			wait := time.NewTimer(200 * time.Millisecond)
			defer wait.Stop()
			select {
			case <-wait.C:
			case <-r.Context().Done():
				mu.Lock()
				forgotten[key] = true
				mu.Unlock()
			}
		})(next).ServeHTTP(w, r)
	})
}

// freshKeys gives each request that fits a key of its own.
func freshKeys(fits func(key string) bool) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		var mu sync.Mutex
		n := 0
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if key := r.Header.Get(protocol.HeaderIdempotencyKey); key != "" && fits(key) {
				mu.Lock()
				n++
				r.Header.Set(protocol.HeaderIdempotencyKey, fmt.Sprintf("%s-%d", key, n))
				mu.Unlock()
			}
			next.ServeHTTP(w, r)
		})
	}
}

func keyMutants() []mutant {
	return []mutant{
		{
			name: "keys are forgotten", breaks: breaks("key.repeat", "key.concurrent", "key.reused", "lookup.after", "lookup.during", "lookup.lost-answer", "fence.before", "list.payment"),
			wrap: freshKeys(func(string) bool { return true }),
		},
		{name: "a repeat has another answer", breaks: breaks("key.repeat"), wrap: func(next http.Handler) http.Handler {
			var mu sync.Mutex
			seen := map[string]bool{}
			return answers(posted(""), func(a *answer) {
				mu.Lock()
				defer mu.Unlock()
				key := a.request.Header.Get(protocol.HeaderIdempotencyKey)
				if seen[key] {
					a.body = strings.Replace(a.body, `"processorEventId":"ev_`, `"processorEventId":"ev_again_`, 1)
				}
				seen[key] = true
			})(next)
		}},
		{name: "500 for a simultaneous request", breaks: breaks("key.concurrent"), wrap: func(next http.Handler) http.Handler {
			var mu sync.Mutex
			seen := map[string]int{}
			return answers(posted(""), func(a *answer) {
				mu.Lock()
				defer mu.Unlock()
				key := a.request.Header.Get(protocol.HeaderIdempotencyKey)
				if seen[key]++; seen[key] == 2 {
					a.status, a.body = http.StatusInternalServerError, "{}"
				}
			})(next)
		}},
		{name: "other contents have the first answer", breaks: breaks("key.reused"), wrap: answers(posted(""), func(a *answer) {
			if strings.Contains(a.body, protocol.CodeKeyReused) {
				a.status, a.body = http.StatusOK, `{"state":"SUCCEEDED","processorTransactionId":"first","at":"2026-03-01T12:00:00Z"}`
			}
		})},
		{name: "a refusal is decided again", breaks: breaks("key.refusal"), wrap: func(next http.Handler) http.Handler {
			var mu sync.Mutex
			refused := map[string]bool{}
			kept := answers(posted(""), func(a *answer) {
				mu.Lock()
				defer mu.Unlock()
				if strings.Contains(a.body, `"FAILED"`) {
					refused[a.request.Header.Get(protocol.HeaderIdempotencyKey)] = true
				}
			})(next)
			return freshKeys(func(key string) bool {
				mu.Lock()
				defer mu.Unlock()
				return refused[key]
			})(kept)
		}},
	}
}

func fenceMutants() []mutant {
	return []mutant{
		{name: "a fence is not kept", breaks: breaks("fence.before", "fence.race"), wrap: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if fenced(r, "") {
					_, _ = fmt.Fprint(w, `{"state":"FENCED"}`)
					return
				}
				next.ServeHTTP(w, r)
			})
		}},
		{name: "a fence looks before it refuses", breaks: breaks("fence.race"), wrap: lateFence},
		{name: "a fence after the fact", breaks: breaks("fence.after"), wrap: answers(fenced, func(a *answer) { a.body = `{"state":"FENCED"}` })},
		{name: "a fenced operation may be tried elsewhere", breaks: breaks("fence.before"), wrap: replaced(posted(""), `"code":"fenced"`, `"code":"fenced","retryable":true`)},
	}
}

// lateFence finds a key unseen, and lets an operation under it pass before it refuses the key.
func lateFence(next http.Handler) http.Handler {
	var mu sync.Mutex
	came := map[string]chan struct{}{}
	passed := func(key string) chan struct{} {
		mu.Lock()
		defer mu.Unlock()
		if came[key] == nil {
			came[key] = make(chan struct{})
		}
		return came[key]
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case posted("")(r, ""):
			next.ServeHTTP(w, r)
			close(passed(r.Header.Get(protocol.HeaderIdempotencyKey)))
		case fenced(r, ""):
			path := strings.TrimSuffix(r.URL.Path, "/fence")
			look := httptest.NewRecorder()
			ask := httptest.NewRequest(http.MethodGet, path, nil)
			ask.Header = r.Header
			next.ServeHTTP(look, ask)
			if !strings.Contains(look.Body.String(), "UNSEEN") {
				next.ServeHTTP(w, r)
				return
			}
			<-passed(path[strings.LastIndex(path, "/")+1:])
			_, _ = fmt.Fprint(w, `{"state":"FENCED"}`)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func authorizeMutants() []mutant {
	return []mutant{
		{name: "a success without a transaction", breaks: breaks("authorize", "capture", "refund"), wrap: edited(posted(""), func(a map[string]any) { delete(a, "processorTransactionId") })},
		{name: "times with an offset", breaks: breaks("authorize"), wrap: edited(posted(""), func(a map[string]any) {
			if at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(a["at"])); err == nil {
				a["at"] = at.In(time.FixedZone("", 7200)).Format(time.RFC3339Nano)
			}
		})},
		{name: "an unknown state", breaks: breaks("authorize"), wrap: replaced(anything, `"state":"SUCCEEDED"`, `"state":"APPROVED"`)},
		{name: "a decline without a code", breaks: breaks("authorize.declined"), wrap: replaced(anything, `"code":"05"`, `"rawCode":"05"`)},
		{name: "a decline is a failure", breaks: breaks("authorize.declined"), wrap: replaced(anything, `"state":"DECLINED"`, `"state":"FAILED"`)},
		{name: "a rejection is a decline", breaks: breaks("authorize.rejected"), wrap: answers(anything, func(a *answer) {
			if strings.Contains(a.body, protocol.CodeGatewayRejected) {
				a.body = strings.Replace(a.body, `"FAILED"`, `"DECLINED"`, 1)
			}
		})},
		{name: "complete has a new transaction", breaks: breaks("complete"), wrap: edited(posted(processor.Complete), func(a map[string]any) { a["processorTransactionId"] = "new" })},
		{name: "the authorization stays open after complete", breaks: breaks("complete", "complete.failed"), wrap: func(next http.Handler) http.Handler {
			var mu sync.Mutex
			asked := map[string]string{}
			first := answers(posted(processor.Authorize), func(a *answer) {
				mu.Lock()
				defer mu.Unlock()
				asked[a.request.Header.Get(protocol.HeaderIdempotencyKey)] = a.body
			})(next)
			return answers(lookedUp, func(a *answer) {
				mu.Lock()
				defer mu.Unlock()
				if body := asked[keyOf(a.request)]; body != "" {
					a.body = `{"state":"KNOWN","answer":` + body + `}`
				}
			})(first)
		}},
		{name: "a failed check counts as passed", breaks: breaks("complete.failed"), wrap: requests(posted(processor.Complete), func(op map[string]any) { op["outcome"] = "AUTHENTICATED" })},
		{name: "a second complete succeeds", breaks: breaks("complete.twice"), wrap: granted(protocol.CodeNoActionPending)},
		{name: "an unknown transaction is taken", breaks: breaks("parent"), wrap: granted(protocol.CodeParentNotFound)},
	}
}

func scaled(currency string, by func(int64) int64) func(map[string]any) {
	return func(op map[string]any) {
		if n, is := op["amount"].(json.Number); is && op["currency"] == currency {
			amount, _ := n.Int64()
			op["amount"] = by(amount)
		}
	}
}

func amountMutants() []mutant {
	all := posted("")
	return []mutant{
		{name: "yens are hundredths", breaks: breaks("amount.no-digits"), wrap: requests(all, scaled("JPY", func(n int64) int64 { return n * 100 }))},
		{name: "dinars have two digits", breaks: breaks("amount.three-digits"), wrap: requests(all, scaled("KWD", func(n int64) int64 { return n / 10 * 10 }))},
		{name: "euros are whole", breaks: breaks("amount.two-digits"), wrap: requests(all, scaled("EUR", func(n int64) int64 { return n / 100 * 100 }))},
		{name: "amounts are floats", breaks: breaks("amount.largest"), wrap: requests(all, scaled("EUR", func(n int64) int64 { return min(n, 9007199254740990) }))},
		{name: "the currency is not compared", breaks: breaks("amount.currency"), wrap: requests(all, func(op map[string]any) { op["currency"] = "EUR" })},
	}
}

func captureMutants() []mutant {
	capture := posted(processor.Capture)
	return []mutant{
		{name: "a capture has the authorization's transaction", breaks: breaks("capture", "capture.several"), wrap: answers(capture, func(a *answer) {
			var op processor.Operation
			var answer map[string]any
			if json.Unmarshal([]byte(a.sent), &op) == nil && json.Unmarshal([]byte(a.body), &answer) == nil {
				answer["processorTransactionId"] = op.ParentID
				text, _ := json.Marshal(answer)
				a.body = string(text)
			}
		})},
		{name: "a capture above takes the rest", breaks: breaks("capture.above"), wrap: requests(capture, scaled("EUR", func(n int64) int64 { return min(n, 1000) }))},
		{name: "no capture is final", breaks: breaks("capture", "capture.final-part"), wrap: requests(capture, func(op map[string]any) { delete(op, "final") })},
		{name: "each capture is final", breaks: breaks("capture.several"), wrap: requests(capture, func(op map[string]any) { op["final"] = true })},
		{name: "captures have no limit", breaks: breaks("capture.above", "capture.several", "capture.simultaneous"), wrap: granted(protocol.CodeAboveAuthorized)},
		{name: "a failed capture succeeds", breaks: breaks("capture.fails"), wrap: granted(protocol.CodeCaptureFailed)},
	}
}

// pretended answers operations of a kind with success, and does nothing.
func pretended(kind processor.Kind) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if posted(kind)(r, bodyOf(r)) {
				_, _ = fmt.Fprint(w, `{"state":"SUCCEEDED","processorTransactionId":"pretended","at":"2026-03-01T12:00:00Z"}`)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

func refundMutants() []mutant {
	return []mutant{
		{name: "refunds have no limit", breaks: breaks("refund", "refund.above", "refund.parts", "refund.of-capture"), wrap: granted(protocol.CodeAboveCaptured)},
		{name: "refunds are pretended", breaks: breaks("refund", "list.payment"), wrap: pretended(processor.Refund)},
		{name: "a failed refund succeeds", breaks: breaks("refund.fails"), wrap: granted(protocol.CodeRefundFailed)},
		{name: "voids are pretended", breaks: breaks("void", "void.captured", "void.rest", "void.fails"), wrap: pretended(processor.Void)},
		{name: "a void after the capture succeeds", breaks: breaks("void.captured"), wrap: granted(protocol.CodeAlreadyCaptured)},
		{name: "each refused void may be repeated", breaks: breaks("void.captured"), wrap: replaced(anything, `"code":"already_captured"`, `"code":"already_captured","retryable":true`)},
		{name: "a refused void succeeds", breaks: breaks("void.fails"), wrap: granted(protocol.CodeVoidRefused)},
		{name: "adjustments are pretended", breaks: breaks("adjust"), wrap: pretended(processor.Adjust)},
	}
}

func pendingMutants() []mutant {
	sign := func(r *http.Request, body []byte) []byte {
		r.Header.Set(protocol.HeaderSignature, protocol.Sign([]byte(secret), body))
		return body
	}
	n := 0
	return []mutant{
		{name: "the result has another transaction", breaks: breaks("pending.authorize", "pending.capture"), wrap: replaced(lookedUp,
			`"state":"SUCCEEDED","processorTransactionId":"`, `"state":"SUCCEEDED","processorTransactionId":"other_`)},
		{name: "the list stays pending", breaks: breaks("pending.authorize", "pending.capture"), wrap: replaced(listed, `"state":"SUCCEEDED"`, `"state":"PENDING"`)},
		{name: "a pending operation has no end", breaks: breaks("pending.authorize", "pending.capture"), soon: true, wrap: replaced(lookedUp, `"state":"SUCCEEDED"`, `"state":"PENDING"`)},
		{name: "a voided authorization has another code", breaks: breaks("void.pending"), wrap: answers(lookedUp, func(a *answer) {
			a.body = strings.Replace(a.body, `"code":"voided"`, `"code":"gateway_rejected"`, 1)
		})},
		{name: "a voided authorization stays open", breaks: breaks("void.pending"), soon: true, wrap: answers(lookedUp, func(a *answer) {
			if strings.Contains(a.body, `"code":"voided"`) {
				a.body = strings.Replace(a.body, `"state":"FAILED"`, `"state":"PENDING"`, 1)
			}
		})},
		{name: "no notification comes", breaks: breaks("notification", "notification.repeat", "dispute"), soon: true, notify: func(*http.Request, []byte) []byte { return nil }},
		{name: "a notification comes once", breaks: breaks("notification.repeat"), soon: true, notify: once()},
		{name: "notifications without a signature", breaks: breaks("notification", "dispute"), notify: func(r *http.Request, body []byte) []byte {
			r.Header.Del(protocol.HeaderSignature)
			return body
		}},
		{name: "notifications signed with another secret", breaks: breaks("notification", "dispute"), notify: func(r *http.Request, body []byte) []byte {
			r.Header.Set(protocol.HeaderSignature, protocol.Sign([]byte("other"), body))
			return body
		}},
		{name: "a notification has another result", breaks: breaks("notification"), notify: func(r *http.Request, body []byte) []byte {
			return sign(r, []byte(strings.Replace(string(body), `"state":"SUCCEEDED"`, `"state":"SUCCEEDED","message":"other"`, 1)))
		}},
		{name: "a repeated notification has another id", breaks: breaks("notification.repeat"), notify: func(r *http.Request, body []byte) []byte {
			n++
			return sign(r, []byte(strings.Replace(string(body), `"id":"nt_`, fmt.Sprintf(`"id":"nt_%d`, n), 1)))
		}},
	}
}

func answerMutants() []mutant {
	in := func(path string, change func(map[string]any)) func(map[string]any) { // of an object that has an answer
		return func(o map[string]any) {
			if a, has := o[path].(map[string]any); has {
				change(a)
			}
		}
	}
	set := func(field string, value any) func(map[string]any) { return func(a map[string]any) { a[field] = value } }
	operations := func(change func(map[string]any)) func(map[string]any) {
		return func(list map[string]any) {
			all, _ := list["operations"].([]any)
			for _, e := range all {
				in("answer", change)(e.(map[string]any))
			}
		}
	}
	told := func(change func(map[string]any)) func(*http.Request, []byte) []byte {
		return func(r *http.Request, body []byte) []byte {
			var n map[string]any
			if json.Unmarshal(body, &n) == nil {
				in("answer", change)(n)
				body, _ = json.Marshal(n)
			}
			r.Header.Set(protocol.HeaderSignature, protocol.Sign([]byte(secret), body))
			return body
		}
	}
	transaction := set("processorTransactionId", "other")
	return []mutant{
		{name: "answers are about captures", breaks: breaks("answer.about"), wrap: edited(posted(""), set("operation", "capture"))},
		{name: "a look-up is about a void", breaks: breaks("answer.about"), wrap: edited(lookedUp, in("answer", set("operation", "void")))},
		{name: "a look-up is about another payment", breaks: breaks("answer.about"), wrap: edited(lookedUp, in("answer", set("reference", "01other")))},
		{name: "a list states another amount", breaks: breaks("answer.about"), wrap: edited(listed, operations(set("amount", 1)))},
		{name: "the list by time states another currency", breaks: breaks("answer.about"), wrap: replaced(listedByTime, `"currency":"EUR","reference"`, `"currency":"USD","reference"`)},
		{name: "a notification is about a refund", breaks: breaks("answer.about"), notify: told(set("operation", "refund"))},
		{name: "a look-up has another transaction", breaks: breaks("answer.transaction"), wrap: edited(lookedUp, in("answer", transaction))},
		{name: "a list has another transaction", breaks: breaks("answer.transaction"), wrap: edited(listed, operations(transaction))},
		{name: "the list by time has another transaction", breaks: breaks("answer.transaction"), wrap: replaced(listedByTime, `"processorTransactionId":"`, `"processorTransactionId":"other`)},
		{name: "a notification has another transaction", breaks: breaks("answer.transaction"), notify: told(transaction)},
		{name: "a repeat has another transaction", breaks: breaks("answer.transaction"), wrap: func(next http.Handler) http.Handler {
			var mu sync.Mutex
			seen := map[string]bool{}
			return answers(posted(""), func(a *answer) {
				mu.Lock()
				defer mu.Unlock()
				key := a.request.Header.Get(protocol.HeaderIdempotencyKey)
				if seen[key] {
					a.body = strings.Replace(a.body, `"processorTransactionId":"`, `"processorTransactionId":"again_`, 1)
				}
				seen[key] = true
			})(next)
		}},
		{name: "a complete has a transaction of its own", breaks: breaks("answer.transaction"), wrap: edited(posted(processor.Complete), transaction)},
	}
}

// once lets each body pass once, and drops its repeats.
func once() func(*http.Request, []byte) []byte {
	var mu sync.Mutex
	seen := map[string]bool{}
	return func(_ *http.Request, body []byte) []byte {
		mu.Lock()
		defer mu.Unlock()
		if seen[string(body)] {
			return nil
		}
		seen[string(body)] = true
		return body
	}
}

func disputeMutants() []mutant {
	each := func(change func([]any) []any) func(http.Handler) http.Handler {
		return edited(disputesListed, func(page map[string]any) {
			if all, is := page["notifications"].([]any); is {
				page["notifications"] = change(all)
			}
		})
	}
	return []mutant{
		{name: "a dispute has another amount", breaks: breaks("dispute"), notify: func(r *http.Request, body []byte) []byte {
			body = []byte(strings.Replace(string(body), `"value":1000`, `"value":100000`, 1))
			r.Header.Set(protocol.HeaderSignature, protocol.Sign([]byte(secret), body))
			return body
		}},
		{name: "the list of disputes has other bytes", breaks: breaks("dispute"), wrap: replaced(disputesListed, `"merchantReference"`, `"reference"`)},
		{name: "the list has a dispute twice", breaks: breaks("dispute", "dispute.list"), wrap: each(func(all []any) []any {
			if len(all) > 0 {
				all = append(all, all[0])
			}
			return all
		})},
		{name: "a page leaves a dispute out", breaks: breaks("dispute.list"), wrap: answers(disputesListed, func(a *answer) {
			var page protocol.DisputeList
			if q := a.request.URL.Query(); q.Has("since") && q.Get("limit") == "30" && json.Unmarshal([]byte(a.body), &page) == nil && len(page.Notifications) > 2 {
				page.Notifications = append(page.Notifications[:1], page.Notifications[2:]...)
				text, _ := json.Marshal(page)
				a.body = string(text)
			}
		})},
		{name: "since is not included", breaks: breaks("dispute.list"), wrap: answers(disputesListed, func(a *answer) {
			var page protocol.DisputeList
			if a.request.URL.Query().Has("since") && json.Unmarshal([]byte(a.body), &page) == nil && len(page.Notifications) > 0 {
				page.Notifications = page.Notifications[1:]
				text, _ := json.Marshal(page)
				a.body = string(text)
			}
		})},
		{name: "a wrong cursor begins again", breaks: breaks("dispute.cursor"), wrap: query(disputesListed, "after", "no-such-cursor", "")},
		{name: "any limit is taken", breaks: breaks("dispute.cursor"), wrap: query(disputesListed, "limit", "31", "30")},
	}
}

// query replaces a parameter of a request; "" removes it.
func query(match func(*http.Request, string) bool, name, old, new string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if q := r.URL.Query(); match(r, "") && q.Get(name) == old {
				if q.Set(name, new); new == "" {
					q.Del(name)
				}
				r.URL.RawQuery = q.Encode()
			}
			next.ServeHTTP(w, r)
		})
	}
}

func listMutants() []mutant {
	operations := func(change func([]any) []any) func(http.Handler) http.Handler {
		return edited(listed, func(list map[string]any) {
			if all, is := list["operations"].([]any); is {
				list["operations"] = change(all)
			}
		})
	}
	lines := func(change func([]string) []string) func(http.Handler) http.Handler {
		return answers(listedByTime, func(a *answer) {
			if all := strings.SplitAfter(a.body, "\n"); a.status == http.StatusOK {
				a.body = strings.Join(change(all), "")
			}
		})
	}
	return []mutant{
		{name: "a list without a payment", breaks: breaks("list.unknown"), wrap: answers(listed, func(a *answer) {
			if a.status != http.StatusOK {
				a.status, a.body = http.StatusOK, `{"operations":[]}`
			}
		})},
		{name: "the list of a payment loses its last element", breaks: breaks("list.payment", "key.repeat"), wrap: operations(func(all []any) []any { return all[:max(0, len(all)-1)] })},
		{name: "what is done elsewhere is not listed", breaks: breaks("list.outside"), wrap: operations(func(all []any) []any {
			return slices.DeleteFunc(all, func(e any) bool { return strings.HasPrefix(fmt.Sprint(e.(map[string]any)["idempotencyKey"]), "sim.") })
		})},
		{name: "the list of a payment is the wrong way round", breaks: breaks("list.payment"), wrap: operations(func(all []any) []any {
			turned := []any{}
			for _, e := range all {
				turned = append([]any{e}, turned...)
			}
			return turned
		})},
		{name: "the list by time loses a line", breaks: breaks("list.time"), wrap: lines(func(all []string) []string {
			if len(all) > 3 {
				all = append(all[:2], all[3:]...)
			}
			return all
		})},
		{name: "the list by time has a line twice", breaks: breaks("list.time"), wrap: lines(func(all []string) []string { return append([]string{all[0]}, all...) })},
		{name: "the list by time ends in the middle of a line", breaks: breaks("list.time"), wrap: answers(listedByTime, func(a *answer) { a.body = a.body[:len(a.body)*2/3] })},
		{name: "the list by time has other amounts", breaks: breaks("list.time"), wrap: replaced(listedByTime, `"amount":1000,`, `"amount":10,`)},
		{name: "a bound is not included", breaks: breaks("list.time-bounds"), wrap: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				q := r.URL.Query()
				if from, err := time.Parse(time.RFC3339Nano, q.Get("from")); err == nil && listedByTime(r, "") {
					q.Set("from", from.Add(time.Nanosecond).Format(time.RFC3339Nano))
					r.URL.RawQuery = q.Encode()
				}
				next.ServeHTTP(w, r)
			})
		}},
		{name: "a wrong time is no bound", breaks: breaks("list.time-wrong"), wrap: query(listedByTime, "from", "yesterday", "")},
	}
}

func secretMutants() []mutant {
	echo := func(a *answer) string {
		text, _ := json.Marshal(a.sent)
		return string(text)
	}
	return []mutant{
		{name: "an error repeats the request", breaks: breaks("secret.error"), wrap: answers(posted(""), func(a *answer) {
			if a.status != http.StatusOK {
				a.body = `{"error":{"code":"invalid_request","message":` + echo(a) + `}}`
			}
		})},
		{name: "an answer has the number", breaks: breaks("secret.answer"), wrap: replaced(posted(processor.Authorize), `"state":"SUCCEEDED"`, `"state":"SUCCEEDED","pan":"4242424242424242"`)},
		{name: "an answer has the verification value", breaks: breaks("secret.answer"), wrap: replaced(posted(processor.Authorize), `"state":"SUCCEEDED"`, `"state":"SUCCEEDED","x":"739"`)},
	}
}
