package developer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"text/tabwriter"
	"time"

	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/httpapi/client"
)

// Payments looks payments up at a running server (I1).
type Payments struct {
	List PaymentsList `cmd:"" default:"withargs" help:"List payments, newest first. \"payments\" alone does the same."`
	Show PaymentsShow `cmd:"" help:"Show one payment: what it is, what happened, and what to do next."`
}

// PaymentsList prints a table of payments.
type PaymentsList struct {
	Order     string   `help:"Only the payments of this order." placeholder:"ID"`
	Customer  string   `help:"Only the payments of this customer." placeholder:"ID"`
	Status    []string `help:"Only payments in these statuses, for example AUTHORIZED,SETTLED." placeholder:"STATUS"`
	Processor []string `env:"-" help:"Only payments at these processors." placeholder:"NAME"`
	From      string   `help:"Only payments that were created then or later: RFC 3339, or a day in UTC." placeholder:"TIME"`
	To        string   `help:"Only payments that were created then or earlier: RFC 3339, or a day in UTC, to its end." placeholder:"TIME"`
	Limit     int      `help:"At most so many payments; 0: all." default:"20"`
	JSON      bool     `name:"json" help:"Print one line of JSON for each payment, as the API has it."`

	Server `set:"scope=the scope transactions:retrieve"`
}

// Run prints the payments.
func (c *PaymentsList) Run(ctx context.Context, std terminal.Streams, args options.Arguments) error {
	api, err := c.API(args)
	if err != nil {
		return err
	}
	query, err := c.query()
	if err != nil {
		return options.Usage(err)
	}
	shown := terminal.Colours(std.Out)
	out := &paymentTable{to: tabwriter.NewWriter(shown, 0, 0, 2, ' ', 0), lines: shown, json: c.JSON}
	more, failed := false, error(nil)
	err = client.List(ctx, api, "/payments", query, func(text json.RawMessage) bool {
		if more = c.Limit > 0 && out.rows == c.Limit; more {
			return false
		}
		failed = out.add(text)
		return failed == nil
	})
	if err = cmp.Or(failed, err); err == nil {
		err = out.end(more)
	}
	return reached(atFlags(err, map[string]string{
		"status": "--status", "processor": "--processor", "order_id": "--order", "customer_id": "--customer", "from_date": "--from", "to_date": "--to",
	}))
}

// query returns the filters in the words of the API (D11).
func (c *PaymentsList) query() (url.Values, error) {
	query := url.Values{}
	for name, values := range map[string][]string{"status": c.Status, "processor": c.Processor} {
		if len(values) > 0 {
			query[name] = values
		}
	}
	for name, value := range map[string]string{"order_id": c.Order, "customer_id": c.Customer} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if c.Limit < 0 {
		return nil, fmt.Errorf("--limit %d must not be below 0", c.Limit)
	}
	for _, limit := range []struct {
		flag, parameter, text string
		ofDay                 time.Duration
	}{{"from", "from_date", c.From, 0}, {"to", "to_date", c.To, 24*time.Hour - time.Microsecond}} {
		at, err := options.Time(limit.flag, limit.text, limit.ofDay)
		if err != nil {
			return nil, err
		}
		if !at.IsZero() {
			query.Set(limit.parameter, at.Format(time.RFC3339Nano))
		}
	}
	return query, nil
}

type paymentTable struct {
	to    *tabwriter.Writer
	lines io.Writer
	json  bool
	rows  int
}

func (t *paymentTable) add(text json.RawMessage) error {
	t.rows++
	if t.json {
		_, err := fmt.Fprintf(t.lines, "%s\n", text)
		return err
	}
	var p client.Payment
	if err := json.Unmarshal(text, &p); err != nil {
		return fmt.Errorf("the server's answer is no list of payments: %w", err)
	}
	if t.rows == 1 {
		fmt.Fprintln(t.to, "PAYMENT\tCREATED (UTC)\tSTATUS\tAMOUNT\tCAPTURED\tREFUNDED\tPROCESSOR\tORDER")
	}
	at := cmp.Or(p.Processor, &client.Processor{Name: "-"})
	_, err := fmt.Fprintf(t.to, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", safe(p.ID), moment(p.Date), safe(p.Status), money(p.Amount, p.CurrencyCode),
		moved(at.AmountCaptured, p.CurrencyCode), moved(at.AmountRefunded, p.CurrencyCode), safe(at.Name), safe(p.OrderID))
	return err
}

func moved(amount int64, currency string) string {
	if amount == 0 {
		return "-"
	}
	return money(amount, currency)
}

func (t *paymentTable) end(more bool) error {
	if t.json {
		return nil
	}
	if err := t.to.Flush(); err != nil {
		return err
	}
	switch {
	case t.rows == 0:
		fmt.Fprintln(t.lines, "No payment fits. `payledger trigger pay` makes one in the sandbox.")
	case more:
		fmt.Fprintf(t.lines, "The newest %s; --limit 0 lists all. `payledger payments show ID` shows one.\n", terminal.Count(t.rows, "payment"))
	}
	return nil
}
