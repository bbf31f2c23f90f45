package command

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"payledger/cmd/payledger/demo"
	"payledger/cmd/payledger/demo/connector"
	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
)

// connect starts the connector of --processor, if there is one, and makes it the only processor of
// a service. end ends it.
func (c *demoCommand) connect(ctx context.Context, std terminal.Streams, service *options.Options) (at *connector.Connector, end func() error, err error) {
	if c.Processor == "" {
		return nil, func() error { return nil }, nil
	}
	at, err = connector.Open(ctx, connector.Config{
		Program: c.Processor, Env: options.Unset(os.Environ()), Dir: filepath.Join(service.Data, "connector"), Log: std.Err,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("--processor: %w", err)
	}
	name := string(at.Name) + "="
	service.Processor, service.ProcessorToken, service.ProcessorSecret = []string{name + at.URL}, []string{name + at.Token}, []string{name + at.Secret}
	return at, at.Close, nil
}

// gone is closed when the connector is gone; nil without one.
func gone(at *connector.Connector) <-chan struct{} {
	if at == nil {
		return nil
	}
	return at.Ended()
}

// books returns the hint about the processors' side.
func books(o demo.Outlook) string {
	if o.Connector == nil {
		return "the processors' own books  " + o.Simulator + "/sim/books"
	}
	text := fmt.Sprintf("the processor %s  %s, its book in %s", o.Connector.Name, o.Connector.Own, filepath.Join(o.Data, "connector"))
	for _, outcome := range slices.Sorted(maps.Keys(o.Connector.Declared.TestCards)) {
		text += fmt.Sprintf("\n    card %s  %s", o.Connector.Declared.TestCards[outcome], strings.ReplaceAll(string(outcome), "_", " "))
	}
	return text
}

// more returns the hint before listen. The scenarios of trigger are those of the simulator.
func more(o demo.Outlook) string {
	if o.Connector != nil {
		return "bring webhooks to a program of yours, or watch the requests"
	}
	return "make something else happen, bring webhooks to a program of yours, or watch the requests\n  " + terminal.Program() + " trigger --list"
}
