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

	Server `set:"scope=the scope transactions:retrieve, and account:read for disputes"`
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
	about, err := disputesOf(ctx, api, p.ID)
	if err != nil {
		return reached(err)
	}
	return printPayment(terminal.Colours(std.Out), p, about, c.page(p.ID))
}

func printPayment(out io.Writer, p client.Payment, about disputes, page string) error {
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
	for _, d := range about.all {
		row("dispute", line(d))
	}
	row("disputes", about.unknown)
	row("created", moment(p.Date)+" UTC")
	row("changed", moment(p.DateUpdated)+" UTC")
	for _, t := range p.Transactions {
		fmt.Fprintf(&b, "\n%s\n", safe(fmt.Sprintf("%s  %s  %s at %s  %s%s", strings.ToLower(t.Type), money(t.Amount, t.CurrencyCode), t.Status, t.Processor, t.TransactionID, because(t.StatusReason))))
		for _, e := range t.Events {
			fmt.Fprintf(&b, "  %s  %-34s %s\n", moment(e.Date), safe(e.Type), money(e.Amount, t.CurrencyCode))
		}
	}
	fmt.Fprintf(&b, "\nnext       %s\n", safe(nextStep(p, about)))
	fmt.Fprintf(&b, "history    payledger history %s --full\n", safe(p.ID))
	fmt.Fprintf(&b, "dashboard  %s\n", page)
	_, err := io.WriteString(out, b.String())
	return err
}

func because(r *client.StatusReason) string {
	if r == nil {
		return ""
	}
	return " (" + strings.Join(strings.Fields(strings.Join([]string{r.Type, r.DeclineType, r.Code}, " ")), " ") + ")"
}
