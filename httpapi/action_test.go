package httpapi_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/httpapi"
	"payledger/processorsim/adapter"
	"payledger/processorsim/protocol"
)

// challengedCard is a card that requires 3-D Secure (D13).
const challengedCard = "4916994064252017"

// complete ends a required action as the customer's browser does.
func (r *rig) complete(clientToken, outcome string) answer {
	r.t.Helper()
	return r.do(request{method: "POST", path: "/required-actions/complete", body: `{"outcome":"` + outcome + `"}`, header: map[string]string{
		"X-Api-Key": "", "X-Api-Version": "", "X-Client-Token": clientToken,
	}})
}

// claimsOf reads a token without checking it.
func claimsOf(t *testing.T, token string) (claims jwt.MapClaims) {
	t.Helper()
	body, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	must(t, err)
	must(t, json.Unmarshal(body, &claims))
	return claims
}

func resumeWith(token string) string { return `{"resumeToken":"` + token + `"}` }

// TestRequiredAction: a challenge, its completion in the browser, resume (§4 rule 1, D6, D7, D12,
// D13).
func TestRequiredAction(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for outcome, want := range map[string]string{"AUTHENTICATED": "AUTHORIZED", "FAILED": "DECLINED"} {
		made := r.want(r.pay(payWith(r.tokenize(r.session(someSession), challengedCard))), 200, "")
		at := "/payments/" + made.text1("id")
		token := made.text1("requiredAction", "clientToken")
		if made.text1("status") != "PENDING" || made.text1("requiredAction", "name") != "3DS_AUTHENTICATION" || made.text1("requiredAction", "description") == "" || token == "" {
			t.Fatalf("payment %s", made.text)
		}
		for range 2 { // the same state, the same bytes
			if read := r.want(r.get(at), 200, ""); read.text != made.text {
				t.Errorf("read back\n%s\nanswered\n%s", read.text, made.text)
			}
		}
		done := r.want(r.complete(token, outcome), 200, "")
		if read := r.want(r.get(at), 200, ""); read.text != made.text {
			t.Errorf("completion alone changed the payment: %s", read.text)
		}
		resumed := r.want(r.post(at+"/resume", resumeWith(done.text1("resumeToken"))), 200, "")
		if resumed.text1("status") != want || resumed.field("requiredAction") != nil {
			t.Errorf("%s: %s", outcome, resumed.text)
		}
		if outcome == "FAILED" && resumed.text1("statusReason", "code") != "AUTHENTICATION_REQUIRED" {
			t.Errorf("failed challenge: %s", resumed.text)
		}
		over := r.want(r.complete(token, outcome), 200, "")
		if over.text1("payment", "status") != want || !strings.HasSuffix(at, over.text1("payment", "id")) || over.field("payment", "requiredAction") != nil {
			t.Errorf("completed again: %s", over.text)
		}
		if other := r.want(r.complete(token, map[string]string{"AUTHENTICATED": "FAILED", "FAILED": "AUTHENTICATED"}[outcome]), 200, ""); other.text1("payment", "status") != want {
			t.Errorf("completed otherwise: %s", other.text)
		}
		again := r.want(r.post(at+"/resume", resumeWith(done.text1("resumeToken"))), 400, "InvalidPaymentStatus")
		if again.text1("error", "paymentStatus") != want {
			t.Errorf("resumed again: %s", again.text)
		}
		history := r.want(r.get(at+"/events"), 200, "")
		for _, secret := range []string{token, done.text1("resumeToken")} {
			if strings.Contains(r.log.String(), secret) || strings.Contains(history.text, secret) {
				t.Error("a token in the log or in a history")
			}
		}
	}
}

// TestActionEndedByNotification: the processor's notification ends the action before the customer
// comes back. The completion answers with the payment as it is now, again and again, and records
// nothing; in the checkout as well nothing is left to resume.
func TestActionEndedByNotification(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.forged.Store(true)
	for status, told := range map[string]processor.Answer{
		"AUTHORIZED": {State: processor.Succeeded}, "DECLINED": {State: processor.Declined, Code: "51"},
	} {
		made := r.want(r.pay(payWith(r.tokenize(r.session(someSession), challengedCard))), 200, "")
		id, token := made.text1("id"), made.text1("requiredAction", "clientToken")
		lines, err := r.sim.Books(t.Context(), adapter.Filter{Reference: domain.PaymentID(id)})
		must(t, err)
		told.ProcessorTransactionID, told.At = lines[0].ProcessorTransactionID, r.now()
		body, err := json.Marshal(protocol.Notification{
			ID: "nt_" + id, Processor: processor.Adyen, Type: processor.Authorize, IdempotencyKey: lines[0].IdempotencyKey, Reference: domain.PaymentID(id), Answer: &told,
		})
		must(t, err)
		r.want(r.signedNotify("ADYEN", string(body)), 200, "")
		r.until("/payments/"+id, "status", status)
		before := r.events()
		for range 2 {
			over := r.want(r.complete(token, "AUTHENTICATED"), 200, "")
			if over.text1("payment", "status") != status || over.text1("payment", "id") != id || over.text1("resumeToken") == "" {
				t.Errorf("%s: %s", status, over.text)
			}
			if status == "DECLINED" && over.text1("payment", "declineReason") != "INSUFFICIENT_FUNDS" {
				t.Errorf("%s", over.text)
			}
			again := r.want(r.post("/payments/"+id+"/resume", resumeWith(over.text1("resumeToken"))), 400, "InvalidPaymentStatus")
			if again.text1("error", "paymentStatus") != status {
				t.Errorf("%s", again.text)
			}
		}
		if after := r.events(); after != before {
			t.Errorf("%d events", after-before)
		}
	}
}

// TestActionToken checks the claims of an action token (D4). Action calls refuse checkout tokens,
// and checkout calls refuse action tokens (D12).
func TestActionToken(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	checkout := r.session(someSession)
	made := r.want(r.pay(payWith(r.tokenize(checkout, challengedCard))), 200, "")
	token := made.text1("requiredAction", "clientToken")
	claims := claimsOf(t, token)
	for name, want := range map[string]any{
		"env": "SANDBOX", "intent": "3DS_AUTHENTICATION", "coreUrl": "https://pay.example", "pciUrl": "https://pay.example",
		"configurationUrl": "https://pay.example/checkout/configuration", "accountId": string(r.account.AccountID),
		"paymentId": made.text1("id"), "action": 1.0,
	} {
		if claims[name] != want {
			t.Errorf("claim %s is %v, want %v", name, claims[name], want)
		}
	}
	ends := time.Unix(int64(claims["exp"].(float64)), 0)
	if left := ends.Sub(r.now()); left > time.Hour || left < time.Hour-time.Minute {
		t.Errorf("the token ends %s", ends)
	}
	access, _ := claims["accessToken"].(string)
	if len(access) != 36 || access == claimsOf(t, checkout)["accessToken"] {
		t.Errorf("accessToken %q", access)
	}
	with := func(name string, value any) string {
		c := maps.Clone(claims)
		c[name] = value
		return sign(t, jwt.SigningMethodHS256, tokenKey, c)
	}
	done := r.want(r.complete(token, "AUTHENTICATED"), 200, "").text1("resumeToken")
	for _, c := range []struct {
		name, token string
		status      int
		errorID     string
	}{
		{"none", "", 401, "Unauthorized"},
		{"nonsense", "nonsense", 400, "ClientSessionValidationError"},
		{"the access token alone", access, 400, "ClientSessionValidationError"},
		{"a checkout's token", checkout, 400, "ClientSessionValidationError"},
		{"a checkout's access token", claimsOf(t, checkout)["accessToken"].(string), 400, "ClientSessionValidationError"},
		{"a resume token", done, 400, "ClientSessionValidationError"},
		{"other bytes", otherBytes(t, token), 400, "ClientSessionValidationError"},
		{"another key", sign(t, jwt.SigningMethodHS256, make([]byte, 32), claims), 400, "ClientSessionValidationError"},
		{"expired", with("exp", 1), 400, "ClientSessionValidationError"},
		{"of the other environment", with("env", "PRODUCTION"), 400, "ClientSessionValidationError"},
		{"of an unknown account", with("accountId", "nobody"), 400, "ClientSessionValidationError"},
		{"of another action", with("action", 2), 400, "InvalidPaymentStatus"},
		{"of no payment", with("paymentId", "01abc"), 400, "PaymentError"},
		{"the token", token, 200, ""},
	} {
		if a := r.complete(c.token, "AUTHENTICATED"); a.status != c.status || a.errorID() != c.errorID {
			t.Errorf("%s: %d %s", c.name, a.status, a.text)
		}
	}
	for _, wrong := range []string{token, access, done} {
		r.want(r.browser(wrong, someCard), 400, "ClientSessionValidationError")
	}
	alias := r.do(request{method: "POST", path: "/required-actions/complete", body: `{"outcome":"FAILED"}`, header: map[string]string{"X-Api-Key": "", "Primer-Client-Token": token}})
	r.want(alias, 200, "")
	bad := r.want(r.complete(token, "MAYBE"), 422, "RequestValidationError")
	if !slices.Equal(bad.faults(), []string{"RequiredActionCompletion $.outcome must be one of AUTHENTICATED, FAILED"}) {
		t.Errorf("faults %q", bad.faults())
	}
	r.late.Store(3601)
	r.want(r.complete(token, "AUTHENTICATED"), 400, "ClientSessionValidationError")
}

// TestResumeTokens checks that resume names the fault of a token that is not the token of the
// payment's action (D8).
func TestResumeTokens(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	challenge := func() (at, clientToken, resumeToken string) {
		made := r.want(r.pay(payWith(r.tokenize(r.session(someSession), challengedCard))), 200, "")
		clientToken = made.text1("requiredAction", "clientToken")
		return "/payments/" + made.text1("id"), clientToken, r.want(r.complete(clientToken, "AUTHENTICATED"), 200, "").text1("resumeToken")
	}
	at, clientToken, good := challenge()
	_, _, foreign := challenge()
	claims := claimsOf(t, good)
	with := func(name string, value any) string {
		c := maps.Clone(claims)
		c[name] = value
		return sign(t, jwt.SigningMethodHS256, tokenKey, c)
	}
	before := r.events()
	for name, token := range map[string]string{
		"nonsense": "nonsense", "of another payment": foreign, "a client token": clientToken, "other bytes": otherBytes(t, good), "another spelling": otherSpelling(t, good),
		"of another account": with("accountId", "nobody"), "of another action": with("action", 2), "for somebody else": with("aud", "checkout"),
		"no signature": sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, claims), "another key": sign(t, jwt.SigningMethodHS256, make([]byte, 32), claims),
	} {
		a := r.post(at+"/resume", resumeWith(token), "X-Idempotency-Key", "kept")
		if a.status != 422 || !slices.Equal(a.faults(), []string{"PaymentResume $.resumeToken must be the token of the payment's current action"}) {
			t.Errorf("%s: %d %s", name, a.status, a.text)
		}
	}
	if after := r.events(); after != before {
		t.Errorf("refused requests left %d events", after-before)
	}
	if a := r.want(r.post(at+"/resume", resumeWith(good), "X-Idempotency-Key", "kept"), 200, ""); a.text1("status") != "AUTHORIZED" {
		t.Errorf("resumed %s", a.text)
	}
	r.want(r.post(at+"/resume", resumeWith(good), "X-Idempotency-Key", "kept"), 409, "IdempotencyKeyAlreadyExists")
	late, _, token := challenge()
	r.late.Store(3601) // the action has expired for every caller (D7)
	if a := r.want(r.post(late+"/resume", resumeWith(token)), 200, ""); a.text1("status") != "DECLINED" {
		t.Errorf("an abandoned action: %s", a.text)
	}
}

// TestResumeInTime checks that a resume without an outcome in time returns 202 with the error body,
// and continues (§7, D8).
func TestResumeInTime(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	must(t, r.sim.SetFault(t.Context(), protocol.Fault{Operation: processor.Complete, Mode: protocol.DropAfter})) // carried out, and not answered
	must(t, r.sim.SetFault(t.Context(), protocol.Fault{Mode: protocol.Reorder, DelayMs: 600_000}))                // no notification arrives
	made := r.want(r.pay(payWith(r.tokenize(r.session(someSession), challengedCard))), 200, "")
	at := "/payments/" + made.text1("id")
	token := r.want(r.complete(made.text1("requiredAction", "clientToken"), "AUTHENTICATED"), 200, "").text1("resumeToken")
	asynchronous := r.paid(laterCard, "") // goes on without its customer
	r.overdue(func(q *http.Request) bool { return q.Method == http.MethodGet })
	for at, token := range map[string]string{at: token, asynchronous: "anything"} {
		busy := r.want(r.post(at+"/resume", resumeWith(token)), 202, "NoActionsToHandle")
		if busy.text1("error", "paymentStatus") != "PENDING" || !strings.Contains(busy.text1("error", "recoverySuggestion"), "Read the payment") ||
			busy.text1("error", "diagnosticsId") != busy.header.Get("X-Request-Id") {
			t.Errorf("not in time: %v %s", busy.header, busy.text)
		}
	}
	if !strings.Contains(r.log.String(), `"status":202`) || !strings.Contains(r.log.String(), `"errorId":"NoActionsToHandle"`) {
		t.Error("the log does not tell")
	}
	r.cut.Store(nil)
	_, err := r.sim.Settle(t.Context())
	must(t, err)
	for _, at := range []string{at, asynchronous} {
		r.until(at, "status", "AUTHORIZED")
		r.want(r.post(at+"/resume", resumeWith(token)), 400, "InvalidPaymentStatus")
	}
}

// TestActionOfAnotherKey: tokens that another installation signed mean nothing here.
func TestActionOfAnotherKey(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	made := r.want(r.pay(payWith(r.tokenize(r.session(someSession), challengedCard))), 200, "")
	at, token := "/payments/"+made.text1("id"), made.text1("requiredAction", "clientToken")
	done := r.want(r.complete(token, "AUTHENTICATED"), 200, "").text1("resumeToken")
	r.serve(func(c *httpapi.Config) { c.ClientTokenKey = slices.Repeat([]byte{9}, 32) })
	r.want(r.complete(token, "AUTHENTICATED"), 400, "ClientSessionValidationError")
	r.want(r.post(at+"/resume", resumeWith(done)), 422, "RequestValidationError")
	if now := r.want(r.get(at), 200, "").text1("requiredAction", "clientToken"); now == "" || now == token {
		t.Error("the token is not signed anew")
	}
}
