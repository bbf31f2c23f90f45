package demo

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"payledger/cmd/payledger/terminal"
	"payledger/httpapi/client"
)

// merchant is the merchant's backend (with an API key) and its customer's browser (with a client
// token).
type merchant struct {
	api    string
	apiKey string
	run    string // ends orders and idempotency keys
	out    *printer
	client http.Client
}

// call sends a request, prints it with its status, and decodes the answer into `into`. note returns
// a text about the answer.
func (m *merchant) call(ctx context.Context, r client.Request, into any, note func() string) error {
	status, took := 0, time.Duration(0)
	api := &client.Client{URL: m.api, APIKey: m.apiKey, HTTP: &m.client, Seen: func(_ client.Request, answered int, t time.Duration) { status, took = answered, t }}
	err := api.Call(ctx, r, into)
	if status == 0 {
		return err
	}
	if err != nil {
		m.out.request(r.Method, r.Path, status, took, "")
		return fmt.Errorf("%s %s answered %d: %w", r.Method, r.Path, status, err)
	}
	m.out.request(r.Method, r.Path, status, took, note())
	return nil
}

func (m *merchant) quiet() *merchant {
	return &merchant{api: m.api, apiKey: m.apiKey, run: m.run, out: &printer{io.Discard}}
}

// ask is call without output.
func (m *merchant) ask(ctx context.Context, r client.Request, into any) error {
	return m.quiet().call(ctx, r, into, func() string { return "" })
}

// page is an answer of the API with a list.
type page[T any] struct {
	Data []T `json:"data"`
}

// request returns a request of the merchant's backend (§5.1).
func request(method, path string, body any) client.Request {
	return client.Request{Method: method, Path: path, Body: body}
}

// browser returns a request of the customer's browser (D12).
func browser(clientToken, path string, body any) client.Request {
	return client.Request{Method: http.MethodPost, Path: path, Body: body, ClientToken: clientToken}
}

func (m *merchant) clientSession(ctx context.Context, order string, amount int64, article string) (string, error) {
	var session struct {
		ClientToken string `json:"clientToken"`
		Expires     string `json:"clientExpirationDate"`
	}
	err := m.call(ctx, request(http.MethodPost, "/client-session", map[string]any{
		"orderId": order + m.run, "currencyCode": "EUR",
		"order": map[string]any{"lineItems": []any{
			map[string]any{"itemId": "sku-1", "name": article, "amount": amount, "quantity": 1, "productType": "PHYSICAL"},
		}},
		"customer": map[string]any{"email": "ada@example.com"},
		"metadata": map[string]any{"channel": "demo"},
	}), &session, func() string { return "client token for the checkout, good until " + session.Expires })
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
	err := m.call(ctx, browser(clientToken, "/payment-instruments", map[string]any{
		"paymentInstrument": map[string]any{
			"number": number, "cvv": "737", "expirationMonth": "03",
			"expirationYear": fmt.Sprint(time.Now().Year() + 3), "cardholderName": "Ada Lovelace",
		},
	}), &instrument, func() string {
		return fmt.Sprintf("%s •••• %s is token %s", instrument.Data.Network, instrument.Data.Last4, instrument.Token)
	})
	return instrument.Token, err
}

func (m *merchant) history(ctx context.Context, id string) ([]audited, error) {
	var list page[audited]
	err := m.call(ctx, request(http.MethodGet, "/payments/"+id+"/events", nil), &list, func() string {
		return terminal.Count(len(list.Data), "event") + " in the ledger"
	})
	return list.Data, err
}

func (m *merchant) subscribe(ctx context.Context, url string) (string, error) {
	var endpoint struct {
		ID string `json:"id"`
	}
	err := m.call(ctx, request(http.MethodPost, "/management/webhook-endpoints", map[string]any{
		"url": url, "description": "the demo's receiver",
	}), &endpoint, func() string { return "webhooks of every kind go to " + url })
	return endpoint.ID, err
}
