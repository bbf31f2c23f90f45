package apptest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/options"
	"payledger/eventstore/commands/accounts"
)

const (
	CardChallenged = "4916994064252017" // the customer must pass a check (D13)
	// ClockDelay is the length of each wait in TestClockSetBack, and of all of them after
	// --payment-timeout.
	ClockDelay = 12 * time.Second
)

// StartAt is Start with a clock.
func StartAt(ctx context.Context, o options.Options, log zerolog.Logger, clock func() time.Time) (*app.App, error) {
	return app.StartOn(ctx, o, log, clock, nil, func(*accounts.Credentials) error { return nil })
}

// JumpingClock is the machine's clock plus an offset that a test can set.
type JumpingClock struct{ Ahead atomic.Int64 }

// Now returns the time of the clock.
func (c *JumpingClock) Now() time.Time {
	return time.Now().Round(0).Add(time.Duration(c.Ahead.Load())) // without the monotonic reading, which cannot be set
}

// ClockOptions are the options of a service with short waits.
func ClockOptions(dir, processors string) options.Options {
	o := TestOptions(dir)
	o.ProcessorURL, o.ProcessorSecret = processors, []string{"secret"}
	o.PaymentTimeout, o.ActionTimeout, o.WebhookRetryDelays = 5*time.Second, ClockDelay, []time.Duration{ClockDelay}
	return o
}

// ClockAhead is an environment variable that makes the test binary a service whose clock is ahead.
const ClockAhead = "PAYLEDGER_TEST_CLOCK_AHEAD"

// AheadService is the JSON value of ClockAhead.
type AheadService struct {
	Ahead            time.Duration
	Data, Processors string
}

// runAhead is the main function of such a service: it prints its address, and runs until it is
// killed.
func runAhead(service string) int {
	var c AheadService
	err := json.Unmarshal([]byte(service), &c)
	if err == nil {
		clock := &JumpingClock{}
		clock.Ahead.Store(int64(c.Ahead))
		forgetSettings()
		var app *app.App
		if app, err = StartAt(context.Background(), ClockOptions(c.Data, c.Processors), zerolog.Nop(), clock.Now); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(app.Ready())
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test's process has ended
	return 1
}
