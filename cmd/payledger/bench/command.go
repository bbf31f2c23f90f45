package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
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
	Peers       []string      `help:"More API nodes of the same cluster: the connections are dealt out over --url and these." placeholder:"URL"`
	Processes   []string      `help:"Processes of this machine whose CPU time the report has for each request, as NAME=PID. Those of one name add up." placeholder:"NAME=PID"`
	Scenario    string        `help:"authorize, lifecycle, read, webhooks or replay." enum:"authorize,lifecycle,read,webhooks,replay" default:"authorize"`
	Concurrency int           `help:"Connections." default:"64"`
	Duration    time.Duration `help:"Time under load, in all rounds together." default:"20s"`
	Rounds      int           `help:"Rounds; each has a part of the load and of every yardstick." default:"5"`
	Rate        float64       `help:"Requests per second, due at even times whether or not earlier ones are answered; 0: as fast as the answers come." default:"0"`
	Yardstick   string        `help:"Another service to load in the same rounds: the URL that deploy/yardstick prints. Start it with the same --api-key." placeholder:"URL"`
	NoCeilings  bool          `name:"without-ceilings" help:"Measure the services only, and not what the machine itself can do."`
	Scratch     string        `help:"Folder for the fsyncs and publishes; must be on the disk of the server's data (default: the temporary folder)." type:"path"`
	JSON        bool          `name:"json" help:"Print one JSON object."`
}

// Run loads the server and prints the figures. An interrupted run prints none.
func (c *Command) Run(ctx context.Context, std terminal.Streams, args options.Arguments) (err error) {
	if err := errors.Join(args.Refused(), c.check()); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(c.Scratch, "payledger-bench-*")
	if err != nil {
		return fmt.Errorf("--scratch: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	m := &measurement{command: c, dir: dir, bar: terminal.NewBar(std.Err)}
	defer func() { err = errors.Join(err, m.close(ctx)) }()
	err = m.run(ctx)
	m.bar.Clear()
	if ctx.Err() != nil {
		return errors.New("bench was interrupted, and prints no figures of a part of a run")
	} else if err != nil {
		return err
	}
	r := m.report()
	if r.Errors > 0 {
		fmt.Fprintf(std.Err, "payledger: %s failed; the first: %s\n", terminal.Count(r.Errors, "request"), terminal.Harmless(m.ours.tally.first.Error()))
	}
	if m.theirs != nil && m.theirs.tally.errors > 0 {
		fmt.Fprintf(std.Err, "payledger: %s to --yardstick failed; the first: %s\n", terminal.Count(m.theirs.tally.errors, "request"), terminal.Harmless(m.theirs.tally.first.Error()))
	}
	if r.Requests == 0 {
		return errors.New("no request succeeded, so there are no figures")
	}
	if c.JSON {
		return json.NewEncoder(std.Out).Encode(r)
	}
	return r.text(std.Out)
}

func (c *Command) check() error {
	var faults []string
	fault := func(wrong bool, text string) {
		if wrong {
			faults = append(faults, text)
		}
	}
	address := func(flag, text string) {
		if _, err := addressOf(flag, text); err != nil {
			faults = append(faults, err.Error())
		}
	}
	fault(c.APIKey == "", "--api-key (PAYLEDGER_API_KEY) is missing")
	fault(strings.HasPrefix(strings.TrimSpace(c.APIKey), options.LivePrefix), "--api-key is of production: bench makes payments, so use a server and a key of a sandbox")
	fault(strings.ContainsAny(c.APIKey, "\r\n"), "--api-key has more than one line")
	address("--url", c.URL)
	for _, peer := range c.Peers {
		address("--peers", peer)
	}
	if _, err := parseProcesses(c.Processes); err != nil {
		faults = append(faults, err.Error())
	}
	if c.AdminURL != "" {
		address("--admin-url", c.AdminURL)
	}
	if c.Yardstick != "" {
		address("--yardstick", c.Yardstick)
		fault(slices.Contains([]string{wholeLife, replaying}, c.Scenario), "--yardstick does not go with --scenario "+c.Scenario+": deploy/yardstick has no such requests")
	}
	fault(c.Concurrency < 1 || c.Concurrency > 1024, "--concurrency must be between 1 and 1024")
	fault(c.Duration < time.Second, "--duration must be at least 1s")
	fault(c.Rounds < 1 || c.Rounds > 100, "--rounds must be between 1 and 100")
	fault(!(c.Rate >= 0 && c.Rate <= 1e6), "--rate must be between 0 and 1000000") // NaN is a fault, too
	return options.UsageOf(faults)
}

type measured struct {
	*service
	load  load
	tally tally
	spent used
}

type measurement struct {
	command         *Command
	dir             string
	bar             *terminal.Bar
	server          *ceiling.Server
	ours            *measured
	theirs          *measured // nil without --yardstick
	trips           tally
	fsyncs, publish []ceiling.Rate
}

func (m *measurement) run(ctx context.Context) (err error) {
	c, id := m.command, strconv.FormatInt(time.Now().UnixMilli(), 36)
	m.ours = c.measured("--url", c.URL, c.AdminURL, id)
	for _, peer := range c.Peers {
		address, _ := addressOf("--peers", peer) // check has checked it
		m.ours.peers = append(m.ours.peers, address)
	}
	if m.ours.processes, err = parseProcesses(c.Processes); err != nil {
		return err
	}
	services := []*measured{m.ours}
	if c.Yardstick != "" {
		m.theirs = c.measured("--yardstick", c.Yardstick, c.Yardstick, id)
		services = append(services, m.theirs)
	}
	for _, s := range services {
		if err := s.prepare(ctx, c.Scenario, s == m.ours); err != nil {
			return c.explained(err, s == m.theirs)
		}
	}
	if !c.NoCeilings {
		if m.server, err = ceiling.Open(ctx, m.dir, 1, c.Concurrency); err != nil {
			return err
		}
	}
	for _, s := range services { // a second for caches
		if err := s.round(ctx, c.Scenario, time.Second); err != nil {
			return c.explained(err, s == m.theirs)
		}
		s.tally, s.spent = tally{}, used{}
	}
	for i := range c.Rounds {
		done := uint64(len(m.ours.tally.took)) // of the rounds before, between which the bar is drawn: it takes no time of a round
		m.bar.Step(fmt.Sprintf("round %d of %d", i+1, c.Rounds), "requests", done, done*uint64(c.Rounds)/uint64(max(i, 1)))
		for _, s := range services {
			if err := s.round(ctx, c.Scenario, c.Duration/time.Duration(c.Rounds)); err != nil {
				return c.explained(err, s == m.theirs)
			}
		}
		if err := m.ceilings(ctx); err != nil {
			return err
		}
		slices.Reverse(services) // so that no service is always the first
	}
	return nil
}

// measured returns a service without figures. check has checked the URL.
func (c *Command) measured(flag, url, metrics, run string) *measured {
	address, _ := addressOf(flag, url)
	m := &measured{service: &service{
		url: strings.TrimSuffix(url, "/"), key: c.APIKey, address: address, metrics: metrics, run: run, began: map[string]time.Time{},
	}}
	m.load.rate = c.Rate
	for range c.Concurrency {
		m.load.connections = append(m.load.connections, &connection{})
	}
	return m
}

func (m *measurement) close(ctx context.Context) (err error) {
	for _, s := range []*measured{m.ours, m.theirs} {
		if s != nil {
			err = errors.Join(err, s.close(ctx))
		}
	}
	if m.server != nil {
		err = errors.Join(err, m.server.Close())
	}
	return err
}

func (m *measured) round(ctx context.Context, scenario string, lasting time.Duration) error {
	before, err := m.used(ctx)
	if err != nil {
		return metricsError{err}
	}
	defer m.load.disconnect()
	if err := m.load.connect(ctx, m.service); err != nil {
		return err
	}
	began := time.Now()
	part := m.load.run(ctx, lasting, m.request(scenario))
	if scenario == notifying {
		m.delivered(ctx, began, webhookPatience, &part)
	}
	after, err := m.used(ctx)
	if err != nil {
		return metricsError{err}
	}
	m.spent.add(before, after)
	m.tally.add(part)
	return nil
}

const (
	ceilingTrips     = 200
	ceilingFsyncs    = 100
	ceilingPublishes = 1000
	ceilingSize      = 2300 // bytes of an event before compression
)

func (m *measurement) ceilings(ctx context.Context) error {
	if m.command.NoCeilings {
		return nil
	}
	w, err := dial(ctx, m.ours.service)
	if err != nil {
		return err
	}
	defer w.close()
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
