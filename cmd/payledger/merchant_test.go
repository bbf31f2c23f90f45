package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// merchant calls the API as a merchant's backend and its customer's browser do.
type merchant struct {
	api, key string
	cvv      string // "": one that matches
	client   *http.Client
	patience *atomic.Int64 // how many more requests call repeats because the store was too slow to record them; nil: none
}

func newMerchant(api, key string) *merchant {
	return &merchant{api: api, key: key, client: &http.Client{
		Timeout:   2 * time.Minute,
		Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true},
	}}
}

// declinedCard is a card of the simulator's table (D13).
const declinedCard = "4000000000000002"

// expires is the year in which cards expire.
var expires = strconv.Itoa(time.Now().Year() + 3)

// answer is a status with its body.
type answer struct {
	status int
	body   []byte
	header http.Header
}

func (a answer) decode(t testing.TB, into any) {
	t.Helper()
	if err := json.Unmarshal(a.body, into); err != nil {
		t.Fatalf("answer %d %s: %v", a.status, a.body, err)
	}
}

// paymentAnswer has the fields of a payment that tests read.
type paymentAnswer struct {
	ID           string `json:"id"`
	Status       string `json:"status"`
	Amount       int64  `json:"amount"`
	DateUpdated  string `json:"dateUpdated"`
	StatusReason struct {
		Type string `json:"type"`
	} `json:"statusReason"`
	Processor struct {
		Name string `json:"name"`
	} `json:"processor"`
}

// errorAnswer is the error body (D3).
type errorAnswer struct {
	Error struct {
		ErrorID          string `json:"errorId"`
		PaymentID        string `json:"paymentId"`
		PaymentStatus    string `json:"paymentStatus"`
		DiagnosticsID    string `json:"diagnosticsId"`
		ValidationErrors []struct {
			Model  string `json:"model"`
			Errors []struct {
				Path        string `json:"path"`
				Description string `json:"description"`
			} `json:"errors"`
		} `json:"validationErrors"`
	} `json:"error"`
}

// storeIsSlow is less than the time after which the store refuses an append that waits. A service that refuses sooner has a fault.
const storeIsSlow = 5 * time.Second

// call sends one request, and with patience repeats it while nothing was recorded. An error is a connection that was cut.
func (m *merchant) call(method, path string, header map[string]string, body any) (answer, error) {
	for {
		began := time.Now()
		a, err := m.send(method, path, header, body)
		if m.patience == nil || time.Since(began) < storeIsSlow || err != nil || a.status != http.StatusServiceUnavailable || !bytes.Contains(a.body, []byte("Nothing was recorded.")) ||
			m.patience.Add(-1) < 0 {
			return a, err
		}
	}
}

func (m *merchant) send(method, path string, header map[string]string, body any) (answer, error) {
	var payload []byte
	switch b := body.(type) {
	case nil:
	case string:
		payload = []byte(b)
	default:
		payload, _ = json.Marshal(b)
	}
	request, err := http.NewRequest(method, m.api+path, bytes.NewReader(payload))
	if err != nil {
		return answer{}, err
	}
	// Without it the client repeats a request with an idempotency key when a kept connection breaks, and the test could not tell one request
	// from two.
	request.GetBody = nil
	if len(payload) > 0 {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response, err := m.client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, text, response.Header}, err
}

func (m *merchant) headers() map[string]string {
	return map[string]string{"X-API-KEY": m.key, "X-API-VERSION": "2.4"}
}

// must fails the test on anything but 200.
func (m *merchant) must(t testing.TB, method, path string, header map[string]string, body any) answer {
	t.Helper()
	a, err := m.call(method, path, header, body)
	if err != nil || a.status != http.StatusOK {
		t.Fatalf("%s %s: %d %s %v", method, path, a.status, a.body, err)
	}
	return a
}

// token opens a session for the order, in EUR, and tokenizes the card in it.
func (m *merchant) token(t testing.TB, order string, amount int64, card string) string {
	t.Helper()
	return m.tokenIn(t, "EUR", order, amount, card)
}

// tokenIn is token in any currency.
func (m *merchant) tokenIn(t testing.TB, currency, order string, amount int64, card string) string {
	t.Helper()
	var session struct {
		ClientToken string `json:"clientToken"`
	}
	m.must(t, "POST", "/client-session", m.headers(), map[string]any{
		"orderId": order, "currencyCode": currency, "amount": amount,
		"customer": map[string]any{"email": "ada@example.com"}, "metadata": map[string]any{"order": order},
	}).decode(t, &session)
	var tool struct {
		Token string `json:"token"`
	}
	cvv := cmp.Or(m.cvv, "737")
	if strings.HasPrefix(card, "37") {
		cvv = "7373"
	}
	m.must(t, "POST", "/payment-instruments", map[string]string{"X-Client-Token": session.ClientToken}, map[string]any{
		"paymentInstrument": map[string]any{
			"number": card, "cvv": cvv, "expirationMonth": "03", "expirationYear": expires,
			"cardholderName": "Ada Lovelace",
		},
	}).decode(t, &tool)
	return tool.Token
}

// pay creates a payment under an idempotency key.
func (m *merchant) pay(token, key string) (answer, error) {
	header := m.headers()
	if key != "" {
		header["X-Idempotency-Key"] = key
	}
	return m.call("POST", "/payments", header, map[string]any{"paymentMethodToken": token})
}

// read reads a payment.
func (m *merchant) read(t testing.TB, id string) (paymentAnswer, []byte) {
	t.Helper()
	a := m.must(t, "GET", "/payments/"+id, m.headers(), nil)
	var p paymentAnswer
	a.decode(t, &p)
	return p, a.body
}
