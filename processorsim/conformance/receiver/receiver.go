package receiver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// Delivery is a notification as it came.
type Delivery struct {
	Header http.Header
	Body   []byte
	Status int // the receiver's answer
}

// Receiver is the ledger's notification address.
type Receiver struct {
	URL    string // as the connector reaches it
	server *http.Server
	ended  chan struct{}

	mu      sync.Mutex
	came    map[domain.PaymentID][]Delivery
	refuse  map[domain.PaymentID]int // number of deliveries to answer with 503
	arrived chan struct{}            // closed and replaced at each delivery
}

// New listens at an address for notifications of a processor; "" is a free port of 127.0.0.1. url
// is the address as the connector reaches it; "" is http and the address.
func New(ctx context.Context, address, url string, name processor.Name) (*Receiver, error) {
	if address == "" {
		address = "127.0.0.1:0"
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("the address for notifications: %w", err)
	}
	if url == "" {
		url = "http://" + listener.Addr().String()
	}
	r := &Receiver{
		URL: url + "/processors/" + string(name) + "/notifications", ended: make(chan struct{}),
		came: map[domain.PaymentID][]Delivery{}, refuse: map[domain.PaymentID]int{}, arrived: make(chan struct{}),
	}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(r.ended)
		_ = r.server.Serve(listener) // ends with Close
	}()
	return r, nil
}

// Close ends the server.
func (r *Receiver) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if r.server.Shutdown(ctx) != nil {
		_ = r.server.Close()
	}
	<-r.ended
}

// ServeHTTP takes a notification.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(io.LimitReader(request.Body, 2*protocol.MaxBody))
	if err != nil || request.Method != http.MethodPost {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	var named struct {
		Reference domain.PaymentID `json:"reference"`
	}
	_ = json.Unmarshal(body, &named) // a body without a reference is kept under ""
	d := Delivery{Header: request.Header.Clone(), Body: body, Status: http.StatusOK}
	r.mu.Lock()
	if r.refuse[named.Reference] > 0 {
		r.refuse[named.Reference]--
		d.Status = http.StatusServiceUnavailable
	}
	r.came[named.Reference] = append(r.came[named.Reference], d)
	close(r.arrived)
	r.arrived = make(chan struct{})
	r.mu.Unlock()
	w.WriteHeader(d.Status)
}

// Of returns the notifications about a payment.
func (r *Receiver) Of(reference domain.PaymentID) []Delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Delivery(nil), r.came[reference]...)
}

// All returns the notifications about all payments.
func (r *Receiver) All() (all []Delivery) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range r.came {
		all = append(all, of...)
	}
	return all
}

// RefuseNext answers the next n notifications about a payment with 503.
func (r *Receiver) RefuseNext(reference domain.PaymentID, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuse[reference] = n
}

// Next is closed when the next notification arrives.
func (r *Receiver) Next() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.arrived
}
