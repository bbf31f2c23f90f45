package developer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/httpapi/client"
)

// PaymentsShow prints one payment.
type PaymentsShow struct {
	Payment string `arg:"" name:"payment-id" help:"Id of the payment."`
	JSON    bool   `name:"json" help:"Print the payment as the API has it."`

	Server `set:"scope=the scope transactions:retrieve"`
}

// Run prints the payment.
func (c *PaymentsShow) Run(ctx context.Context, std terminal.Streams, args options.Arguments) error {
	api, err := c.API(args)
	if err != nil {
		return err
	}
	if strings.TrimSpace(c.Payment) == "" {
		return options.Usage(errors.New("the payment's id is empty"))
	}
	if c.JSON {
		var text json.RawMessage
		if err := api.Get(ctx, "/payments/"+url.PathEscape(c.Payment), url.Values{"expand": {"transactions.events"}}, &text); err != nil {
			return reached(err)
		}
		_, err := fmt.Fprintf(std.Out, "%s\n", text)
		return err
	}
	p, err := api.Payment(ctx, c.Payment)
	if err != nil {
		return reached(err)
	}
	return printPayment(std.Out, p, c.page(p.ID))
}

// printPayment prints a payment for people: what it is, what happened, and what to do next.
func printPayment(out io.Writer, p client.Payment, page string) error {
	var b strings.Builder
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-10s %s\n", name, safe(value))
		}
	}
	row("payment", p.ID)
	row("status", p.Status+because(p.StatusReason))
	row("amount", money(p.Amount, p.CurrencyCode))
	if at := p.Processor; at != nil {
		row("captured", moved(at.AmountCaptured, p.CurrencyCode))
		row("refunded", moved(at.AmountRefunded, p.CurrencyCode))
		row("processor", strings.TrimSpace(at.Name+" "+at.MerchantID))
	}
	row("order", p.OrderID)
	row("customer", p.CustomerID)
	if card := p.PaymentMethod.Data; card.Last4Digits != "" {
		row("paid with", card.Network+" •••• "+card.Last4Digits)
	}
	row("created", moment(p.Date)+" UTC")
	row("changed", moment(p.DateUpdated)+" UTC")
	for _, t := range p.Transactions {
		fmt.Fprintf(&b, "\n%s\n", safe(fmt.Sprintf("%s  %s  %s at %s  %s%s", strings.ToLower(t.Type), money(t.Amount, t.CurrencyCode), t.Status, t.Processor, t.TransactionID, because(t.StatusReason))))
		for _, e := range t.Events {
			fmt.Fprintf(&b, "  %s  %-34s %s\n", moment(e.Date), safe(e.Type), money(e.Amount, t.CurrencyCode))
		}
	}
	fmt.Fprintf(&b, "\nnext       %s\n", safe(nextStep(p)))
	fmt.Fprintf(&b, "history    payledger history %s --full\n", safe(p.ID))
	fmt.Fprintf(&b, "dashboard  %s\n", page)
	_, err := io.WriteString(out, b.String())
	return err
}

// because returns a reason in parentheses, "" for none.
func because(r *client.StatusReason) string {
	if r == nil {
		return ""
	}
	return " (" + strings.Join(strings.Fields(strings.Join([]string{r.Type, r.DeclineType, r.Code}, " ")), " ") + ")"
}

// nextStep returns what the merchant can do with a payment.
func nextStep(p client.Payment) string {
	captured, refunded := int64(0), int64(0)
	if p.Processor != nil {
		captured, refunded = p.Processor.AmountCaptured, p.Processor.AmountRefunded
	}
	switch p.Status {
	case "PENDING":
		return pendingStep(p)
	case "AUTHORIZED":
		return "Capture " + money(p.Amount, p.CurrencyCode) + " or a part of it when the goods leave, or cancel: POST /payments/" + p.ID + "/capture or /cancel."
	case "SETTLING":
		return "Nothing: the processor confirms the capture, and a webhook PAYMENT.STATUS follows."
	case "PARTIALLY_SETTLED":
		return fmt.Sprintf("Capture up to %s more, or cancel the rest. %s can be refunded.", money(p.Amount-captured, p.CurrencyCode), money(captured-refunded, p.CurrencyCode))
	case "SETTLED":
		if captured == refunded {
			return "Nothing: the captured amount is refunded."
		}
		return "If the customer returns something, refund up to " + money(captured-refunded, p.CurrencyCode) + ": POST /payments/" + p.ID + "/refund."
	case "DECLINED":
		return declinedStep(p.StatusReason)
	case "FAILED":
		return "The payment failed without a charge. Let the customer pay again with a new token; if it goes on, look at the processor's settings."
	case "CANCELLED":
		return "Nothing: the reserved amount is released. A new payment needs a new token."
	default:
		return "See the history."
	}
}

func pendingStep(p client.Payment) string {
	switch {
	case p.RequiredAction != nil:
		return "The customer must act (" + p.RequiredAction.Name + "): pass requiredAction.clientToken to the customer's browser, then send its resumeToken to POST /payments/" + p.ID + "/resume."
	case p.StatusReason != nil && p.StatusReason.Type == "GATEWAY_TIMEOUT":
		return "Wait, and do not pay again: the processor did not answer, and the service looks the outcome up until it is known. A webhook PAYMENT.STATUS follows."
	}
	return "Wait: the processor decides later, and a webhook PAYMENT.STATUS follows."
}

func declinedStep(r *client.StatusReason) string {
	advice := ""
	if r != nil {
		advice = r.AdvisedAction
	}
	switch advice {
	case "RETRY_LATER":
		return "Nothing was charged. The customer can try again later or with another card, each time with a new token (RETRY_LATER)."
	case "UPDATE_DATA":
		return "Nothing was charged. Ask the customer to correct the card's data (UPDATE_DATA)."
	case "STOP_ALL_PAYMENTS":
		return "Nothing was charged. Do not try this card again, and look at the customer's other payments (STOP_ALL_PAYMENTS)."
	}
	return "Nothing was charged. Do not try this card again; ask for another one (DO_NOT_RETRY)."
}
