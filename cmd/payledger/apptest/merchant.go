package apptest

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

// Merchant calls the API as a merchant's backend and its customer's browser do.
type Merchant struct {
	API, Key string
	Cvv      string // "": one that matches
	Client   *http.Client
	Patience *atomic.Int64 // how many more requests call repeats because the store was too slow to record them; nil: none
}

// NewMerchant returns a merchant with an API key.
func NewMerchant(api, key string) *Merchant {
	return &Merchant{API: api, Key: key, Client: &http.Client{
		Timeout:   2 * time.Minute,
		Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true},
	}}
}

// DeclinedCard is a card of the simulator's table (D13).
const DeclinedCard = "4000000000000002"

// Expires is the year in which cards expire.
var Expires = strconv.Itoa(time.Now().Year() + 3)

// Answer is a status with its body.
type Answer struct {
	Status int
	Body   []byte
	Header http.Header
}

// Decode decodes the body.
func (a Answer) Decode(t testing.TB, into any) {
	t.Helper()
	if err := json.Unmarshal(a.Body, into); err != nil {
		t.Fatalf("answer %d %s: %v", a.Status, a.Body, err)
	}
}

// PaymentAnswer has the fields of a payment that tests read.
type PaymentAnswer struct {
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

// ErrorAnswer is the error body (D3).
type ErrorAnswer struct {
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

// StoreIsSlow is less than the time after which the store refuses an append that waits. A service
// that refuses sooner has a fault.
const StoreIsSlow = 5 * time.Second

// Call sends one request, and with patience repeats it while nothing was recorded. An error is a
// connection that was cut.
func (m *Merchant) Call(method, path string, header map[string]string, body any) (Answer, error) {
	for {
		began := time.Now()
		a, err := m.send(method, path, header, body)
		if m.Patience == nil || time.Since(began) < StoreIsSlow || err != nil || a.Status != http.StatusServiceUnavailable || !bytes.Contains(a.Body, []byte("Nothing was recorded.")) ||
			m.Patience.Add(-1) < 0 {
			return a, err
		}
	}
}

func (m *Merchant) send(method, path string, header map[string]string, body any) (Answer, error) {
	var payload []byte
	switch b := body.(type) {
	case nil:
	case string:
		payload = []byte(b)
	default:
		payload, _ = json.Marshal(b)
	}
	request, err := http.NewRequest(method, m.API+path, bytes.NewReader(payload))
	if err != nil {
		return Answer{}, err
	}
	// Without it the client repeats a request with an idempotency key when a kept connection
	// breaks, and the test could not tell one request from two.
	request.GetBody = nil
	if len(payload) > 0 {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response, err := m.Client.Do(request)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return Answer{response.StatusCode, text, response.Header}, err
}

// Headers returns the headers of every call.
func (m *Merchant) Headers() map[string]string {
	return map[string]string{"X-API-KEY": m.Key, "X-API-VERSION": "2.4"}
}

// Must fails the test on anything but 200.
func (m *Merchant) Must(t testing.TB, method, path string, header map[string]string, body any) Answer {
	t.Helper()
	a, err := m.Call(method, path, header, body)
	if err != nil || a.Status != http.StatusOK {
		t.Fatalf("%s %s: %d %s %v", method, path, a.Status, a.Body, err)
	}
	return a
}

// Token opens a session for the order, in EUR, and tokenizes the card in it.
func (m *Merchant) Token(t testing.TB, order string, amount int64, card string) string {
	t.Helper()
	return m.TokenIn(t, "EUR", order, amount, card)
}

// TokenIn is token in any currency.
func (m *Merchant) TokenIn(t testing.TB, currency, order string, amount int64, card string) string {
	t.Helper()
	var session struct {
		ClientToken string `json:"clientToken"`
	}
	m.Must(t, "POST", "/client-session", m.Headers(), map[string]any{
		"orderId": order, "currencyCode": currency, "amount": amount,
		"customer": map[string]any{"email": "ada@example.com"}, "metadata": map[string]any{"order": order},
	}).Decode(t, &session)
	var tool struct {
		Token string `json:"token"`
	}
	cvv := cmp.Or(m.Cvv, "737")
	if strings.HasPrefix(card, "37") {
		cvv = "7373"
	}
	m.Must(t, "POST", "/payment-instruments", map[string]string{"X-Client-Token": session.ClientToken}, map[string]any{
		"paymentInstrument": map[string]any{
			"number": card, "cvv": cvv, "expirationMonth": "03", "expirationYear": Expires,
			"cardholderName": "Ada Lovelace",
		},
	}).Decode(t, &tool)
	return tool.Token
}

// Pay creates a payment under an idempotency key.
func (m *Merchant) Pay(token, key string) (Answer, error) {
	header := m.Headers()
	if key != "" {
		header["X-Idempotency-Key"] = key
	}
	return m.Call("POST", "/payments", header, map[string]any{"paymentMethodToken": token})
}

// Read reads a payment.
func (m *Merchant) Read(t testing.TB, id string) (PaymentAnswer, []byte) {
	t.Helper()
	a := m.Must(t, "GET", "/payments/"+id, m.Headers(), nil)
	var p PaymentAnswer
	a.Decode(t, &p)
	return p, a.Body
}
