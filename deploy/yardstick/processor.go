package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// processors calls the processors at a URL, with the protocol of payledger's simulator.
type processors struct {
	url    string
	client *http.Client
}

const (
	processorTimeout = 90 * time.Second
	maxAnswer        = 64 << 10
)

func newProcessors(url string) *processors {
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	return &processors{
		url: strings.TrimSuffix(url, "/") + "/v1/processors/" + processorName + "/operations",
		client: &http.Client{
			Timeout:       processorTimeout,
			Transport:     &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 512, IdleConnTimeout: 30 * time.Second, DisableCompression: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// operation is a request to a processor. Its fields have the order in which payledger writes them.
type operation struct {
	Kind              string        `json:"operation"`
	MerchantID        string        `json:"processorMerchantId"`
	Reference         string        `json:"reference"`
	Amount            int64         `json:"amount"`
	Currency          string        `json:"currency"`
	Card              operationCard `json:"card"`
	AuthorizationType string        `json:"authorizationType"`
}

type operationCard struct {
	Number          string `json:"number"`
	ExpirationMonth string `json:"expirationMonth"`
	ExpirationYear  string `json:"expirationYear"`
	CardholderName  string `json:"cardholderName"`
}

// outcome is the answer of a processor that ends a payment's authorization.
type outcome struct {
	status        string
	transactionID string
	body          []byte // the answer itself
}

// authorize requests an authorization. A repeat has the same key, and gets the outcome of the first
// request. An error leaves the outcome unknown.
func (p *processors) authorize(ctx context.Context, payment *payment) (o outcome, err error) {
	body, err := json.Marshal(operation{
		Kind: "authorize", MerchantID: merchantID, Reference: payment.ID.String(), Amount: payment.Amount, Currency: payment.CurrencyCode,
		Card: theCard, AuthorizationType: payment.Method.AuthorizationType,
	})
	if err != nil {
		return o, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		return o, err
	}
	request.GetBody = nil // net/http must not repeat it
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", payment.ID.String()+".1")
	response, err := p.client.Do(request)
	if err != nil {
		return o, err
	}
	defer response.Body.Close()
	if o.body, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer)); err != nil {
		return o, err
	}
	if response.StatusCode != http.StatusOK {
		return o, fmt.Errorf("the processor answered %d: %s", response.StatusCode, o.body[:min(len(o.body), 300)])
	}
	return o, o.read()
}

func (o *outcome) read() error {
	var answer struct{ State, ProcessorTransactionID string }
	if err := json.Unmarshal(o.body, &answer); err != nil {
		return fmt.Errorf("the processor's answer: %w", err)
	}
	o.status = map[string]string{"SUCCEEDED": approved, "DECLINED": declined, "FAILED": failedLast}[answer.State]
	o.transactionID = answer.ProcessorTransactionID
	if o.status == "" || o.status == approved && o.transactionID == "" {
		return fmt.Errorf("the processor answered state %q, which is no outcome here", answer.State)
	}
	return nil
}

// openPayments returns the store without a processor. With one, the payments of an earlier process
// that have no outcome get it first. life ends the payments under way.
func openPayments(ctx, life context.Context, s *store, url string) (creator, error) {
	if url == "" {
		return s, nil
	}
	d := &withProcessor{s, newProcessors(url), life}
	return d, d.resume(ctx)
}

// withProcessor makes a payment in two transactions with the call between them: the request is
// durable before the processor gets it, and the outcome before the client does.
type withProcessor struct {
	store      *store
	processors *processors
	life       context.Context // of the process
}

const requestStatement = `
with payment as (
  insert into payments (id, idempotency_key, created_at, status, order_id, customer_id, currency_code, amount)
  values ($1, nullif($2, ''), $3, $4, $5, $6, $7, $8)
)
insert into events (payment_id, revision, id, type, at, data) values ($1, 1, $9, 'AUTHORIZATION_REQUESTED', $3, $10)`

const outcomeStatement = `
with payment as (
  update payments set status = $2, document = $3 where id = $1 and status = 'PENDING' returning id
), event as (
  insert into events (payment_id, revision, id, type, at, data) select id, 2, $4, $5, $6, $7 from payment
)
insert into outbox (id, payment_id, event_type, created_at, due) select $4, id, $5, $6, $6 from payment`

// create answers with a PENDING payment if the outcome is unknown. The next start of yardstick
// finds it out.
func (w *withProcessor) create(ctx context.Context, key string, c creation) ([]byte, error) {
	now := time.Now().UTC().Truncate(time.Microsecond)
	data, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	p := requested(c, newID(now), now)
	_, err = w.store.pool.Exec(ctx, requestStatement, p.ID, key, now, p.Status, p.OrderID, p.CustomerID, p.CurrencyCode, p.Amount, newID(now), data)
	if err != nil {
		return nil, w.store.repetition(ctx, key, err)
	}
	ctx, cancel := w.detached(ctx)
	defer cancel()
	outcome, err := w.processors.authorize(ctx, p)
	if err != nil {
		fmt.Fprintln(os.Stderr, "yardstick: payment", p.ID.String(), "has no outcome:", err)
		return json.Marshal(p)
	}
	return w.settle(ctx, p, outcome)
}

// detached returns a context that goes on when the client goes away: the payment gets its outcome.
// It ends with yardstick.
func (w *withProcessor) detached(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	unbind := context.AfterFunc(w.life, cancel)
	return ctx, func() { unbind(); cancel() }
}

// settle writes the outcome, its event and its outbox row, and returns the answer.
func (w *withProcessor) settle(ctx context.Context, p *payment, o outcome) ([]byte, error) {
	now := time.Now().UTC().Truncate(time.Microsecond)
	p.settle(o.status, o.transactionID, now)
	document, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	done, err := w.store.pool.Exec(ctx, outcomeStatement, p.ID, p.Status, document, newID(now), statusEvent, now, o.body)
	if err == nil && done.RowsAffected() != 1 {
		err = errors.New("payment " + p.ID.String() + " has an outcome already")
	}
	return document, err
}

// resume sends the requests without an outcome again, under their keys.
func (w *withProcessor) resume(ctx context.Context) error {
	rows, err := w.store.pool.Query(ctx, `
select e.payment_id, e.at, e.data from payments p join events e on e.payment_id = p.id and e.revision = 1 where p.status = 'PENDING'`)
	if err != nil {
		return err
	}
	open, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (*payment, error) {
		var id uuid
		var at time.Time
		var data []byte
		if err := row.Scan(&id, &at, &data); err != nil {
			return nil, err
		}
		return pendingPayment(data, id, at)
	})
	if err != nil {
		return err
	}
	for _, p := range open {
		outcome, err := w.processors.authorize(ctx, p)
		if err == nil {
			_, err = w.settle(ctx, p, outcome)
		}
		if err != nil {
			return fmt.Errorf("payment %s has no outcome: %w", p.ID.String(), err)
		}
	}
	return nil
}

// pendingPayment makes a payment from the event of its request.
func pendingPayment(data []byte, id uuid, at time.Time) (*payment, error) {
	var c creation
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, err
	}
	return requested(c, id, at), nil
}

func pendingDocument(data []byte, id uuid, at time.Time) ([]byte, error) {
	p, err := pendingPayment(data, id, at)
	if err != nil {
		return nil, err
	}
	return json.Marshal(p)
}
