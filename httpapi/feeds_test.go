package httpapi_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"payledger/domain/account"
	"payledger/eventstore"
	"payledger/eventstore/checkpointlog"
	"payledger/eventstore/eventstoretest"
	"payledger/httpapi"
	"payledger/projections/eventjson"
)

// newFeedRig is newRig with events and checkpoints. closing ends the streams.
func newFeedRig(t testing.TB) (r *rig, closing chan struct{}) {
	t.Helper()
	closing = make(chan struct{})
	r = newRig(t)
	r.serve(func(c *httpapi.Config) {
		c.Events = eventjson.NewFeed(r.store)
		c.Closing, c.Heartbeat = closing, 20*time.Millisecond
	})
	signer, _, err := eventstoretest.Secrets(t, r.store).CheckpointSigner(t.Context())
	must(t, err)
	fanout := eventstore.NewFanout(r.store)
	c, err := checkpointlog.NewWriter(t.Context(), r.store.Checkpoints(), fanout.Reader, signer)
	must(t, err)
	ctx, stop := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	loops.Go(func() { run(ctx, t, fanout.Run) })
	loops.Go(func() { run(ctx, t, c.Run) })
	t.Cleanup(func() { stop(); loops.Wait() })
	return r, closing
}

// positioned waits until every event that the log has now has a position.
func (r *rig) positioned() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	must(r.t, eventjson.NewFeed(r.store).Log.Await(ctx, r.events()-1))
}

// eventPages reads all pages of GET /events.
func (r *rig) eventPages(query string) (all []map[string]any) {
	r.t.Helper()
	for after := 0.0; ; {
		a := r.want(r.get("/events?after="+strconv.Itoa(int(after))+query), 200, "")
		for _, e := range a.field("data").([]any) {
			all = append(all, e.(map[string]any))
		}
		next, more := a.field("nextAfter").(float64)
		if !more {
			return all
		}
		after = next
	}
}

// TestEvents: GET /events has every event of the account once, in order, in pages of any size,
// without personal data and secrets (I2).
func TestEvents(t *testing.T) {
	t.Parallel()
	r, _ := newFeedRig(t)
	clientToken := r.session(someSession)
	token := r.tokenize(clientToken, goodCard)
	id := r.want(r.pay(payWith(token)), 200, "").text1("id")
	r.want(r.post("/payments/"+id+"/capture", `{"amount":500,"final":false}`), 200, "")
	r.paid(declinedCard, "")
	r.positioned()
	all := r.eventPages("&limit=1000")
	var types []string
	last := 0.0
	claims, err := base64.RawURLEncoding.DecodeString(strings.Split(clientToken, ".")[1])
	must(t, err)
	var session struct {
		AccessToken string `json:"accessToken"`
	}
	must(t, json.Unmarshal(claims, &session))
	for _, e := range all {
		if e["position"].(float64) <= last || e["accountId"] != string(r.account.AccountID) {
			t.Errorf("after %v: %v", last, e)
		}
		last = e["position"].(float64)
		types = append(types, e["type"].(string))
	}
	for _, want := range []string{"account.created", "session.created", "instrument.tokenized", "payment.created", "payment.captured", "payment.declined"} {
		if !slices.Contains(types, want) {
			t.Errorf("no %s in %v", want, types)
		}
	}
	text, err := json.Marshal(all)
	must(t, err)
	for _, secret := range []string{"Ada", "Lovelace", "ada@example.com", goodCard, declinedCard, token, `"box"`, "sha256", session.AccessToken, `"737"`, r.account.SigningSecret, r.account.DashboardUser} {
		if strings.Contains(string(text), secret) {
			t.Errorf("the events have %q: %s", secret, text)
		}
	}
	for _, limit := range []int{1, 3, 7} {
		if parts := r.eventPages("&limit=" + strconv.Itoa(limit)); fmt.Sprint(parts) != fmt.Sprint(all) {
			t.Errorf("pages of %d differ from the whole", limit)
		}
	}
	newest := r.want(r.get("/events?limit=1"), 200, "")
	if size := fmt.Sprint(r.events()); newest.header.Get("Payledger-Newest") != size {
		t.Errorf("the newest position is %q of %s", newest.header.Get("Payledger-Newest"), size)
	}
	middle := all[len(all)/2]["time"].(string)
	r.want(r.get("/events?from="+middle+"&to=2020-01-01T00:00:00Z"), 422, "RequestValidationError")
	selected := func(holds func(map[string]any) bool) string {
		return fmt.Sprint(slices.DeleteFunc(slices.Clone(all), func(e map[string]any) bool { return !holds(e) }))
	}
	for query, holds := range map[string]func(at string) bool{
		"&from=" + middle: func(at string) bool { return at >= middle }, "&to=" + middle: func(at string) bool { return at <= middle },
		"&from=" + middle + "&to=" + middle: func(at string) bool { return at == middle },
	} {
		if got, want := fmt.Sprint(r.eventPages("&limit=3"+query)), selected(func(e map[string]any) bool { return holds(e["time"].(string)) }); got != want || want == "[]" {
			t.Errorf("%s\n%s, want\n%s", query, got, want)
		}
	}
	if got, want := fmt.Sprint(r.eventPages("&paymentId="+id)), selected(func(e map[string]any) bool { return e["aggregateId"] == id }); got != want || want == "[]" {
		t.Errorf("of the payment\n%s, want\n%s", got, want)
	}
	if got, want := fmt.Sprint(r.eventPages("&types=payment.created,payment.declined&types=payment.captured")), selected(func(e map[string]any) bool {
		return slices.Contains([]string{"payment.created", "payment.declined", "payment.captured"}, e["type"].(string))
	}); got != want {
		t.Errorf("of the types\n%s, want\n%s", got, want)
	}
	after := strconv.Itoa(int(r.events()) + 100)
	for _, path := range []string{"/events", "/events/stream"} {
		r.want(r.get(path+"?types=payment.created,payment.exploded"), 422, "RequestValidationError")
		r.want(r.get(path+"?after="+after), 404, "EntityNotFound")
		r.want(r.get(path+"?paymentId=010000000000001111111111111"), 400, "PaymentError")
		r.want(r.do(request{method: "GET", path: path, header: map[string]string{"X-Api-Key": r.keyWith(account.ScopeTransactionsRetrieve)}}), 403, "MissingScope")
	}
	r.want(r.get("/events?limit=1001"), 422, "RequestValidationError")
	r.want(r.do(request{method: "GET", path: "/events/stream", header: map[string]string{"Last-Event-Id": "x"}}), 422, "RequestValidationError")
}

// message is one server-sent event; a comment has no field.
type message struct{ id, event, data string }

// follow opens a stream of events; next reads its messages until the stream ends.
func (r *rig) follow(last string) (status int, next func() (message, bool), leave func()) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+"/events/stream", nil)
	must(r.t, err)
	q.Header = http.Header{"X-Api-Key": {r.account.APIKey}, "X-Api-Version": {"2.4"}, "Last-Event-Id": {last}}
	a, err := http.DefaultTransport.RoundTrip(q)
	must(r.t, err)
	lines := bufio.NewReader(a.Body)
	next = func() (m message, ok bool) {
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return m, false
			}
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			switch name {
			case "id":
				m.id = value
			case "event":
				m.event = value
			case "data":
				m.data = value
			case "":
				if line == "\n" {
					return m, true
				}
			}
		}
	}
	return a.StatusCode, next, func() { cancel(); a.Body.Close() }
}

// event reads messages up to the next one with data.
func (r *rig) event(next func() (message, bool)) map[string]any {
	r.t.Helper()
	for {
		m, ok := next()
		if !ok {
			r.t.Fatal("the stream ended")
		}
		if m.data == "" {
			continue
		}
		var e map[string]any
		must(r.t, json.Unmarshal([]byte(m.data), &e))
		if m.event != e["type"] || m.id != strconv.Itoa(int(e["position"].(float64))) {
			r.t.Errorf("the message %s %s has %v", m.id, m.event, e)
		}
		return e
	}
}

// TestEventStream checks that a stream sends the events of GET /events, then each new one.
// Last-Event-ID continues after an event. A client that does not read delays no other client.
// Streams end in order when the service stops.
func TestEventStream(t *testing.T) {
	t.Parallel()
	r, closing := newFeedRig(t)
	r.paid(goodCard, "")
	r.positioned()
	all := r.eventPages("")
	_, _, leaveIdle := r.follow("0") // reads nothing
	defer leaveIdle()
	status, next, leave := r.follow("0")
	defer leave()
	if status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	for _, want := range all {
		if got := r.event(next); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("streamed %v, listed %v", got, want)
		}
	}
	_, resumed, leaveResumed := r.follow(strconv.Itoa(int(all[2]["position"].(float64))))
	defer leaveResumed()
	if got := r.event(resumed); fmt.Sprint(got) != fmt.Sprint(all[3]) {
		t.Errorf("continued with %v, want %v", got, all[3])
	}
	r.paid(goodCard, "")
	for {
		if e := r.event(next); e["type"] == "payment.authorized" {
			break
		}
	}
	close(closing)
	for {
		if _, ok := next(); !ok {
			break
		}
	}
}

// TestEventStreamCaps: a stream beyond the cap of an account is refused. The end of a stream makes
// room for another.
func TestEventStreamCaps(t *testing.T) {
	t.Parallel()
	r, _ := newFeedRig(t)
	r.positioned()
	var leaves []func()
	for range 32 {
		status, next, leave := r.follow("0")
		leaves = append(leaves, leave)
		if status != http.StatusOK {
			t.Fatalf("status %d", status)
		}
		r.event(next)
	}
	status, _, leave := r.follow("0")
	leave()
	if status != http.StatusServiceUnavailable {
		t.Errorf("stream 33 has the status %d", status)
	}
	for _, leave := range leaves {
		leave()
	}
	for { // the server notices at the next message
		status, _, leave := r.follow("0")
		leave()
		if status == http.StatusOK {
			return
		}
	}
}
