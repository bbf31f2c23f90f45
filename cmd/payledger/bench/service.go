package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// service is a service under load: payledger, or the one that --yardstick names.
type service struct {
	url, key  string
	metrics   string   // where its metrics are; "": nowhere
	customers []string // of the vaulted tokens
	tokens    []string
	payments  []string // for the scenario read
}

// answerError is an answer that the scenario did not expect.
type answerError struct {
	call   string
	status int
	body   string
}

func (e answerError) Error() string {
	return fmt.Sprintf("%s answered %d: %s", e.call, e.status, e.body)
}

// expect sends a request and returns the body of the answer 200.
func expect(w *wire, method, path, further, body string) ([]byte, error) {
	status, answer, err := w.call(method, path, further, body)
	if err == nil && status != http.StatusOK {
		return nil, answerError{method + " " + path, status, string(answer[:min(len(answer), 500)])}
	}
	return answer, err
}

// card is the card of every payment; the simulator approves it (D13).
func card(flow string) string {
	return fmt.Sprintf(`{"paymentInstrument":{"number":"4111111111111111","cvv":"123","expirationMonth":"12","expirationYear":"%d","cardholderName":"Ada Lovelace"}%s}`,
		time.Now().Year()+3, flow)
}

// vaultedTokens is how many customers pay.
const vaultedTokens = 64

// vault makes customers with a vaulted card each.
func (s *service) vault(w *wire, run string) error {
	for i := range vaultedTokens {
		customer := fmt.Sprintf("bench-%s-%d", run, i)
		token, err := tokenize(w, "vault-"+customer, customer, `,"tokenType":"MULTI_USE","paymentFlow":"VAULT"`)
		if err != nil {
			return err
		}
		s.customers, s.tokens = append(s.customers, customer), append(s.tokens, token)
	}
	return nil
}

// tokenize opens a session and exchanges the card for a token.
func tokenize(w *wire, order, customer, flow string) (token string, err error) {
	answer, err := expect(w, "POST", "/client-session", "",
		`{"orderId":"`+order+`","currencyCode":"EUR","amount":2500,"customerId":"`+customer+`"}`)
	if err != nil {
		return "", err
	}
	var session struct{ ClientToken string }
	if err := json.Unmarshal(answer, &session); err != nil {
		return "", err
	}
	answer, err = expect(w, "POST", "/payment-instruments", "X-Client-Token: "+session.ClientToken+"\r\n", card(flow))
	if err != nil {
		return "", err
	}
	var instrument struct{ Token string }
	return instrument.Token, errors.Join(json.Unmarshal(answer, &instrument))
}

// pay creates a payment with a vaulted token, and returns its id. number and run make its order and its idempotency key.
func (s *service) pay(w *wire, run string, number int64) (id string, err error) {
	at := int(number) % len(s.tokens)
	order := run + "-" + strconv.FormatInt(number, 10)
	answer, err := expect(w, "POST", "/payments", "X-Idempotency-Key: bench-"+order+"\r\n", `{"paymentMethodToken":"`+s.tokens[at]+
		`","customerId":"`+s.customers[at]+`","orderId":"`+order+`","currencyCode":"EUR","amount":2500}`)
	if err != nil {
		return "", err
	}
	if !bytes.Contains(answer, []byte(`"status":"AUTHORIZED"`)) {
		return "", answerError{"POST /payments", http.StatusOK, string(answer)}
	}
	return idIn(answer, ""), nil
}

// used is what a service has used up so far.
type used struct {
	cpu    time.Duration
	events uint64 // of its log
}

// used reads the service's metrics. Without metrics it returns nothing.
func (s *service) used(ctx context.Context) (u used, err error) {
	if s.metrics == "" {
		return u, nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(s.metrics, "/")+"/metrics", nil)
	if err != nil {
		return u, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return u, fmt.Errorf("metrics: %w", err)
	}
	defer answer.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(answer.Body); err != nil {
		return u, fmt.Errorf("metrics: %w", err)
	}
	for line := range strings.Lines(text.String()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		number, err := strconv.ParseFloat(value, 64)
		switch {
		case err != nil:
		case name == "process_cpu_seconds_total":
			u.cpu = time.Duration(number * float64(time.Second))
		case name == "payledger_log_events":
			u.events = uint64(number)
		}
	}
	return u, nil
}
