package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Payment has the fields of the Payment JSON that commands read (D6).
type Payment struct {
	ID             string          `json:"id"`
	OrderID        string          `json:"orderId"`
	CustomerID     string          `json:"customerId"`
	Status         string          `json:"status"`
	StatusReason   *StatusReason   `json:"statusReason"`
	Amount         int64           `json:"amount"` // minor units
	CurrencyCode   string          `json:"currencyCode"`
	Date           time.Time       `json:"date"`
	DateUpdated    time.Time       `json:"dateUpdated"`
	RequiredAction *RequiredAction `json:"requiredAction"`
	Processor      *Processor      `json:"processor"`
	PaymentMethod  struct {
		Type string `json:"paymentMethodType"`
		Data struct {
			Network     string `json:"network"`
			Last4Digits string `json:"last4Digits"`
		} `json:"paymentMethodData"`
	} `json:"paymentMethod"`
	Transactions []Transaction `json:"transactions"`
}

// StatusReason says why a payment or a transaction has its status.
type StatusReason struct {
	Type          string `json:"type"`
	DeclineType   string `json:"declineType"`
	Code          string `json:"code"`
	Message       string `json:"message"`
	AdvisedAction string `json:"advisedAction"`
}

// RequiredAction is what the customer must do before the payment goes on.
type RequiredAction struct {
	Name        string `json:"name"`
	ClientToken string `json:"clientToken"` // of the customer's browser
}

// Processor is the processor that has a payment, with the moved money in minor units.
type Processor struct {
	Name           string `json:"name"`
	MerchantID     string `json:"processorMerchantId"`
	AmountCaptured int64  `json:"amountCaptured"`
	AmountRefunded int64  `json:"amountRefunded"`
}

// Transaction is a sale or a refund of a payment. Events are only in an answer with
// expand=transactions.events.
type Transaction struct {
	Type          string        `json:"transactionType"`
	Date          time.Time     `json:"date"`
	Amount        int64         `json:"amount"` // minor units
	CurrencyCode  string        `json:"currencyCode"`
	Status        string        `json:"processorStatus"`
	StatusReason  *StatusReason `json:"processorStatusReason"`
	Processor     string        `json:"processorName"`
	TransactionID string        `json:"processorTransactionId"`
	Reason        string        `json:"reason"`
	Events        []struct {
		ID     string    `json:"id"`
		Type   string    `json:"type"`
		Date   time.Time `json:"date"`
		Amount int64     `json:"amount"`
	} `json:"events"`
}

type page[T any] struct {
	Data       []T    `json:"data"`
	NextCursor string `json:"nextCursor"`
}

const pageLimit = "100"

// List calls handle with each element of a list that has cursors, page by page, until handle
// returns false or the list ends.
func List[T any](ctx context.Context, c *Client, path string, query url.Values, handle func(T) bool) error {
	query = url.Values(http.Header(query).Clone())
	if query == nil {
		query = url.Values{}
	}
	if query.Get("limit") == "" {
		query.Set("limit", pageLimit)
	}
	for {
		var p page[T]
		if err := c.Get(ctx, path, query, &p); err != nil {
			return err
		}
		for _, element := range p.Data {
			if !handle(element) {
				return nil
			}
		}
		if p.NextCursor == "" {
			return nil
		}
		query.Set("cursor", p.NextCursor)
	}
}

// Payment reads a payment with the events of its transactions.
func (c *Client) Payment(ctx context.Context, id string) (p Payment, err error) {
	return p, c.Get(ctx, "/payments/"+url.PathEscape(id), url.Values{"expand": {"transactions.events"}}, &p)
}

// Operate sends an operation on a payment, and returns the payment after it. operation is the last
// part of the path: capture, refund, cancel, resume or adjust-authorization. key makes a repeat
// safe (D9).
func (c *Client) Operate(ctx context.Context, id, operation, key string, body any) (p Payment, err error) {
	return p, c.Call(ctx, Request{Method: http.MethodPost, Path: "/payments/" + url.PathEscape(id) + "/" + operation, Body: body, IdempotencyKey: key}, &p)
}

// CreatePayment pays with a payment method token. Fields that body lacks come from the session.
func (c *Client) CreatePayment(ctx context.Context, key string, body any) (p Payment, err error) {
	return p, c.Call(ctx, Request{Method: http.MethodPost, Path: "/payments", Body: body, IdempotencyKey: key}, &p)
}

// OpenSession opens a client session, and returns the token of the customer's browser.
func (c *Client) OpenSession(ctx context.Context, body any) (clientToken string, err error) {
	var made struct {
		ClientToken string `json:"clientToken"`
	}
	err = c.Post(ctx, "/client-session", body, &made)
	return made.ClientToken, err
}

// Browser sends a request of the customer's browser.
func (c *Client) Browser(ctx context.Context, clientToken, path string, body, into any) error {
	return c.Call(ctx, Request{Method: http.MethodPost, Path: path, Body: body, ClientToken: clientToken}, into)
}
