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

	"payledger/cmd/payledger/audit/sheet"
	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands/reconcile"
	"payledger/eventstore/folder"
	"payledger/httpapi/client"
	"payledger/processorsim/adapter"
	"payledger/processorsim/router"
	"payledger/processorsim/simulator"
)

// Reconcile compares the ledger with the processors' books, at a running server or in a stopped
// server's folder (I1).
type Reconcile struct {
	Processor []string `sep:"none" help:"NAME: compare with this processor (default: all enabled ones, of a folder all that have books). NAME=URL: where it is, with --data. Repeatable." placeholder:"NAME"`
	From      string   `help:"Only what was created then or later: RFC 3339, or a day in UTC." placeholder:"TIME"`
	To        string   `help:"Only what was created then or earlier: RFC 3339, or a day in UTC, to its end." placeholder:"TIME"`
	JSON      bool     `name:"json" help:"Print one JSON object instead of a table, or an array of them for several processors."`

	Source  `set:"scope=account:read"`
	Account string `help:"Account of the folder, with --data (default: all of them)." placeholder:"ID"`
	FolderKey

	ProcessorURL       string   `name:"processor-url" help:"Where the processors are, with --data (default: the simulator's books in the folder)." placeholder:"URL"`
	ProcessorToken     []string `name:"processor-token" sep:"none" help:"The processors' token, as serve takes it." placeholder:"TEXT"`
	ProcessorTokenFile string   `help:"File that holds the processors' token." type:"path"`
	ProcessorCA        string   `name:"processor-ca" help:"File with the authorities of the processors' certificates." type:"path"`
}

// TroubleError means that the comparison is incomplete.
type TroubleError struct{ error }

var errDifferences = errors.New("the ledger and the processor's books differ")

// Run compares and prints. One comparison that is incomplete does not stop the others.
func (c *Reconcile) Run(ctx context.Context, std terminal.Streams, args options.Arguments) (failed error) {
	folder, err := c.isFolder(args, c.Account)
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
	selected, at, err := c.processors(folder, args)
	if err != nil {
		return err
	}
	names := selected
	if len(selected) == 0 {
		if names, err = c.enabled(ctx, at); err != nil {
			return TroubleError{err}
		}
	}
	compare := sheet.Comparison(c.compareThere)
	if folder {
		l, err := c.open(ctx)
		if err != nil {
			return TroubleError{err}
		}
		defer func() { failed = errors.Join(failed, l.Close()) }()
		compare = func(ctx context.Context, q reconcile.Scope, report func(reconcile.Difference) error, progress func(reconcile.Progress)) (reconcile.Counts, error) {
			return c.compareFolder(ctx, at, l.Store, q, report, progress)
		}
	}
	all := &sheet.Sheets{Out: terminal.Colours(std.Out), JSON: c.JSON, List: len(selected) != 1, Of: len(names), Bar: terminal.NewBar(std.Err)}
	incomplete := error(nil)
	for _, name := range names {
		q.Processor = name
		err := all.Compare(ctx, q, compare)
		if err != nil && len(names) > 1 {
			err = fmt.Errorf("%s: %w", name, err)
		}
		incomplete = errors.Join(incomplete, err)
	}
	incomplete = errors.Join(incomplete, all.End())
	switch {
	case incomplete != nil:
		return TroubleError{incomplete}
	case all.Differences > 0:
		return fmt.Errorf("%w: %d", errDifferences, all.Differences)
	default:
		return nil
	}
}

// enabled returns the processors that the account uses now; of a folder all that have an address,
// because it has several accounts, or all of the simulator.
func (c *Reconcile) enabled(ctx context.Context, at map[processor.Name]options.Target) (names []processor.Name, err error) {
	if c.Data != "" {
		for _, name := range processor.Names {
			if _, has := at[name]; has || len(at) == 0 {
				names = append(names, name)
			}
		}
		return names, nil
	}
	type merchantAccount struct {
		Name    processor.Name `json:"name"`
		Enabled bool           `json:"enabled"`
	}
	api := &client.Client{URL: c.URL, APIKey: c.APIKey}
	err = client.List(ctx, api, "/management/processors", nil, func(m merchantAccount) bool {
		if m.Enabled {
			names = append(names, m.Name)
		}
		return true
	})
	var apiErr *client.Error
	switch {
	case err != nil && !errors.As(err, &apiErr):
		return nil, fmt.Errorf("%w; is the server running? --data reads a stopped one", err)
	case err == nil && len(names) == 0:
		err = errors.New("the account has no enabled processor; name one with --processor")
	}
	return names, err
}

func (c *Reconcile) question() (q reconcile.Scope, err error) {
	if q.From, err = options.Time("from", c.From, 0); err != nil {
		return q, err
	}
	if q.To, err = options.Time("to", c.To, 24*time.Hour-1); err != nil {
		return q, err
	}
	if q.Check() != nil {
		return q, fmt.Errorf("--from %s is after --to %s", c.From, c.To)
	}
	return q, nil
}

// open opens the ledger of the folder, once for all processors.
func (c *Reconcile) open(ctx context.Context) (*ledger.Ledger, error) {
	if _, err := os.Stat(filepath.Join(c.Data, ledger.EventsFolder)); err != nil {
		return nil, fmt.Errorf("%s is no data folder: %w", c.Data, err)
	}
	l, err := ledger.Open(ctx, c.FolderKey.of(c.Data), ledger.ReadOnly, ledger.Config{Logger: zerolog.Nop()})
	if errors.Is(err, folder.ErrInUse) {
		return nil, fmt.Errorf("a server runs on %s; compare it with --url and --api-key", c.Data)
	}
	return l, err
}

func (c *Reconcile) compareFolder(ctx context.Context, at map[processor.Name]options.Target, store eventstore.Store, q reconcile.Scope, report func(reconcile.Difference) error, progress func(reconcile.Progress)) (counts reconcile.Counts, err error) {
	accounts, err := c.accounts(ctx, store)
	if err != nil {
		return counts, err
	}
	books, err := c.books(at)
	if err != nil {
		return counts, err
	}
	for _, q.Account = range accounts {
		one, err := reconcile.Reconciler{Store: store, Books: books}.Run(ctx, q, report, progress)
		counts = counts.Add(one)
		if err != nil {
			return counts, err
		}
	}
	return counts, nil
}

func (c *Reconcile) accounts(ctx context.Context, store eventstore.Tips) ([]domain.AccountID, error) {
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

// variable holds the addresses of serve. They count, too, if the flag only selects processors.
const variable = "PAYLEDGER_PROCESSOR"

// processors returns the processors that --processor selects, and where each processor is. A
// comparison at a running server needs no address.
func (c *Reconcile) processors(folder bool, args options.Arguments) (selected []processor.Name, at map[processor.Name]options.Target, err error) {
	var faults []string
	names, addresses := options.SplitProcessors(c.Processor)
	for _, name := range names {
		if !slices.Contains(processor.Names, name) {
			faults = append(faults, fmt.Sprintf("--processor %q is none of %v", name, processor.Names))
		}
	}
	if !folder && len(addresses) > 0 && args.Has("--processor") {
		faults = append(faults, "--processor NAME=URL is for --data: a running server asks its own processors")
	}
	if !folder {
		return names, nil, options.UsageOf(faults)
	}
	if len(addresses) == 0 {
		addresses = options.InVariable(variable)
	}
	token, err := options.ReadSecret("--processor-token", options.Joined(c.ProcessorToken), c.ProcessorTokenFile)
	if err != nil {
		faults = append(faults, err.Error())
	}
	of := options.Processors{ProcessorURL: c.ProcessorURL, Processor: addresses, ProcessorCA: c.ProcessorCA}
	if token != "" {
		of.ProcessorToken = []string{token}
	}
	at, more := of.Targets(nil)
	return names, at, options.UsageOf(append(faults, more...))
}

// callTimeout bounds a question to a processor, as the default of a running ledger does.
const callTimeout = 90 * time.Second

// books returns the processors' books of a stopped ledger.
func (c *Reconcile) books(at map[processor.Name]options.Target) (reconcile.Books, error) {
	if len(at) > 0 {
		authorities, faults := options.Processors{ProcessorCA: c.ProcessorCA}.Authorities()
		if len(faults) > 0 {
			return nil, options.UsageOf(faults)
		}
		connections := map[processor.Name]router.Connection{}
		for name, t := range at {
			connections[name] = router.Connection{Connection: adapter.Connection{URL: t.URL, Token: t.Token, CAs: authorities, Timeout: callTimeout}}
		}
		return router.Open(router.Config{Connections: connections})
	}
	archive, err := simulator.OpenArchive(filepath.Join(c.Data, ledger.SimulatorFolder))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s has no processors' books; --processor-url or --processor NAME=URL says where they are", c.Data)
	}
	return archive, err
}
