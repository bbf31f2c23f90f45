package api_test

import (
	"fmt"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/connector"
)

var number int

// order is an order of 10.00 EUR with keys of its own.
func order(kind processor.Kind, parent string) connector.Order {
	number++
	return connector.Order{
		Operation: processor.Operation{
			Kind: kind, Key: domain.OperationKey(fmt.Sprintf("%s.%d", reference, number)), Processor: processor.Stripe, MerchantID: "shop", Reference: reference,
			ParentID: parent, Amount: 1000, Currency: "EUR", NotifyURL: "http://127.0.0.1:1/n",
		},
		Key: fmt.Sprintf("%08x%032d", number, 0), Began: time.Now(), Tried: time.Now(),
	}
}

func card(number string) *processor.Card {
	return &processor.Card{Number: number, CVV: "739", ExpirationMonth: "12", ExpirationYear: "2035", CardholderName: "Ada Lovelace"}
}

func authorization(number string) connector.Order {
	o := order(processor.Authorize, "")
	o.Card = card(number)
	return o
}

// upon is an order upon the result of another.
func upon(parent connector.Order, r connector.Result, kind processor.Kind) connector.Order {
	o := order(kind, r.Answer.ProcessorTransactionID)
	o.Parent = &connector.Parent{Operation: parent.Operation, Answer: r.Answer}
	return o
}

func (r *rig) send(o connector.Order) connector.Result {
	r.t.Helper()
	result, err := r.vendor.Send(r.t.Context(), o)
	if err != nil {
		r.t.Fatalf("%s: %v", o.Kind, err)
	}
	return result
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
