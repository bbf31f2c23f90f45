package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"payledger/domain"
	"payledger/httpapi/client"
)

// service is a service under load: payledger, or the service that --yardstick names, with the
// objects that the run made there.
type service struct {
	url, key  string
	address   string   // host and port of the URL
	peers     []string // host and port of each further node
	metrics   string   // where its metrics are; "": nowhere
	customers []string // of the vaulted tokens
	tokens    []string
	payments  []string // for the scenario read

	processes []process // whose CPU time counts, too

	run      string // makes the orders and keys of this run its own
	inbox    *receiver
	endpoint string // id of the webhook endpoint of this run
	mu       sync.Mutex
	began    map[string]time.Time // payments whose webhook is awaited, by id
}

func addressOf(flag, text string) (string, error) {
	u, err := url.Parse(text)
	switch {
	case err == nil && u.Scheme == "https":
		return "", fmt.Errorf("%s %q is https, and bench sends plain http: name the server's own address, behind the proxy that ends TLS", flag, text)
	case err != nil || u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || strings.Trim(u.Path, "/") != "":
		return "", fmt.Errorf("%s %q must be like http://127.0.0.1:8080", flag, text)
	case u.Port() == "":
		return u.Host + ":80", nil
	}
	return u.Host, nil
}

type answerError struct {
	call   string
	status int
	body   string
}

// Error returns the call, the status, and the server's own words (D3) or the beginning of the body.
func (e answerError) Error() string {
	var decoded struct {
		Error struct {
			ErrorID, Description, RecoverySuggestion string
		}
	}
	text := domain.Beginning(e.body, 300)
	if json.Unmarshal([]byte(e.body), &decoded) == nil && decoded.Error.ErrorID != "" {
		text = strings.TrimSpace(decoded.Error.ErrorID + ": " + decoded.Error.Description + " " + decoded.Error.RecoverySuggestion)
	}
	return fmt.Sprintf("%s answered %d: %s", e.call, e.status, text)
}

func expect(w *wire, method, path, further, body string) ([]byte, error) {
	status, answer, err := w.call(method, path, further, body)
	if err == nil && status != http.StatusOK {
		return nil, answerError{method + " " + path, status, string(answer)}
	}
	return answer, err
}

// card is the card of every payment; the simulator approves it (D13).
func card(flow string) string {
	return fmt.Sprintf(`{"paymentInstrument":{"number":"4111111111111111","cvv":"123","expirationMonth":"12","expirationYear":"%d","cardholderName":"Ada Lovelace"}%s}`,
		time.Now().Year()+3, flow)
}

const vaultedTokens = 64

// api returns a client of the service for the calls that are not measured.
func (s *service) api() *client.Client {
	return &client.Client{URL: s.url, APIKey: s.key, HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
}

func (s *service) vault(ctx context.Context, run string) error {
	api := s.api()
	for i := range vaultedTokens {
		customer := fmt.Sprintf("bench-%s-%d", run, i)
		token, err := tokenize(ctx, api, "vault-"+customer, customer)
		if err != nil {
			return err
		}
		s.customers, s.tokens = append(s.customers, customer), append(s.tokens, token)
	}
	return nil
}

// tokenize opens a session of a customer, and exchanges the card for a token that can pay many
// times.
func tokenize(ctx context.Context, api *client.Client, order, customer string) (string, error) {
	client, err := api.OpenSession(ctx, map[string]any{"orderId": order, "currencyCode": "EUR", "amount": 2500, "customerId": customer})
	if err != nil {
		return "", fmt.Errorf("POST /client-session: %w", err)
	}
	var instrument struct {
		Token string `json:"token"`
	}
	body := json.RawMessage(card(`,"tokenType":"MULTI_USE","paymentFlow":"VAULT"`))
	err = api.Browser(ctx, client, "/payment-instruments", body, &instrument)
	if err == nil && instrument.Token == "" {
		err = errors.New("the answer has no token")
	}
	if err != nil {
		return "", fmt.Errorf("POST /payment-instruments: %w", err)
	}
	return instrument.Token, nil
}

// pay creates a payment with a vaulted token, and returns its id. number and run make its order and
// its idempotency key.
func (s *service) pay(w *wire, run string, number int64) (id string, err error) {
	at := int(number) % len(s.tokens)
	order := run + "-" + strconv.FormatInt(number, 10)
	answer, err := expect(w, "POST", "/payments", idempotent("bench-"+order), `{"paymentMethodToken":"`+s.tokens[at]+
		`","customerId":"`+s.customers[at]+`","orderId":"`+order+`","currencyCode":"EUR","amount":2500}`)
	if err != nil {
		return "", err
	}
	if id = textOf(answer, "id"); id == "" || !bytes.Contains(answer, []byte(`"status":"AUTHORIZED"`)) {
		return "", answerError{"POST /payments", http.StatusOK, string(answer)}
	}
	return id, nil
}

type used struct {
	cpu       time.Duration
	events    uint64                   // of its log
	processes map[string]time.Duration // CPU time, by name
}

// add adds the difference between two readings.
func (u *used) add(before, after used) {
	u.cpu += after.cpu - before.cpu
	u.events += after.events - before.events
	for name, cpu := range after.processes {
		if u.processes == nil {
			u.processes = map[string]time.Duration{}
		}
		u.processes[name] += cpu - before.processes[name]
	}
}

func (s *service) used(ctx context.Context) (u used, err error) {
	if u.processes, err = cpuOf(s.processes); err != nil || s.metrics == "" {
		return u, err
	}
	ctx, cancel := context.WithTimeout(ctx, cleanupPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(s.metrics, "/")+"/metrics", nil)
	if err != nil {
		return u, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return u, err
	}
	defer answer.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(answer.Body); err != nil {
		return u, err
	}
	if answer.StatusCode != http.StatusOK {
		return u, fmt.Errorf("GET %s answered %d", request.URL, answer.StatusCode)
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
