package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/reconcile"
	"payledger/processorsim/adapter"
	"payledger/processorsim/simulator"
)

// Reconcile compares the ledger with a processor's books, at a running server or in a stopped server's folder (I1). Exit
// status: 0 no differences, 1 differences, 2 the comparison is incomplete.
type Reconcile struct {
	Processor processor.Name `required:"" help:"ADYEN, BRAINTREE, CHECKOUT, PAYPAL, STRIPE or WORLDPAY." placeholder:"NAME"`
	From      string         `help:"Only what was created then or later: RFC 3339, or a day in UTC." placeholder:"TIME"`
	To        string         `help:"Only what was created then or earlier: RFC 3339, or a day in UTC, to its end." placeholder:"TIME"`
	JSON      bool           `name:"json" help:"Print one JSON object instead of a table."`
	URL       string         `name:"url" help:"Running server." default:"http://127.0.0.1:8080"`
	APIKey    string         `name:"api-key" help:"API key with the scope account:read." placeholder:"KEY"`
	Data      string         `help:"Data folder of a stopped server, instead of --url." type:"path"`
	Account   string         `help:"Account of the folder, with --data (default: all of them)." placeholder:"ID"`
	MasterKey string         `help:"Key of the stream of secrets, with --data." placeholder:"HEX"`

	MasterKeyFile string `help:"File that holds the master key, with --data." type:"path"`

	ProcessorURL string `name:"processor-url" help:"Where the processors are, with --data (default: the simulator's books in the folder)." placeholder:"URL"`
}

// TroubleError means that the comparison is incomplete.
type TroubleError struct{ error }

// errDifferences is the error for a comparison with differences.
var errDifferences = errors.New("the ledger and the processor's books differ")

// Run compares and prints.
func (c *Reconcile) Run(ctx context.Context, std terminal.Streams, args options.Arguments) error {
	if err := args.Refused(); err != nil {
		return err
	}
	folder, err := args.ReadsFolder(c.Data)
	if err != nil {
		return err
	}
	if !folder {
		c.Data = ""
	}
	q, err := c.question()
	if err != nil {
		return options.Usage(err)
	}
	sheet := newSheet(std.Out, q, c.JSON)
	bar := newBar(std.Err)
	counts, err := c.compare(ctx, q, func(d reconcile.Difference) error { bar.clear(); return sheet.add(d) }, bar.show)
	bar.clear()
	if err == nil {
		err = sheet.end(counts)
	}
	switch {
	case err != nil:
		return TroubleError{err}
	case counts.Differences > 0:
		return fmt.Errorf("%w: %d", errDifferences, counts.Differences)
	default:
		return nil
	}
}

// question reads the flags.
func (c *Reconcile) question() (q reconcile.Question, err error) {
	q.Processor = c.Processor
	if !slices.Contains(processor.Names, q.Processor) {
		return q, fmt.Errorf("--processor %q is none of %v", c.Processor, processor.Names)
	}
	if q.From, err = flagTime("from", c.From, 0); err != nil {
		return q, err
	}
	if q.To, err = flagTime("to", c.To, 24*time.Hour-1); err != nil {
		return q, err
	}
	if q.Check() != nil {
		return q, fmt.Errorf("--from %s is after --to %s", c.From, c.To)
	}
	if c.Account != "" && c.Data == "" {
		return q, errors.New("--account is of a folder (--data); at a server the API key is of one account")
	}
	if c.Data == "" && c.APIKey == "" {
		return q, errors.New("--api-key (PAYLEDGER_API_KEY) is needed to read from a server; --data DIR reads a stopped one")
	}
	return q, nil
}

// flagTime reads a time as the API does (D1), or a day in UTC plus ofDay; "" gives the zero time.
func flagTime(name, text string, ofDay time.Duration) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("--%s %q is neither an RFC 3339 time nor a day", name, text)
	}
	return day.Add(ofDay), nil
}

// compare compares at the server or in the folder.
func (c *Reconcile) compare(ctx context.Context, q reconcile.Question, report func(reconcile.Difference) error, progress func(reconcile.Progress)) (reconcile.Counts, error) {
	if c.Data == "" {
		return c.compareThere(ctx, q, report, progress)
	}
	return c.compareFolder(ctx, q, report, progress)
}

// compareFolder compares all accounts of a stopped server's folder, or one of them, and changes nothing there.
func (c *Reconcile) compareFolder(ctx context.Context, q reconcile.Question, report func(reconcile.Difference) error, progress func(reconcile.Progress)) (counts reconcile.Counts, err error) {
	if _, err := os.Stat(filepath.Join(c.Data, ledger.EventsFolder)); err != nil {
		return counts, fmt.Errorf("%s is no data folder: %w", c.Data, err)
	}
	l, err := ledger.Open(ctx, options.Options{Data: c.Data, MasterKey: c.MasterKey, MasterKeyFile: c.MasterKeyFile}, ledger.ReadOnly, eventstore.Config{Logger: zerolog.Nop()})
	if errors.Is(err, eventstore.ErrInUse) {
		return counts, fmt.Errorf("a server runs on %s; compare it with --url and --api-key", c.Data)
	}
	if err != nil {
		return counts, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	accounts, err := c.accounts(ctx, l.Store)
	if err != nil {
		return counts, err
	}
	books, err := c.books()
	if err != nil {
		return counts, err
	}
	for _, q.Account = range accounts {
		one, err := reconcile.Reconciler{Store: l.Store, Books: books}.Run(ctx, q, report, progress)
		counts = counts.Add(one)
		if err != nil {
			return counts, err
		}
	}
	return counts, nil
}

// accounts returns the accounts to compare.
func (c *Reconcile) accounts(ctx context.Context, store *eventstore.Store) ([]domain.AccountID, error) {
	all, err := reconcile.Accounts(ctx, store)
	switch {
	case err != nil || c.Account == "":
		return all, err
	case !slices.Contains(all, domain.AccountID(c.Account)):
		return nil, fmt.Errorf("%s has no account %s; it has %v", c.Data, c.Account, all)
	default:
		return []domain.AccountID{domain.AccountID(c.Account)}, nil
	}
}

// books returns the external processors' books, or the simulator's in the folder.
func (c *Reconcile) books() (reconcile.Books, error) {
	if c.ProcessorURL != "" {
		return adapter.New(c.ProcessorURL, nil)
	}
	archive, err := simulator.OpenArchive(filepath.Join(c.Data, ledger.SimulatorFolder))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s has no processors' books; --processor-url says where they are", c.Data)
	}
	return archive, err
}
