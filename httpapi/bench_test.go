package httpapi

import (
	"net/http"
	"net/http/httptest"
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

// testAPI knows the operations and the time, and nobody to pass a request on to.
func testAPI(t testing.TB) *API {
	t.Helper()
	operations, err := loadOperations()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)
	return &API{Config: Config{Environment: "sandbox", Now: func() time.Time { return now }}, operations: operations}
}

// postCall is a call as it comes to the guard JSON.
func (a *API) postCall(operationID, body string) *call {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	return &call{api: a, r: r, w: httptest.NewRecorder(), route: route{operation: operationID}, operation: a.operations[operationID]}
}

// accept runs the guards from JSON on.
func (c *call) accept() error {
	if err := c.readBody(); err != nil {
		return err
	}
	return c.validate()
}

// BenchmarkAccept is what POST /payments costs before its command: read, parse, validate, decode.
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
				if _, err := decode[paymentRequest](c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("big/parse", func(b *testing.B) {
		for b.Loop() {
			if _, err := parseObject([]byte(bigPayment)); err != nil {
				b.Fatal(err)
			}
		}
	})
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
