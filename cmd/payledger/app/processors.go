package app

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/domain/processor"
	"payledger/processorsim/adapter"
	"payledger/processorsim/router"
	"payledger/processorsim/simulator"
)

func (a *App) openProcessors(context.Context) (err error) {
	targets, faults := a.Options.Targets(&a.Options.ProcessorSecrets)
	authorities, more := a.Options.Authorities()
	if faults = append(faults, more...); len(faults) > 0 { // a file has changed since the options were checked
		return options.UsageOf(faults)
	}
	if a.Options.InProcess() {
		if targets, err = a.openSimulator(); err != nil {
			return err
		}
	}
	connections := map[processor.Name]router.Connection{}
	for name, t := range targets {
		connections[name] = router.Connection{
			Connection: adapter.Connection{URL: t.URL, Token: t.Token, CAs: authorities, Timeout: t.CallTimeout(a.Options.PaymentTimeout)}, Secret: a.secretOf(t),
			Simulated: a.Options.InProcess(),
		}
	}
	a.Processors, err = router.Open(router.Config{Connections: connections, Timed: a.durations.Processor, Now: a.clock})
	return err
}

// openSimulator opens the simulator of this process, which is all processors.
func (a *App) openSimulator() (map[processor.Name]options.Target, error) {
	dir := filepath.Join(a.Options.Data, ledger.SimulatorFolder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("simulator: %w", err)
	}
	one := options.Target{URL: a.Sim.URL, Secret: strings.Join(a.Options.ProcessorSecret, "")}
	var err error
	if a.simulator, err = simulator.New(simulator.Config{Dir: dir, Secret: a.secretOf(one), Log: a.log}); err != nil {
		return nil, err
	}
	a.simDoor.Open(a.simulator.Handler())
	targets := map[processor.Name]options.Target{}
	for _, name := range processor.Names {
		targets[name] = one
	}
	return targets, nil
}

// secretOf returns the secret of a processor's notifications, or a key derived from the master key
// for a simulator of the sandbox that shares it.
func (a *App) secretOf(t options.Target) []byte {
	if t.Secret != "" {
		return []byte(t.Secret)
	}
	return []byte(hex.EncodeToString(a.Ledger.Derive("processor notifications")))
}

// processorState is a processor in /readyz at the operators' address.
type processorState struct {
	State  processor.ConnectionState `json:"state"`
	Since  *time.Time                `json:"since,omitempty"`
	Reason string                    `json:"reason,omitempty"`
	Unfit  int                       `json:"unfitAnswers,omitempty"`
}

// processorStates returns the state of every processor with an address. A processor that does not
// answer, or whose answers do not fit, leaves the service ready: the store works, and so do
// payments at other processors.
func (a *App) processorStates() map[processor.Name]processorState {
	states := map[processor.Name]processorState{}
	for _, name := range a.Processors.Names() {
		c := a.Processors.Connection(name)
		reasons := slices.DeleteFunc([]string{c.Reason, c.Unfit.Reason, c.Unsigned}, func(reason string) bool { return reason == "" })
		states[name] = processorState{State: c.State, Since: sinceOrNil(c), Reason: strings.Join(reasons, "; "), Unfit: c.Unfit.Recent}
	}
	return states
}

func sinceOrNil(c processor.Connection) *time.Time {
	if c.Since.IsZero() {
		return nil
	}
	since := c.Since.UTC()
	return &since
}
