package httpapi_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // its driver

	"payledger/domain"
	"payledger/eventstore/eventstoretest"
	"payledger/httpapi"
	"payledger/projections/history"
)

// held keeps the views from writing until release is called.
func (r *rig) held() (release func()) {
	r.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(r.dir, "views", "views.sqlite")+"?_pragma=busy_timeout(10000)")
	must(r.t, err)
	conn, err := db.Conn(context.Background())
	must(r.t, err)
	_, err = conn.ExecContext(context.Background(), "BEGIN IMMEDIATE")
	must(r.t, err)
	return func() {
		_, err := conn.ExecContext(context.Background(), "ROLLBACK")
		must(r.t, errors.Join(err, conn.Close(), db.Close()))
	}
}

// TestReadsWhileViewsAreHeld: a payment and its events are read as they were recorded, while the
// views cannot write anything; the list has the payment when they can.
func TestReadsWhileViewsAreHeld(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	token := r.tokenize(r.session(someSession), goodCard)
	must(t, r.views.CaughtUp(t.Context()))
	release := r.held()
	made := r.want(r.pay(payWith(token)), 200, "")
	at := "/payments/" + made.text1("id")
	if read := r.want(r.get(at), 200, ""); read.text != made.text || read.text1("status") != "AUTHORIZED" {
		t.Errorf("read\n%s\nanswered\n%s", read.text, made.text)
	}
	r.want(r.post(at+"/capture", ""), 200, "")
	if read := r.want(r.get(at), 200, ""); read.text1("status") != "SETTLED" {
		t.Errorf("captured, read %s", read.text)
	}
	events := r.want(r.get(at+"/events"), 200, "").field("data").([]any)
	if len(events) != 4 {
		t.Errorf("%d events", len(events))
	}
	for _, e := range events {
		if _, there := e.(map[string]any)["position"]; there {
			t.Errorf("a position that no checkpoint fixes: %v", e)
		}
	}
	list := make(chan answer)
	go func() { list <- r.get("/payments") }()
	release()
	if listed := r.want(<-list, 200, "").field("data").([]any); len(listed) != 1 || listed[0].(map[string]any)["status"] != "SETTLED" {
		t.Errorf("listed %v", listed)
	}
}

// TestHashesFromTheAnswer: an auditor computes every hash from the answer alone, also from a part
// of the history, and bytes come as base64 (I1).
func TestHashesFromTheAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	made := r.want(r.pay(payWith(r.tokenize(r.session(someSession), goodCard))), 200, "")
	at := "/payments/" + made.text1("id")
	r.want(r.post(at+"/capture", ""), 200, "")
	previous := strings.Repeat("0", 64)
	for _, query := range []string{"", "?after=2"} {
		a := r.want(r.get(at+"/events"+query), 200, "")
		for i, e := range a.field("data").([]any) {
			e := e.(map[string]any)
			if i == 0 && query != "" {
				previous = e["previousHash"].(string)
			}
			before, err := hex.DecodeString(e["previousHash"].(string))
			must(t, err)
			raw, err := base64.StdEncoding.DecodeString(e["raw"].(string))
			must(t, err)
			sum := sha256.Sum256(append(before, raw...))
			if e["previousHash"] != previous || e["hash"] != hex.EncodeToString(sum[:]) || !strings.Contains(string(raw), "ce-type:"+e["type"].(string)+"\n") {
				t.Errorf("event %v%s has previous hash %v and hash %v; computed are %s and %x", e["revision"], query, e["previousHash"], e["hash"], previous, sum)
			}
			previous = e["hash"].(string)
			if sealed, is := e["event"].(map[string]any)["personal"].(map[string]any); is {
				if box, err := base64.StdEncoding.DecodeString(sealed["box"].(string)); err != nil || len(box) < 28 {
					t.Errorf("the sealed customer is no base64: %v, %v", sealed["box"], err)
				}
			} else if i == 0 && query == "" {
				t.Error("the first event has no sealed customer")
			}
		}
		if strings.Contains(a.text, "\ufffd") || strings.Contains(a.text, `\ufffd`) {
			t.Error("the answer holds broken UTF-8")
		}
	}
}

// TestLargeHistory: a part with a limit ends when it is large, so that the dashboard can show every
// payment.
func TestLargeHistory(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	s := newSite(t)
	items := strings.TrimSuffix(strings.Repeat(`{"amount":10,"description":"`+strings.Repeat("x", 1000)+`"},`, 110), ",")
	at, events := s.paid(goodCard, `,"amount":1100,"currencyCode":"EUR","order":{"lineItems":[`+items+`]}`), 0
	s.want(s.post(at+"/capture", ""), 200, "")
	for range 39 {
		s.want(s.post(at+"/refund", `{"amount":1}`), 200, "")
	}
	parts := 0
	for after := 0.0; parts == 0 || after > 0; parts++ {
		a := s.want(s.get(fmt.Sprintf("%s/events?limit=200&after=%.0f", at, after)), 200, "")
		if len(a.text) > 9<<20 {
			t.Errorf("a part has %d bytes", len(a.text))
		}
		events += len(a.field("data").([]any))
		after, _ = a.field("nextAfter").(float64)
	}
	if parts < 2 || events != 82 {
		t.Errorf("%d parts have %d events", parts, events)
	}
	s.signIn()
	s.showsLargeHistory("/dashboard" + at)
}

// showsLargeHistory checks the page of a payment of 11.00 EUR with 82 events: it is of now, with
// the newest events, and leads to the earlier ones.
func (s *site) showsLargeHistory(page string) {
	s.t.Helper()
	s.open(page)
	s.shows(200, "Settled €0.39 refunded Refund Download the proof", "Captured €11.00 Refunded €0.39", "revision 82", "Reload the page for newer data.")
	first := 0
	if n, _ := fmt.Sscanf(cutBefore(text(s.now.text), "The page shows the events "), "%d to 82 of 82;", &first); n != 1 || first < 3 {
		s.t.Fatalf("the page begins with revision %d: %s", first, text(s.now.text))
	}
	if now := text(s.now.text); strings.Contains(now, "earlier state") || strings.Contains(now, "Back to now") || !strings.Contains(s.now.text, `max="82"`) {
		s.t.Errorf("not of now: %s", now)
	}
	from := first - 1
	for _, query := range []string{fmt.Sprintf("?at=%d", from), fmt.Sprintf("?at=2&until=%d", from)} {
		s.open(page + query)
		s.shows(200, "You look at an earlier state.", "Back to now", "Newest events", fmt.Sprintf("The page shows the events 1 to %d of 82;", from), "Captured")
		if strings.Contains(text(s.now.text), "Refund Download") || !strings.Contains(s.now.text, fmt.Sprintf(`min="1" max="%d"`, from)) {
			s.t.Errorf("%s: %s", query, text(s.now.text))
		}
	}
	began, err := time.Parse(time.RFC3339, s.want(s.get(strings.TrimPrefix(page, "/dashboard")+"/events?limit=1"), 200, "").field("data").([]any)[0].(map[string]any)["time"].(string))
	must(s.t, err)
	s.open(page + "?at=" + began.Add(-time.Hour).Format(time.RFC3339))
	s.shows(404, "There was no payment yet")
	s.open(page + "?at=" + began.Format("2006-01-02T15:04:05.000000Z"))
	s.shows(200, "You look at an earlier state.", "After revision 1 of 82")
	s.open(page + "?at=83")
	s.shows(404, "The payment has the revisions 1 to 82.")
}

// cutBefore returns the text behind the first place of another; "" without it.
func cutBefore(text, mark string) string {
	_, behind, _ := strings.Cut(text, mark)
	return behind
}

// TestEventsInParts: after and limit give the history in parts, which together are the whole; one
// error names all faults of the parameters (D3).
func TestEventsInParts(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	at := r.paid(goodCard, "")
	for range 3 {
		r.want(r.post(at+"/capture", `{"amount":100,"final":false}`), 200, "")
	}
	whole := r.want(r.get(at+"/events"), 200, "")
	all := whole.field("data").([]any)
	if len(all) != 8 || whole.field("nextAfter") != nil {
		t.Fatalf("%d events, nextAfter %v", len(all), whole.field("nextAfter"))
	}
	for limit, want := range map[int][]float64{1: {1, 2, 3, 4, 5, 6, 7}, 3: {3, 6}, 7: {7}, 8: nil, 1000: nil} {
		var parts []any
		var nexts []float64
		for query := fmt.Sprintf("?limit=%d", limit); query != ""; {
			a := r.want(r.get(at+"/events"+query), 200, "")
			parts, query = append(parts, a.field("data").([]any)...), ""
			if next, more := a.field("nextAfter").(float64); more {
				nexts = append(nexts, next)
				query = fmt.Sprintf("?limit=%d&after=%.0f", limit, next)
			}
		}
		if !slices.Equal(nexts, want) || fmt.Sprint(parts) != fmt.Sprint(all) {
			t.Errorf("in parts of %d: nextAfter %v, want %v; the whole: %t", limit, nexts, want, fmt.Sprint(parts) == fmt.Sprint(all))
		}
	}
	for query, want := range map[string]string{
		"?after=6": "[7 8] <nil>", "?after=8": "[] <nil>", "?after=9007199254740991": "[] <nil>", "?after=0&limit=2": "[1 2] 2",
		"?at=5&after=3": "[4 5] <nil>", "?at=5&after=3&limit=1": "[4] 4", "?at=2&after=4": "[] <nil>",
	} {
		a := r.want(r.get(at+"/events"+query), 200, "")
		revisions := []any{}
		for _, e := range a.field("data").([]any) {
			revisions = append(revisions, e.(map[string]any)["revision"])
		}
		if got := fmt.Sprint(revisions, " ", a.field("nextAfter")); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	const after, limit = "QueryString $.after must be an integer between 0 and 9007199254740991", "QueryString $.limit must be an integer between 1 and 1000"
	for query, want := range map[string][]string{
		"?limit=0": {limit}, "?limit=1001": {limit}, "?limit=": {limit}, "?limit=ten": {limit}, "?limit=1.5": {limit}, "?after=-1": {after}, "?after=x&limit=-5": {after, limit},
		"?after=9007199254740992": {after}, "?limit=1&limit=2": {"QueryString $.limit must be sent once"},
		"?after=x&at=soon&limit=0&from=1": {after, "QueryString $.at must be a revision from 1, or a time such as 2026-03-14T09:00:00Z", "QueryString $.from is not a known parameter", limit},
	} {
		if got := r.want(r.get(at+"/events"+query), 422, "RequestValidationError").faults(); !slices.Equal(got, want) {
			t.Errorf("%s: %q", query, got)
		}
	}
	r.want(r.get(at+"/events?at=9&limit=1"), 404, "EntityNotFound")
	r.want(r.get("/payments/01unknown/events?after=5&limit=1"), 400, "PaymentError")
}

// toldOneByOne is a history that returns one entry for each word it receives. The word "broken"
// ends it with an error, and "panic" panics.
type toldOneByOne struct{ words chan string }

func (h toldOneByOne) Payment(ctx context.Context, _ domain.AccountID, _ domain.PaymentID, _ history.Part, hand func(history.Entry) error) (uint64, error) {
	for revision := uint64(1); ; revision++ {
		word, more := <-h.words
		switch {
		case !more:
			return 0, nil
		case word == "broken":
			return 0, errors.New(secretText)
		case word == "panic":
			panic(secretText)
		}
		if err := hand(history.Entry{Revision: revision, Type: word}); err != nil {
			return 0, err
		}
	}
}

// TestEventsAsTheyAreRead: an event is sent before the next one is read. A later error cuts the
// connection and is logged; the part that was sent is no JSON.
func TestEventsAsTheyAreRead(t *testing.T) {
	t.Parallel()
	words := make(chan string)
	r := newRig(t, func(c *httpapi.Config) { c.History = toldOneByOne{words} })
	for _, end := range []string{"", "broken", "panic"} {
		q, err := http.NewRequestWithContext(t.Context(), "GET", r.url+"/payments/01p/events", nil)
		must(t, err)
		q.Header = http.Header{"X-Api-Key": {r.account.APIKey}, "X-Api-Version": {"2.4"}}
		plain := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		go func() { words <- "first" }()
		a, err := plain.Do(q)
		must(t, err)
		body := bufio.NewReader(a.Body)
		first, err := body.ReadString('"')
		if err != nil || a.StatusCode != 200 || first != `{"` {
			t.Fatalf("%d %q %v", a.StatusCode, first, err)
		}
		for !strings.HasSuffix(first, `"type":"first"`) {
			one, err := body.ReadByte()
			must(t, err)
			first += string(one)
		}
		words <- "second" // it is read only now
		if end == "" {
			close(words)
		} else {
			words <- end
		}
		rest, err := io.ReadAll(body)
		must(t, a.Body.Close())
		if whole := json.Valid([]byte(first + string(rest))); whole != (end == "") || (err == nil) != (end == "") {
			t.Errorf("%q: %v, whole %t: %s%s", end, err, whole, first, rest)
		}
		if end == "" {
			words = make(chan string)
			r.serve(func(c *httpapi.Config) { c.History = toldOneByOne{words} })
		}
	}
	if log := r.log.String(); strings.Count(log, "the connection is cut") != 2 || strings.Contains(log, goodCard) {
		t.Errorf("log\n%s", log)
	}
	go func() { words <- "broken" }()
	r.want(r.get("/payments/01p/events"), 500, "InternalError") // nothing was written
}
