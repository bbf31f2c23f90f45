package httpapi

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/http/httptest"
	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/session"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/accounts"
	"payledger/eventstore/commands/instruments"
	"payledger/eventstore/commands/payments"
	"payledger/eventstore/commands/sessions"
	engine "payledger/eventstore/commands/workflows"
	"payledger/httpapi/request"
	"payledger/notifier"
	"slices"
	"strings"
	"testing"
	"time"
)

// bigPayment is a payment with everything that a shop sends.
const bigPayment = `{"paymentMethodToken": "01k3v9t7hq2m5c8z0x4w6n1r3b", "orderId": "order-1001", "currencyCode": "EUR", "amount": 2500,
"customerId": "customer-7", "customer": {"emailAddress": "ada@example.com", "firstName": "Ada", "lastName": "Lovelace",
 "mobileNumber": "+441234567890", "billingAddress": {"firstName": "Ada", "lastName": "Lovelace", "addressLine1": "12 Square",
 "city": "London", "countryCode": "GB", "postalCode": "W1J 7NT"}},
"order": {"lineItems": [{"itemId": "sku-1", "name": "Notebook", "amount": 1000, "quantity": 2, "productType": "PHYSICAL"},
 {"itemId": "sku-2", "name": "Pen", "amount": 500, "quantity": 1}], "countryCode": "GB", "shipping": {"amount": 0, "methodName": "Post"}},
"metadata": {"shop": "north", "attempt": 2, "gift": true}, "paymentMethod": {"descriptor": "NORTH SHOP", "authorizationType": "FINAL"},
"expand": ["transactions.events"]}`

const smallPayment = `{"paymentMethodToken": "01k3v9t7hq2m5c8z0x4w6n1r3b", "orderId": "order-1001", "currencyCode": "EUR", "amount": 2500}`

// testAPI has the operations and a fixed time. Its commands take every input and refuse it with
// errTaken.
func testAPI(t testing.TB) *API {
	t.Helper()
	operations, err := loadOperations()
	if err != nil {
		t.Fatal(err)
	}
	ofPayments, ofDisputes, err := notifier.Compilers()
	if err != nil {
		t.Fatal(err)
	}
	now, compilers := time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC), &engine.Engine{Config: engine.Config{Compiler: ofPayments, DisputeCompiler: ofDisputes}}
	a := &API{Config: Config{Environment: "sandbox", Now: func() time.Time { return now }, Commands: &taker{}, Workflows: compilers, Random: rand.Reader, CheckURL: func(context.Context, string) error { return nil }}, operations: operations}
	a.connect()
	return a
}

// postCall is a call as it comes to the guard JSON.
func (a *API) postCall(operationID, body string) *call {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	return &call{recorded: func() bool { return false }, api: a, r: r, w: httptest.NewRecorder(), route: a.route(operationID), operation: a.operations[operationID], Call: request.Call{Ctx: context.Background(), Header: r.Header}}
}

// accept runs the guards from JSON on.
func (c *call) accept() error {
	if err := c.readBody(); err != nil {
		return err
	}
	return c.validate()
}

// BenchmarkAccept measures the part of POST /payments before its command: read, parse, validate,
// decode.
func BenchmarkAccept(b *testing.B) {
	a := testAPI(b)
	for name, body := range map[string]string{"big": bigPayment, "small": smallPayment} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c := a.postCall("createPayment", body)
				if err := c.accept(); err != nil {
					b.Fatal(err)
				}
				if _, err := c.route.handle(c); !errors.Is(err, errTaken) {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("big/validate", func(b *testing.B) {
		c := a.postCall("createPayment", bigPayment)
		if err := c.readBody(); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if err := c.validate(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// route returns the route of an operation.
func (a *API) route(operationID string) route {
	i := slices.IndexFunc(a.table, func(r route) bool { return r.operation == operationID })
	return a.table[i]
}

// errTaken is how commands of a taker end.
var errTaken = domain.Refuse(domain.KindConflict, domain.ReasonConcurrentModification, "taken")

// taker keeps the last input of its commands.
type taker struct {
	Commands
	payment payments.PaymentInput
}

func (t *taker) CreatePayment(_ context.Context, _ commands.Caller, in payments.PaymentInput) (payment.State, error) {
	t.payment = in
	return payment.State{}, errTaken
}

func (t *taker) CreateSession(context.Context, commands.Caller, domain.SessionID, sessions.SessionInput) (session.State, error) {
	return session.State{}, errTaken
}

func (t *taker) Capture(context.Context, commands.Caller, domain.PaymentID, payment.Capture) (payment.State, error) {
	return payment.State{}, errTaken
}

func (t *taker) Refund(context.Context, commands.Caller, domain.PaymentID, payment.Refund) (payment.State, error) {
	return payment.State{}, errTaken
}

func (t *taker) Tokenize(context.Context, commands.Caller, instruments.TokenizeInput) (instrument.State, error) {
	return instrument.State{}, errTaken
}

func (t *taker) CreateAPIKey(context.Context, commands.Caller, account.APIKey) (account.APIKey, string, error) {
	return account.APIKey{}, "", errTaken
}

func (t *taker) CreateEndpoint(context.Context, commands.Caller, accounts.EndpointInput) (account.Endpoint, error) {
	return account.Endpoint{}, errTaken
}
