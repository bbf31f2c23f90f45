package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
)

// serveCommand runs the service until SIGTERM.
type serveCommand struct {
	Options `embed:""`
}

// Run starts the service, prints the credentials of an account it made and the ready line, and stops in
// order on SIGTERM; it fails when a part fails without which the service is of no use.
func (c *serveCommand) Run(ctx context.Context, std streams) error {
	log, err := c.logger(std.err)
	if err != nil {
		return err
	}
	app, err := Start(ctx, c.Options, log)
	if err != nil {
		return err
	}
	if err := announce(app, std.out); err != nil {
		return err
	}
	var failure error
	select {
	case <-ctx.Done():
		log.Info().Msg("stopping: finishing the requests under way")
	case failure = <-app.Failed():
	case failure = <-app.ledger.store.Fatal():
		return failure // the disk keeps no promises: an orderly stop would wait for it
	}
	if err := app.Stop(); failure == nil {
		failure = err
	}
	return failure
}

// announce prints the one or two lines that scripts wait for (I1).
func announce(app *App, out io.Writer) error {
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	if app.credentials != nil {
		if err := lines.Encode(map[string]any{"credentials": app.credentials}); err != nil {
			return fmt.Errorf("stdout: %w", err)
		}
	}
	if err := lines.Encode(app.ready()); err != nil {
		return fmt.Errorf("stdout: %w", err)
	}
	return nil
}
