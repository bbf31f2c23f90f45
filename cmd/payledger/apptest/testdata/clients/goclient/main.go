//go:build ignore

// Package main pays with the client that is generated from openapi.yaml as package api: a session, a card, a payment, a
// capture, a refund, the history. It is run in a module of its own; api is made there.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"example/client/api"
)

func main() {
	if err := pay(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func pay(ctx context.Context, url, key string) error {
	c, err := api.NewClientWithResponses(url)
	if err != nil {
		return err
	}
	backend, quantity, due := header("X-API-KEY", key), 1, int64(2500)
	order, currency := "order-go", "EUR"
	session, err := c.CreateClientSessionWithResponse(ctx, &api.CreateClientSessionParams{XAPIVERSION: "2.4"}, api.ClientSessionRequest{
		OrderId: &order, CurrencyCode: &currency,
		Order: &api.Order{LineItems: &[]api.LineItem{{Amount: due, Quantity: &quantity}}},
	}, backend)
	if err != nil || session.JSON200 == nil {
		return failed("a session", err, session.Body)
	}
	if !session.JSON200.ClientExpirationDate.After(session.JSON200.ClientExpirationDate.AddDate(-1, 0, 0)) || session.JSON200.ClientExpirationDate.Year() < 2000 {
		return fmt.Errorf("the session expires at %s", session.JSON200.ClientExpirationDate)
	}
	card, err := c.CreatePaymentInstrumentWithResponse(ctx, api.PaymentInstrumentRequest{PaymentInstrument: &api.Card{
		Number: "4111111111111111", Cvv: "737", ExpirationMonth: "03", ExpirationYear: "2099",
	}}, header("X-Client-Token", session.JSON200.ClientToken))
	if err != nil || card.JSON200 == nil {
		return failed("a card", err, card.Body)
	}
	made, err := c.CreatePaymentWithResponse(ctx, &api.CreatePaymentParams{XAPIVERSION: "2.4"}, api.PaymentCreation{PaymentMethodToken: card.JSON200.Token}, backend)
	if err != nil || made.JSON200 == nil || made.JSON200.Status != api.PaymentStatusAUTHORIZED || made.JSON200.Amount != due {
		return failed("a payment", err, made.Body)
	}
	id := made.JSON200.Id
	captured, err := c.CapturePaymentWithResponse(ctx, id, &api.CapturePaymentParams{XAPIVERSION: "2.4"}, api.PaymentCapture{}, backend)
	if err != nil || captured.JSON200 == nil || captured.JSON200.Status != api.PaymentStatusSETTLED {
		return failed("a capture", err, captured.Body)
	}
	back := int64(400)
	refunded, err := c.RefundPaymentWithResponse(ctx, id, &api.RefundPaymentParams{XAPIVERSION: "2.4"}, api.PaymentRefund{Amount: &back}, backend)
	if err != nil || refunded.JSON200 == nil || refunded.JSON200.Processor.AmountRefunded != back {
		return failed("a refund", err, refunded.Body)
	}
	return history(ctx, c, id, backend)
}

// history looks for the change of the status that the capture made.
func history(ctx context.Context, c *api.ClientWithResponses, id string, backend api.RequestEditorFn) error {
	events, err := c.GetPaymentEventsWithResponse(ctx, id, &api.GetPaymentEventsParams{XAPIVERSION: "2.4"}, backend)
	if err != nil || events.JSON200 == nil {
		return failed("a history", err, events.Body)
	}
	for _, event := range events.JSON200.Data {
		for _, change := range event.Changed {
			if change.Path != "$.status" || change.To == nil {
				continue
			}
			if to, err := change.To.AsJsonValue0(); err == nil && to == "SETTLED" {
				fmt.Println(id)
				return nil
			}
		}
	}
	return fmt.Errorf("no event of %s settles it", id)
}

func header(name, value string) api.RequestEditorFn {
	return func(_ context.Context, r *http.Request) error {
		r.Header.Set(name, value)
		return nil
	}
}

func failed(what string, err error, body []byte) error {
	return fmt.Errorf("%s: %v %s", what, err, body)
}
