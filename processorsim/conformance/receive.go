package conformance

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

// delivery is a notification as it came.
type delivery struct {
	header http.Header
	body   []byte
	status int // the suite's answer
}

// receiver is the ledger's notification address.
type receiver struct {
	url    string
	server *http.Server
	ended  chan struct{}

	mu      sync.Mutex
	came    map[domain.PaymentID][]delivery
	refuse  map[domain.PaymentID]int // number of deliveries to answer with 503
	arrived chan struct{}            // closed and replaced at each delivery
}

func newReceiver(ctx context.Context, address, url string, name processor.Name) (*receiver, error) {
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
	r := &receiver{
		url: url + "/processors/" + string(name) + "/notifications", ended: make(chan struct{}),
		came: map[domain.PaymentID][]delivery{}, refuse: map[domain.PaymentID]int{}, arrived: make(chan struct{}),
	}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(r.ended)
		_ = r.server.Serve(listener) // ends with close
	}()
	return r, nil
}

func (r *receiver) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if r.server.Shutdown(ctx) != nil {
		_ = r.server.Close()
	}
	<-r.ended
}

// ServeHTTP takes a notification.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(io.LimitReader(request.Body, 2*protocol.MaxBody))
	if err != nil || request.Method != http.MethodPost {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	var named struct {
		Reference domain.PaymentID `json:"reference"`
	}
	_ = json.Unmarshal(body, &named) // a body without a reference is kept under ""
	d := delivery{header: request.Header.Clone(), body: body, status: http.StatusOK}
	r.mu.Lock()
	if r.refuse[named.Reference] > 0 {
		r.refuse[named.Reference]--
		d.status = http.StatusServiceUnavailable
	}
	r.came[named.Reference] = append(r.came[named.Reference], d)
	close(r.arrived)
	r.arrived = make(chan struct{})
	r.mu.Unlock()
	w.WriteHeader(d.status)
}

// of returns the notifications about a payment.
func (r *receiver) of(reference domain.PaymentID) []delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]delivery(nil), r.came[reference]...)
}

// all returns the notifications about all payments.
func (r *receiver) all() (all []delivery) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range r.came {
		all = append(all, of...)
	}
	return all
}

// refuseNext answers the next n notifications about a payment with 503.
func (r *receiver) refuseNext(reference domain.PaymentID, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuse[reference] = n
}

// next is closed when the next notification arrives.
func (r *receiver) next() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.arrived
}
