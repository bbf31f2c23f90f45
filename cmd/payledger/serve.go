package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// serveCommand runs the service until SIGTERM.
type serveCommand struct {
	Options `embed:""`
}

// Run starts the service, prints the credentials of an account it made and the ready line, and stops in
// order on SIGTERM; it fails when a part fails without which the service is of no use.
func (c *serveCommand) Run(ctx context.Context, std streams, args arguments) error {
	c.arguments = args
	log, err := c.logger(std.err)
	if err != nil {
		return err
	}
	tell := announcer{out: std.out, people: forPeople(std.out, c.LogFormat)}
	app, err := startShowing(ctx, c.Options, log, time.Now, tell.credentials)
	if err != nil {
		return err
	}
	if err := tell.ready(app.ready(), c.Environment); err != nil {
		return errors.Join(err, app.Stop())
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

// printed says which output failed.
func printed(err error) error {
	if err != nil {
		return fmt.Errorf("stdout: %w", err)
	}
	return nil
}
