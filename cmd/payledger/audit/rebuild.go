package audit

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/control"
	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/eventstore"
	"payledger/eventstore/deliverylog"
	"payledger/eventstore/folder"
	"payledger/eventstore/format"
	"payledger/notifier"
	"payledger/projections"
	"payledger/projections/deliveries"
)

const (
	projectionViews      = "views"      // payments, sessions, instruments, attempts, disputes, inboxes, workflow runs, persons, accounts
	projectionDeliveries = "deliveries" // the index of webhook deliveries
)

var knownProjections = []string{projectionViews, projectionDeliveries}

// Rebuild rebuilds read models from the log, beside a running service or in a stopped server's
// folder (I1).
type Rebuild struct {
	Projection string `arg:"" optional:"" help:"views (payments, disputes and all other lists) or deliveries (of webhooks); without it, both."`
	Data       string `help:"Data folder, of a running service or of a stopped one." default:"./data" type:"path"`
	MasterKey  string `help:"Key of the stream of secrets, for a stopped folder without its own key." placeholder:"HEX"`

	MasterKeyFile string `help:"File that holds the master key." type:"path"`
}

// RebuildRequest is the body of the command rebuild to a running service.
type RebuildRequest struct {
	Projection string `json:"projection"`
}

type rebuildLine struct {
	Done uint64 `json:"done"`
	Of   uint64 `json:"of"`
}

type rebuilt struct {
	Events uint64 `json:"events"`
}

type rebuilder struct {
	views  *projections.Projections
	index  *deliveries.Index
	stream *deliverylog.Stream
}

// RebuildHandler serves the command rebuild of a running service; views is nil at a node that keeps
// none.
func RebuildHandler(store interface{ Deliveries() *deliverylog.Stream }, views *projections.Projections, index *deliveries.Index) func(context.Context, RebuildRequest, func(any) error) (any, error) {
	r := rebuilder{views, index, store.Deliveries()}
	return func(ctx context.Context, in RebuildRequest, emit func(any) error) (any, error) {
		if views == nil {
			return nil, errors.New("this node keeps no views (--role api): rebuild them at a node with --role all or views")
		}
		return r.run(ctx, in.Projection, func(l rebuildLine) error { return emit(l) })
	}
}

func (r rebuilder) run(ctx context.Context, projection string, emit func(rebuildLine) error) (result rebuilt, err error) {
	var shown time.Time
	progress := func(done, of uint64) {
		result.Events = done
		if now := time.Now(); now.Sub(shown) >= rebuildShown {
			shown = now
			_ = emit(rebuildLine{done, of}) // a later emit returns the same error
		}
	}
	switch projection {
	case projectionViews:
		err = r.views.Rebuild(ctx, progress)
	case projectionDeliveries:
		err = notifier.RebuildIndex(ctx, r.index, r.stream, func(at, end uint64) { progress(format.GroupOf(at), format.GroupOf(end)) })
	default:
		err = unknownProjection(projection)
	}
	return result, err
}

const rebuildShown = 100 * time.Millisecond

func unknownProjection(name string) error {
	return fmt.Errorf("there is no projection %q; name one of: %s", name, strings.Join(knownProjections, ", "))
}

// Run rebuilds, and prints a line for each projection.
func (c *Rebuild) Run(ctx context.Context, std terminal.Streams, args options.Arguments) error {
	if err := args.Refused(); err != nil {
		return err
	}
	wanted := knownProjections
	if c.Projection != "" {
		if wanted = []string{c.Projection}; !slices.Contains(knownProjections, c.Projection) {
			return options.Usage(unknownProjection(c.Projection))
		}
	}
	all := func(run rebuildRun) error {
		for _, projection := range wanted {
			if err := rebuildOne(ctx, std, projection, run); err != nil {
				return err
			}
		}
		return nil
	}
	service, err := control.Find(ctx, c.Data)
	switch {
	case errors.Is(err, control.ErrNoService):
		return c.inFolder(ctx, all)
	case err != nil:
		return err
	}
	return all(func(ctx context.Context, projection string, emit func(rebuildLine) error) (result rebuilt, err error) {
		err = service.Call(ctx, "rebuild", RebuildRequest{projection}, eachLine(emit), &result)
		return result, err
	})
}

type rebuildRun func(ctx context.Context, projection string, emit func(rebuildLine) error) (rebuilt, error)

func rebuildOne(ctx context.Context, std terminal.Streams, projection string, run rebuildRun) error {
	progress, begun := terminal.NewBar(std.Err), time.Now()
	result, err := run(ctx, projection, func(l rebuildLine) error { progress.Events(l.Done, l.Of); return nil })
	progress.Clear()
	if err != nil {
		return err
	}
	from := terminal.Count(result.Events, "event")
	if projection == projectionDeliveries {
		from = terminal.Count(result.Events, "group of records", "groups of records")
	}
	took := time.Since(begun)
	_, err = fmt.Fprintf(std.Out, "%s: rebuilt from %s (%s, %.0f/s).\n", projection, from, took.Round(time.Millisecond), float64(result.Events)/took.Seconds())
	return err
}

// inFolder calls use with the folder of a stopped server open. Its log does not change.
func (c *Rebuild) inFolder(ctx context.Context, use func(rebuildRun) error) (err error) {
	if err := noFile(c.Data); err != nil {
		return err
	}
	config := options.Options{Data: c.Data, MasterKey: c.MasterKey, MasterKeyFile: c.MasterKeyFile}
	l, err := ledger.Open(ctx, config, ledger.ReadOnly, ledger.Config{Logger: zerolog.Nop()})
	switch {
	case errors.Is(err, folder.ErrInUse):
		return control.Unreachable(c.Data)
	case err != nil:
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	dir := filepath.Join(c.Data, ledger.ViewsFolder)
	views, err := projections.Open(ctx, projections.Config{
		Dir: dir, Store: l.Store, Fanout: eventstore.NewFanout(l.Store), Secrets: l.Secrets, Logger: zerolog.Nop(), Now: time.Now,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, views.Close()) }()
	index, err := deliveries.Open(ctx, dir, zerolog.Nop())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, index.Close()) }()
	return use(rebuilder{views, index, l.Store.Deliveries()}.run)
}
