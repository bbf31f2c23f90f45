package feed_test

import (
	"context"
	"fmt"

	"payledger/domain/payment"
	"payledger/eventstore/feed"
)

// Read the present events, with the domain's types.
func ExampleFeed_Events() {
	var captured int64
	for event, err := range feed.HTTP(url, apiKey).Events(context.Background(), 0) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch fact := event.Fact.(type) {
		case payment.Created:
			fmt.Println(event.Type, fact.OrderID, fact.Amount, fact.Currency, fact.Metadata["gift"])
		case payment.CaptureRequested:
			fmt.Println(event.Type, fact.Amount)
			captured += int64(fact.Amount)
		}
	}
	fmt.Println("requested to capture:", captured)
	// Output:
	// payment.created order-1001 2500 EUR true
	// payment.capture_requested 2000
	// requested to capture: 2000
}

// Follow the events until a payment is settled.
func ExampleFeed_Follow() {
	const position = 0 // store event.Position with your results, and begin behind it after a restart
	for event, err := range feed.HTTP(url, apiKey).Follow(context.Background(), position) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if event.Payment != nil && event.Payment.Status == payment.StatusSettled {
			fmt.Println(event.Type, event.Payment.OrderID, event.Payment.Processor.AmountCaptured)
			break
		}
	}
	// Output: payment.captured order-1001 2000
}

// Read the stream EVENTS, with the credentials file that `payledger analytics-user` printed.
func ExampleNATS() {
	for event, err := range feed.NATS(natsURL, credentials).Events(context.Background(), 0) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if event.Payment != nil {
			fmt.Println(event.Revision, event.Type, event.Payment.Status)
		}
	}
	// Output:
	// 1 payment.created PENDING
	// 2 payment.authorized AUTHORIZED
	// 3 payment.capture_requested AUTHORIZED
	// 4 payment.captured SETTLED
}

// Keep the newest state of each payment.
func ExamplePayments() {
	payments := feed.Payments{}
	for event, err := range feed.HTTP(url, apiKey).Events(context.Background(), 0) {
		if err != nil {
			fmt.Println(err)
			return
		}
		payments.Apply(event)
	}
	for _, p := range payments {
		fmt.Println(p.OrderID, p.Status, p.Amount, p.Processor.AmountCaptured)
	}
	// Output: order-1001 SETTLED 2500 2000
}
