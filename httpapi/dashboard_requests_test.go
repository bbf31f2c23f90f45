package httpapi_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore/eventstoretest"
	"payledger/httpapi"
	"payledger/httpapi/live"
	counts "payledger/httpapi/traffic"
	"payledger/projections/paymentjson"
)

// TestRequestPages checks that the page has the API's requests with their bodies, that its filters
// apply, and that no card, CVV, token, key or personal data of the requests is there (D20).
func TestRequestPages(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s := newSite(t)
	s.signIn()
	s.open("/dashboard/requests")
	s.shows(200, "There was no request yet")
	client := s.session(zenobiaSession("zen"))
	token := s.cardOf(client)
	paid := s.want(s.pay(payWith(token)), 200, "").text1("id")
	s.want(s.post("/payments/"+paid+"/capture", `{"amount":712}`), 200, "")
	s.want(s.post("/payments/"+paid+"/refund", `{"amount":-1}`), 422, "RequestValidationError")
	for _, role := range []account.Role{account.RoleAdmin, account.RoleAuditor} {
		b := s.as(role)
		b.open("/dashboard/requests")
		b.shows(200, "POST /payments/"+paid+"/capture", `"amount": 712`, "RequestValidationError", "$.amount", "POST /client-session", `"status": "AUTHORIZED"`)
		b.lacks(goodCard, token, client, s.account.APIKey, "/dashboard/requests HTTP", `"737"`)
		if found := showsHer(b.now.text); len(found) > 0 {
			t.Errorf("the page shows %v", found)
		}
	}
	s.open("/dashboard/requests?status=4xx&path=/payments")
	s.shows(200, "/refund")
	s.lacks("POST /client-session", "/capture")
	s.open("/dashboard/requests?key=nobody")
	s.shows(200, "No request fits")
	s.open("/dashboard/requests?status=x")
	s.shows(422, "Some of the input is not accepted.")
	if list := s.want(s.manage("GET", "/request-log?limit=1&status=4xx", ""), 200, ""); strings.Count(list.text, "requestId") != 1 {
		t.Error(list.text)
	}
}

// TestSingleRequestsOfNodes: the list of requests has those of all nodes, the newest first, and the
// page the number of nodes that did not answer.
func TestSingleRequestsOfNodes(t *testing.T) {
	t.Parallel()
	other := live.NewRequestLog()
	answers := func(_ context.Context, question []byte) ([][]byte, int) { return [][]byte{other.Answer(question)}, 1 }
	r := newRig(t, func(c *httpapi.Config) { c.OtherRequests = answers })
	add := func(owner domain.AccountID, path string, at time.Time) {
		other.Add(owner, 503, at, func() live.Request {
			return live.Request{Time: paymentjson.Time{Time: at}, Method: "GET", Path: path, Status: 503, RequestID: "3b897fbc-a971-404d-9c7e-f017a90ca1c3", Caller: "api_key", KeyName: "init"}
		}, func() (any, []byte) { return nil, []byte(`{"amount":712}`) })
	}
	add(r.account.AccountID, "/payments/earlier", r.now().Add(-time.Hour))
	s := siteOf(t, r)
	s.signIn()
	s.want(s.get("/payments/unknown"), 400, "PaymentError")
	add(r.account.AccountID, "/payments/later", r.now().Add(time.Hour))
	add("another", "/payments/foreign", r.now())
	s.open("/dashboard/requests")
	s.shows(200, "1 node does not answer: its requests are missing here.", "2 nodes keep in memory", "/payments/later", "PaymentError", "/payments/earlier", `"amount": 712`)
	s.lacks("/payments/foreign")
	if text := s.now.text; strings.Index(text, "/payments/later") > strings.Index(text, "PaymentError") || strings.Index(text, "PaymentError") > strings.Index(text, "/payments/earlier") {
		t.Error("the newest request does not come first")
	}
	s.open("/dashboard/requests?status=5xx&path=/payments/e")
	s.shows(200, "/payments/earlier")
	s.lacks("PaymentError", "/payments/later")
}

// TestRequestsOfNodes: the statistics have the requests of all nodes, added up, and their page has
// the number of nodes that did not answer.
func TestRequestsOfNodes(t *testing.T) {
	t.Parallel()
	other := counts.New(time.Now().Add(-time.Hour))
	answers := func(_ context.Context, question []byte) ([][]byte, int) {
		return [][]byte{other.Answer(question, time.Now())}, 1
	}
	r := newRig(t, func(c *httpapi.Config) { c.OtherCounts = answers })
	for range 41 {
		other.Add(r.account.AccountID, 503, time.Now(), time.Millisecond)
	}
	s := siteOf(t, r)
	s.signIn()
	s.want(s.get("/payments/unknown"), 400, "PaymentError")
	s.open("/dashboard/statistics?range=today")
	s.shows(200, "API requests 42", "1 node does not answer: its requests are missing here.", "2 nodes, added up, have counted the requests that they answered")
}
