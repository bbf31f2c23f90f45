package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"payledger/cmd/payledger/starting"
	"payledger/eventstore"
)

// awaitViews returns when the views have all events of the log. It fails if the log is found
// damaged: the views would wait for ever.
func (a *App) awaitViews(ctx context.Context) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	there := make(chan error, 1)
	go func() { there <- a.Views.CaughtUp(ctx) }()
	tick := time.NewTicker(starting.ViewsEvery)
	defer tick.Stop()
	for stands := (starting.Stall{}); ; {
		select {
		case err := <-there:
			return err
		case <-tick.C:
			done, of := a.Views.Progress()
			a.progress.At(starting.Views, done, of)
			stalled := stands.At(done)
			if err := a.Ledger.Store.Healthy(); errors.Is(err, eventstore.ErrUnhealthy) && stalled { // the damage may be elsewhere
				return fmt.Errorf("%s, %d of %d events: %w; payledger verify lists all damage, and payledger restore makes a folder from a back-up", starting.Views, done, of, err)
			}
		}
	}
}
