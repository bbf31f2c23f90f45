package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/clock"
	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/eventstore/commands/accounts"
)

type serveCommand struct {
	options.Options `embed:""`
}

// Run starts the service, prints new credentials and the ready line, and stops in order on SIGTERM,
// also while it starts.
// It fails if an essential part fails.
func (c *serveCommand) Run(ctx context.Context, std terminal.Streams, args options.Arguments) error {
	c.Arguments = args
	out := std.Err
	if !terminal.ForPeople(out, c.LogFormat) && c.LogFormat != terminal.Console {
		lines := terminal.NewLogBuffer(out)
		defer lines.Flush()
		out = lines
	}
	log, err := c.Logger(out)
	if err != nil {
		return err
	}
	tell := announcer{out: std.Out, people: terminal.ForPeople(std.Out, c.LogFormat)}
	service, err := app.StartOn(ctx, c.Options, log, clock.Now, nil, tell.credentials)
	if errors.Is(err, app.ErrStopped) {
		log.Info().Msg(err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	if err := tell.ready(service.Ready(), c.Environment); err != nil {
		return errors.Join(err, service.Stop())
	}
	fatal, failure := service.ServeUntil(ctx.Done())
	if failure == nil {
		log.Info().Dur("drainMs", c.Drain).Msg("stopping: not ready any more; requests are taken until the drain time is over, and finished")
		service.Leave()
		drained, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.Drain)
		fatal, failure = service.ServeUntil(drained.Done())
		cancel()
	}
	if fatal {
		return failure
	}
	if err := service.Stop(); failure == nil {
		failure = err
	}
	return failure
}

func printed(err error) error {
	if err != nil {
		return fmt.Errorf("stdout: %w", err)
	}
	return nil
}

// announcer prints new credentials and the ready line on stdout: JSON lines for scripts, a text for
// people on a terminal (I1).
type announcer struct {
	out    io.Writer
	people bool
	made   *accounts.Credentials
}

func (a *announcer) credentials(made *accounts.Credentials) error {
	a.made = made
	if !a.people {
		return a.line(map[string]any{"credentials": made})
	}
	if err := showCredentials(a.out, *made, false); err != nil {
		return printed(err)
	}
	_, err := fmt.Fprintln(a.out)
	return printed(err)
}

func (a *announcer) ready(r app.Ready, environment string) error {
	if !a.people {
		return a.line(r)
	}
	text := fmt.Sprintf("payledger is ready (%s).\n\n  API         %s\n  dashboard   %s/dashboard\n  reference   %s/docs\n  operators   %s/metrics, /readyz\n", environment, r.API, r.API, r.API, r.Admin)
	if r.Simulator != "" {
		text += "  processors  " + r.Simulator + "\n"
	}
	if r.NATS != "" {
		text += "  NATS        " + r.NATS + "\n"
	}
	if a.made != nil {
		text += fmt.Sprintf("\nTry, in another terminal, the five calls of %[1]s/docs/guides/first-payment:\n\n  export PAYLEDGER_URL=%[1]s PAYLEDGER_API_KEY=%[2]s\n", r.API, a.made.APIKey)
	}
	_, err := fmt.Fprint(a.out, text+"\nCtrl-C stops it.\n")
	return printed(err)
}

func (a *announcer) line(v any) error {
	lines := json.NewEncoder(a.out)
	lines.SetEscapeHTML(false)
	return printed(lines.Encode(v))
}
