package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// merchant is the merchant's backend (with an API key) and its customer's browser (with a client token).
type merchant struct {
	api    string
	apiKey string
	run    string // ends orders and idempotency keys
	out    *printer
	client http.Client
}

// apiVersion is the API version of the story's requests (§9).
const apiVersion = "2.4"

// call sends a request, prints it with its status, and decodes the answer into `into`. note returns a text about the answer.
func (m *merchant) call(ctx context.Context, method, path string, header http.Header, body, into any, note func() string) error {
	var payload []byte
	if body != nil {
		var err error
		if payload, err = json.Marshal(body); err != nil {
			return err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, m.api+path, bytes.NewReader(payload))
	if err != nil {
		return err
	}
	request.Header = header
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	return m.send(request, path, into, note)
}

func (m *merchant) quiet() *merchant {
	return &merchant{api: m.api, apiKey: m.apiKey, run: m.run, out: &printer{io.Discard}}
}

func (m *merchant) peek(ctx context.Context, id string) (payment, error) {
	return m.quiet().read(ctx, id)
}

func (m *merchant) send(request *http.Request, path string, into any, note func() string) error {
	method := request.Method
	start := time.Now()
	answer, err := m.client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 4<<20))
	if err != nil {
		return err
	}
	took := time.Since(start)
	if answer.StatusCode != http.StatusOK {
		m.out.request(method, path, answer.StatusCode, took, "")
		return fmt.Errorf("%s %s answered %d: %s", method, path, answer.StatusCode, text)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	m.out.request(method, path, answer.StatusCode, took, note())
	return nil
}

// backend are the headers of the merchant's own calls (§5.1).
func (m *merchant) backend() http.Header {
	h := http.Header{}
	h.Set("X-Api-Key", m.apiKey)
	h.Set("X-Api-Version", apiVersion)
	return h
}

// browser are the headers of the customer's browser (D12).
func (m *merchant) browser(clientToken string) http.Header {
	h := http.Header{}
	h.Set("X-Client-Token", clientToken)
	return h
}

func (m *merchant) clientSession(ctx context.Context, order string, amount int64, article string) (string, error) {
	var session struct {
		ClientToken string `json:"clientToken"`
		Expires     string `json:"clientExpirationDate"`
	}
	err := m.call(ctx, http.MethodPost, "/client-session", m.backend(), map[string]any{
		"orderId": order + m.run, "currencyCode": "EUR",
		"order": map[string]any{"lineItems": []any{
			map[string]any{"itemId": "sku-1", "name": article, "amount": amount, "quantity": 1, "productType": "PHYSICAL"},
		}},
		"customer": map[string]any{"email": "ada@example.com"},
		"metadata": map[string]any{"channel": "demo"},
	}, &session, func() string { return "client token for the checkout, good until " + session.Expires })
	return session.ClientToken, err
}

func (m *merchant) tokenize(ctx context.Context, clientToken, number string) (string, error) {
	var instrument struct {
		Token string `json:"token"`
		Data  struct {
			Network string `json:"network"`
			Last4   string `json:"last4Digits"`
		} `json:"paymentMethodData"`
	}
	err := m.call(ctx, http.MethodPost, "/payment-instruments", m.browser(clientToken), map[string]any{
		"paymentInstrument": map[string]any{
			"number": number, "cvv": "737", "expirationMonth": "03",
			"expirationYear": fmt.Sprint(time.Now().Year() + 3), "cardholderName": "Ada Lovelace",
		},
	}, &instrument, func() string {
		return fmt.Sprintf("%s •••• %s is token %s", instrument.Data.Network, instrument.Data.Last4, instrument.Token)
	})
	return instrument.Token, err
}

// event has the checked fields of an entry of a payment's history.
type event struct {
	Revision int    `json:"revision"`
	Type     string `json:"type"`
	Actor    string `json:"actor"`
	Hash     string `json:"hash"`
}

func (e event) String() string { return fmt.Sprintf("%d %s", e.Revision, e.Type) }

func (m *merchant) history(ctx context.Context, id string) ([]event, error) {
	var list struct {
		Data []event `json:"data"`
	}
	err := m.call(ctx, http.MethodGet, "/payments/"+id+"/events", m.backend(), nil, &list, func() string {
		return fmt.Sprintf("%d events in the ledger", len(list.Data))
	})
	return list.Data, err
}

// subscribe registers the receiver for every kind of webhook, and returns the endpoint's id.
func (m *merchant) subscribe(ctx context.Context, url string) (string, error) {
	var endpoint struct {
		ID string `json:"id"`
	}
	err := m.call(ctx, http.MethodPost, "/management/webhook-endpoints", m.backend(), map[string]any{
		"url": url, "description": "the demo's receiver",
	}, &endpoint, func() string { return "webhooks of every kind go to " + url })
	return endpoint.ID, err
}

// unsubscribe deletes the endpoint without output: its receiver closes.
func (m *merchant) unsubscribe(ctx context.Context, id string) error {
	var deleted struct{}
	quiet := m.quiet()
	return quiet.call(ctx, http.MethodDelete, "/management/webhook-endpoints/"+id, m.backend(), nil, &deleted, func() string { return "" })
}
