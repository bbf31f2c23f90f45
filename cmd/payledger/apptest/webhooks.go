package apptest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"payledger/cmd/payledger/app"
)

// Buys makes a payment.
func Buys(t *testing.T, m *Merchant, order string) (p PaymentAnswer) {
	t.Helper()
	made, err := m.Pay(m.Token(t, order, 1000, "4111111111111111"), "")
	if err != nil {
		t.Fatal(err)
	}
	made.Decode(t, &p)
	return p
}

// serverEvents is an open stream of server-sent events.
type serverEvents struct{ Lines *bufio.Reader }

// Stream opens a stream of server-sent events for the test's life.
func (m *Merchant) Stream(t *testing.T, path string) *serverEvents {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, m.API+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-API-Key", m.Key)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%s: %d", path, answer.StatusCode)
	}
	return &serverEvents{bufio.NewReader(answer.Body)}
}

// Message returns the data of the next message, which must be of a type.
func (s *serverEvents) Message(t *testing.T, kind string) []byte {
	t.Helper()
	is := ""
	for {
		line, err := s.Lines.ReadString('\n')
		if err != nil {
			t.Fatalf("waiting for %s: %v", kind, err)
		}
		if name, found := strings.CutPrefix(line, "event: "); found {
			is = strings.TrimSpace(name)
		}
		if data, found := strings.CutPrefix(line, "data: "); found {
			if is != kind {
				t.Fatalf("a message %s instead of %s: %s", is, kind, data)
			}
			return []byte(data)
		}
	}
}

// Replayed is a replay as it is answered.
type Replayed struct {
	ID    string `json:"id"`
	State string `json:"state"`
	Count int    `json:"count"`
	Done  int    `json:"done"`
}

// ReadReplay returns a replay.
func ReadReplay(t *testing.T, m *Merchant, id string) (r Replayed) {
	t.Helper()
	m.Must(t, "GET", "/management/webhook-replays/"+id, m.Headers(), nil).Decode(t, &r)
	return r
}

// AllSucceeded waits until all n deliveries to an endpoint have succeeded.
func AllSucceeded(t *testing.T, m *Merchant, endpoint string, n int) {
	t.Helper()
	var list struct {
		Data []struct {
			Outcome      string `json:"outcome"`
			AttemptCount int    `json:"attemptCount"`
		} `json:"data"`
	}
	query := url.Values{"endpointId": {endpoint}, "outcome": {"SUCCEEDED"}, "limit": {fmt.Sprint(n)}}
	Eventually(t, func() bool {
		m.Must(t, "GET", "/management/webhook-deliveries?"+query.Encode(), m.Headers(), nil).Decode(t, &list)
		return len(list.Data) == n
	})
}

// Eventually waits until is reports true.
func Eventually(t testing.TB, is func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(SettleDeadline); !is(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("it does not come to be")
		}
	}
}

// TryToken is token; false when a connection is cut.
func (m *Merchant) TryToken(order string, amount int64, card string) (string, bool) {
	var session struct {
		ClientToken string `json:"clientToken"`
	}
	a, err := m.Call("POST", "/client-session", m.Headers(), map[string]any{"orderId": order, "currencyCode": "EUR", "amount": amount})
	if err != nil || json.Unmarshal(a.Body, &session) != nil {
		return "", false
	}
	var tool struct {
		Token string `json:"token"`
	}
	a, err = m.Call("POST", "/payment-instruments", map[string]string{"X-Client-Token": session.ClientToken}, map[string]any{
		"paymentInstrument": map[string]any{
			"number": card, "cvv": "737", "expirationMonth": "03", "expirationYear": Expires, "cardholderName": "Ada Lovelace",
		},
	})
	if err != nil || json.Unmarshal(a.Body, &tool) != nil {
		return "", false
	}
	return tool.Token, tool.Token != ""
}

// ReadAsGiven compares all events of a user's stream with those of GET /events.
func (m *Merchant) ReadAsGiven(t *testing.T, app *app.App, stream jetstream.Stream) {
	t.Helper()
	var page struct {
		Data []json.RawMessage `json:"data"`
	}
	size := Events(t, app)
	Eventually(t, func() bool { return app.Feed.Position() >= size })
	m.Must(t, "GET", "/events?limit=1000", m.Headers(), nil).Decode(t, &page)
	consumer, err := stream.OrderedConsumer(t.Context(), jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	batch, err := consumer.Fetch(len(page.Data), jetstream.FetchMaxWait(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for message := range batch.Messages() {
		var e struct{ Position uint64 }
		if err := json.Unmarshal(message.Data(), &e); err != nil {
			t.Fatal(err)
		}
		at, err := message.Metadata()
		if err != nil || at.Sequence.Stream != e.Position || string(page.Data[n]) != string(message.Data()) {
			t.Fatalf("message %d, %v, is\n%s\nGET /events has\n%s", n, err, message.Data(), page.Data[n])
		}
		n++
	}
	if batch.Error() != nil || n != len(page.Data) || n == 0 {
		t.Errorf("%d of %d events, %v", n, len(page.Data), batch.Error())
	}
	text := fmt.Sprintf("%s", page.Data)
	if !strings.Contains(text, `"account.analytics_user_created"`) || strings.Contains(text, "SU") && strings.Contains(text, "NKEY") {
		t.Error("the events lack the user, or have its seed")
	}
}
