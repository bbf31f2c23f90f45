package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/eventstore/ceiling"
)

// Command is `payledger bench` (I1).
type Command struct {
	URL         string        `name:"url" help:"Running server of a sandbox." default:"http://127.0.0.1:8080"`
	APIKey      string        `name:"api-key" help:"API key with all scopes." placeholder:"KEY"`
	AdminURL    string        `name:"admin-url" help:"The server's --admin-listen, for its CPU time and events (none: \"\")." default:"http://127.0.0.1:8081"`
	Scenario    string        `help:"authorize, lifecycle, read, webhooks or replay." enum:"authorize,lifecycle,read,webhooks,replay" default:"authorize"`
	Concurrency int           `help:"Connections." default:"64"`
	Duration    time.Duration `help:"Time under load, in all rounds together." default:"20s"`
	Rounds      int           `help:"Rounds; each has a part of the load and of every yardstick." default:"5"`
	Rate        float64       `help:"Requests per second, begun at even times whether or not earlier ones are answered; 0: as fast as the answers come." default:"0"`
	Yardstick   string        `help:"Another service to load in the same rounds: deploy/yardstick prints its URL." placeholder:"URL"`
	Scratch     string        `help:"Folder for the fsyncs and publishes; must be on the server's disk (default: the temporary folder)." type:"path"`
	JSON        bool          `name:"json" help:"Print one JSON object."`
}

// Run loads the server and prints the figures.
func (c *Command) Run(ctx context.Context, std terminal.Streams, args options.Arguments) error {
	if err := errors.Join(args.Refused(), c.check()); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(c.Scratch, "payledger-bench-*")
	if err != nil {
		return fmt.Errorf("--scratch: %w", err)
	}
	defer os.RemoveAll(dir)
	server, err := ceiling.Open(ctx, dir, 1, c.Concurrency)
	if err != nil {
		return err
	}
	m := &measurement{command: c, dir: dir, server: server}
	err = m.run(ctx)
	if err := errors.Join(err, server.Close()); err != nil {
		return err
	}
	r := m.report()
	if r.Errors > 0 {
		fmt.Fprintf(std.Err, "payledger: %d requests failed; the first: %v\n", r.Errors, terminal.Harmless(m.ours.tally.first.Error()))
	}
	if c.JSON {
		return r.json(std.Out)
	}
	return r.text(std.Out)
}

// check returns the faults of the flags.
func (c *Command) check() error {
	var faults []string
	fault := func(wrong bool, text string) {
		if wrong {
			faults = append(faults, text)
		}
	}
	fault(c.APIKey == "", "--api-key (PAYLEDGER_API_KEY) is needed")
	fault(strings.HasPrefix(c.APIKey, options.LivePrefix), "--api-key is of production: a load test makes payments, and belongs in a sandbox")
	fault(!strings.HasPrefix(c.URL, "http://"), fmt.Sprintf("--url %q does not begin with http://", c.URL))
	fault(c.Yardstick != "" && !strings.HasPrefix(c.Yardstick, "http://"), fmt.Sprintf("--yardstick %q does not begin with http://", c.Yardstick))
	fault(c.Concurrency < 1 || c.Concurrency > 1024, "--concurrency must be between 1 and 1024")
	fault(c.Duration < time.Second, "--duration must be at least 1s")
	fault(c.Rounds < 1 || c.Rounds > 100, "--rounds must be between 1 and 100")
	fault(c.Rate < 0, "--rate must not be negative")
	fault(c.Yardstick != "" && slices.Contains([]string{"lifecycle", "replay"}, c.Scenario), "--yardstick knows no "+c.Scenario)
	if len(faults) == 0 {
		return nil
	}
	return options.Usage(errors.New(strings.Join(faults, "; ")))
}

// measured is one service with what was measured on it.
type measured struct {
	*scenario
	tally   tally
	load    *load
	spent   used
	missing int // webhooks that did not come
}

// measurement is one run.
type measurement struct {
	command         *Command
	dir             string
	server          *ceiling.Server
	ours            *measured
	theirs          *measured // nil without --yardstick
	trips           tally
	fsyncs, publish []ceiling.Rate
}

// run makes the rounds.
func (m *measurement) run(ctx context.Context) (err error) {
	c, run := m.command, strconv.FormatInt(time.Now().UnixMilli(), 36)
	m.ours, err = c.open(ctx, &service{url: c.URL, key: c.APIKey, metrics: c.AdminURL}, run, true)
	if err != nil {
		return fmt.Errorf("%s: %w", c.URL, err)
	}
	services := []*measured{m.ours}
	if c.Yardstick != "" {
		m.theirs, err = c.open(ctx, &service{url: c.Yardstick, key: c.APIKey, metrics: c.Yardstick}, run, false)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Yardstick, err)
		}
		services = append(services, m.theirs)
	}
	for _, s := range services { // a second for caches and connections
		if err := s.round(ctx, c.Scenario, time.Second); err != nil {
			return err
		}
		s.tally, s.spent, s.visited = tally{}, used{}, 0
	}
	for range c.Rounds {
		for _, s := range services {
			if err := s.round(ctx, c.Scenario, c.Duration/time.Duration(c.Rounds)); err != nil {
				return err
			}
		}
		if err := m.ceilings(ctx); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// open prepares the scenario at a service, and connects.
func (c *Command) open(ctx context.Context, s *service, run string, vaults bool) (*measured, error) {
	m := &measured{scenario: &scenario{service: s, run: run, began: map[string]time.Time{}, pages: map[*wire]string{}, orders: map[*wire]*order{}}}
	if err := m.prepare(ctx, c.Scenario, vaults); err != nil {
		return nil, err
	}
	m.load = &load{next: new(atomic.Int64), rate: c.Rate}
	for range c.Concurrency {
		w, err := dial(ctx, s.url, s.key)
		if err != nil {
			return nil, err
		}
		m.load.wires = append(m.load.wires, w)
	}
	return m, nil
}

// round loads the service for a time and adds what it measured.
func (m *measured) round(ctx context.Context, scenario string, lasting time.Duration) error {
	before, err := m.used(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	part := m.load.run(ctx, lasting, m.request(scenario))
	if scenario == "webhooks" {
		took, last, missing := m.delivered(ctx)
		part.took, m.missing = took, m.missing+missing
		part.errors += missing
		if part.lasted = last.Sub(began); missing > 0 && part.first == nil {
			part.first = fmt.Errorf("%d webhooks did not come within %s", missing, webhookPatience)
		}
	}
	after, err := m.used(ctx)
	m.spent.cpu += after.cpu - before.cpu
	m.spent.events += after.events - before.events
	m.tally.add(part)
	return err
}

// What one round measures of the machine.
const (
	ceilingTrips     = 200
	ceilingFsyncs    = 100
	ceilingPublishes = 2000
	ceilingSize      = 2300 // bytes of an event before compression
)

// ceilings measures the machine.
func (m *measurement) ceilings(ctx context.Context) error {
	w, err := dial(ctx, m.ours.url, m.ours.key) // the server closes connections that are idle
	if err != nil {
		return err
	}
	defer w.conn.Close()
	began := time.Now()
	for range ceilingTrips {
		start := time.Now()
		if _, err := expect(w, "GET", "/healthz", "", ""); err != nil {
			return err
		}
		m.trips.took = append(m.trips.took, time.Since(start))
	}
	m.trips.lasted += time.Since(began)
	fsyncs, err := ceiling.Fsyncs(m.dir, ceilingFsyncs, ceilingSize)
	if err != nil {
		return err
	}
	publishes, err := m.server.Publishes(ctx, ceilingPublishes, ceilingSize)
	m.fsyncs, m.publish = append(m.fsyncs, fsyncs), append(m.publish, publishes)
	return err
}
