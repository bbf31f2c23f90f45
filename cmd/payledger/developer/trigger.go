package developer

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/domain"
	"payledger/httpapi/client"
	"payledger/httpapi/nextstep"
)

// Trigger makes something happen in the sandbox, as a customer, a shop and the processors'
// simulator would (I1).
type Trigger struct {
	Name      string        `arg:"" optional:"" help:"Name of what is to happen; --list prints the names."`
	List      bool          `help:"Print the names, and what each does."`
	Amount    string        `help:"Amount of the payment, in minor units: 2500 is 25.00 EUR or 2500 JPY." default:"2500"`
	Currency  string        `help:"Its currency." default:"EUR"`
	Order     string        `help:"Id of the order (default: a new one)." placeholder:"ID"`
	Simulator string        `help:"The simulator, which the ready line of serve names: for disputes that end." placeholder:"URL"`
	Patience  time.Duration `help:"How long to wait for the outcome." default:"2m"`

	Server `set:"scope=every scope"`
}

// Run plays one scenario.
func (c *Trigger) Run(ctx context.Context, std terminal.Streams, args options.Arguments) error {
	if c.List {
		return listScenarios(std.Out)
	}
	found, err := c.scenario()
	if err != nil {
		return options.Usage(err)
	}
	if strings.HasPrefix(strings.TrimSpace(c.APIKey), options.LivePrefix) {
		return options.Usage(errors.New("the API key is of production: trigger makes payments, failures and disputes, and is for the sandbox only"))
	}
	api, err := c.API(args)
	if err != nil {
		return err
	}
	amount, err := c.minorUnits()
	if err != nil {
		return options.Usage(err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.Patience)
	defer cancel()
	var run [4]byte
	rand.Read(run[:]) // it never fails
	s := &shop{Trigger: c, amount: amount, api: api, out: std.Out, run: fmt.Sprintf("%x", run)}
	if c.Order == "" {
		c.Order = "trigger-" + found.name + "-" + s.run
	}
	if err := found.play(ctx, s); err != nil {
		return reached(s.failed(ctx, err))
	}
	return s.end(ctx)
}

const minAmount = 2 // the smallest payment that can be captured in two parts

// minorUnits reads the amount. A number with a point, or with commas, may mean whole euros: it is
// refused.
func (c *Trigger) minorUnits() (int64, error) {
	n, err := strconv.ParseInt(c.Amount, 10, 64)
	if err != nil || strings.Trim(c.Amount, "0123456789") != "" {
		const example = 2500
		return 0, fmt.Errorf("--amount %q is not a number of minor units: write digits only, as in %d for %s", c.Amount, example, money(example, c.Currency))
	}
	if n < minAmount {
		return 0, fmt.Errorf("--amount %d must be at least %d", n, minAmount)
	}
	if n > int64(domain.MaxAmount) {
		return 0, fmt.Errorf("--amount %d must be at most %d", n, domain.MaxAmount)
	}
	return n, nil
}

func (c *Trigger) scenario() (scenario, error) {
	for _, s := range scenarios {
		if s.name == c.Name {
			if s.simulator && !strings.HasPrefix(c.Simulator, "http://") && !strings.HasPrefix(c.Simulator, "https://") {
				return s, fmt.Errorf("%s needs --simulator URL (PAYLEDGER_SIMULATOR): the ready line of serve has the address of its simulator", s.name)
			}
			return s, nil
		}
	}
	if c.Name == "" {
		return scenario{}, errors.New("name something to happen; `payledger trigger --list` prints the names")
	}
	return scenario{}, fmt.Errorf("there is no %q; `payledger trigger --list` prints the names", c.Name)
}

func listScenarios(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	for _, s := range scenarios {
		fmt.Fprintf(w, "%s\t%s\n", s.name, s.about)
	}
	return w.Flush()
}

// shop is the merchant and the customer of one scenario.
type shop struct {
	*Trigger
	amount  int64 // minor units
	api     *client.Client
	out     io.Writer
	run     string // makes orders and idempotency keys its own
	calls   int
	payment client.Payment
	others  []string // lines with further ids
}

func (s *shop) step(format string, args ...any) {
	fmt.Fprintln(s.out, safe(fmt.Sprintf(format, args...)))
}

func (s *shop) key() string {
	s.calls++
	return fmt.Sprintf("trigger-%s-%d", s.run, s.calls)
}

func (s *shop) note(name, value string) {
	s.others = append(s.others, fmt.Sprintf("%-10s %s", name, safe(value)))
}

func (s *shop) end(ctx context.Context) error {
	var about disputes
	if s.payment.ID != "" {
		now, err := s.api.Payment(ctx, s.payment.ID)
		if err == nil {
			about, err = disputesOf(ctx, s.api, s.payment.ID)
		}
		if err != nil {
			return reached(err)
		}
		s.payment = now
		fmt.Fprintf(s.out, "\n%-10s %s\n%-10s %s\n%-10s %s\n", "payment", safe(now.ID), "order", safe(now.OrderID), "status", safe(now.Status+because(now.StatusReason)))
	}
	for _, line := range s.others {
		fmt.Fprintln(s.out, line)
	}
	if s.payment.ID != "" {
		fmt.Fprintf(s.out, "%-10s %s\n%-10s %s\n", "next", safe(nextStep(s.payment, about)), "dashboard", s.page(s.payment.ID))
	}
	return nil
}

func (s *shop) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("the outcome did not come within --patience %s: %w", s.Patience, err)
	}
	if s.payment.ID == "" {
		return err
	}
	return fmt.Errorf("%w (payment %s, %s; %s)", err, s.payment.ID, s.payment.Status, s.page(s.payment.ID))
}

const lookEvery = 200 * time.Millisecond

func await(ctx context.Context, there func() (bool, error)) error {
	for {
		if is, err := there(); err != nil || is {
			return err
		}
		if err := client.Pause(ctx, lookEvery); err != nil {
			return err
		}
	}
}

func (s *shop) until(ctx context.Context, status string) error {
	err := await(ctx, func() (bool, error) {
		now, err := s.api.Payment(ctx, s.payment.ID)
		if err == nil {
			s.payment = now
		}
		return now.Status == status, err
	})
	if err == nil {
		s.step("the payment is %s", status)
	}
	return err
}

func (s *shop) wants(status string) error {
	if s.payment.Status != status {
		return fmt.Errorf("the payment is %s%s, and should be %s", s.payment.Status, because(s.payment.StatusReason), status)
	}
	return nil
}

func (s *shop) simulate(ctx context.Context, method, path string, body any) error {
	sim := &client.Client{URL: s.Simulator}
	err := sim.Call(ctx, client.Request{Method: method, Path: path, Body: body}, nil)
	if err != nil {
		return fmt.Errorf("the simulator at --simulator: %w", err)
	}
	s.step("%-5s %s of the simulator", method, path)
	return nil
}

func (s *shop) disputed(ctx context.Context, status string) (processorsID string, err error) {
	var list struct {
		Data []struct {
			nextstep.Dispute
			AtProcessor string `json:"processorDisputeId"`
		} `json:"data"`
	}
	err = await(ctx, func() (bool, error) {
		err := s.api.Get(ctx, "/management/disputes", url.Values{"paymentId": {s.payment.ID}}, &list)
		return len(list.Data) > 0 && string(list.Data[0].Status) == status, err
	})
	if err != nil {
		return "", fmt.Errorf("waiting for the dispute: %w", err)
	}
	found := list.Data[0]
	s.step("the dispute %s is %s", found.ID, status)
	s.others = nil
	s.note("dispute", found.ID+", "+found.AtProcessor+" at the processor, "+string(found.Status))
	return found.AtProcessor, nil
}
