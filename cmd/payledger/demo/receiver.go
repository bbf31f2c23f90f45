package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"payledger/httpapi/client"
	"payledger/notifier/signature"
)

// webhook has the checked fields of a webhook's body (D17).
type webhook struct {
	EventType string         `json:"eventType"`
	SignedAt  string         `json:"signedAt"`
	Sequence  int            `json:"sequence"`
	Payment   client.Payment `json:"payment"`
	Amount    int64          `json:"requestAmount"` // of a failed operation (§6.3)
	PaymentID string         `json:"paymentId"`     // of a dispute (§6.4)
	OrderID   string         `json:"orderId"`       // of a dispute
	Status    string         `json:"status"`        // of a dispute
}

func (h webhook) hook() hook { return hook{h.EventType, h.Payment.Status} }

func (h webhook) String() string { return h.hook().String() }

// about returns the webhook with a dispute's payment id and status in the payment.
func (h webhook) about() webhook {
	if h.PaymentID != "" {
		h.Payment.ID, h.Payment.Status, h.Payment.OrderID = h.PaymentID, h.Status, h.OrderID
	}
	return h
}

// receiver is the merchant's webhook endpoint: it verifies every request and queues the webhooks.
type receiver struct {
	url      string
	secret   string
	run      string // ends the orders of the story
	server   *http.Server
	webhooks chan webhook
	refused  chan error
}

func newReceiver(ctx context.Context, secret, run string) (*receiver, error) {
	r := &receiver{secret: secret, run: run, webhooks: make(chan webhook, 16), refused: make(chan error, 16)}
	url, server, err := serve(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("webhook receiver: %w", err)
	}
	r.url, r.server = url+"/webhooks", server
	return r, nil
}

func serve(ctx context.Context, handler http.Handler) (url string, server *http.Server, err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server = &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	go server.Serve(listener) //nolint:errcheck // ends with Close
	return "http://" + listener.Addr().String(), server, nil
}

// ServeHTTP answers 200 to a verified webhook, and 400 to any other request.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	h, err := readWebhook(request, r.secret)
	if err != nil {
		r.refused <- err
		http.Error(w, "not verified", http.StatusBadRequest)
		return
	}
	if h = h.about(); strings.HasSuffix(h.Payment.OrderID, r.run) {
		r.webhooks <- h
	}
}

func readWebhook(r *http.Request, secret string) (h webhook, err error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err == nil {
		err = signature.Verify(r.Header, body, time.Now(), secret)
	}
	if err == nil {
		err = json.Unmarshal(body, &h)
	}
	return h, err
}

func (r *receiver) left() (all []webhook, err error) {
	for {
		select {
		case err := <-r.refused:
			return nil, notVerified(err)
		case h := <-r.webhooks:
			all = append(all, h)
		default:
			return all, nil
		}
	}
}

func notVerified(err error) error { return fmt.Errorf("a webhook did not verify: %w", err) }

func (r *receiver) close() error { return r.server.Close() }
