package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"

	"payledger/cmd/payledger/web"
	"payledger/httpapi"
)

// listen listens on the addresses of the API, the operators and the simulator before anything is
// written: an address in use must not leave an initialized folder. Until the service is ready, all
// addresses answer with the progress of the start.
func (a *App) listen(ctx context.Context) (err error) {
	a.apiDoor = web.NewDoor(httpapi.Starting(rand.Reader, a.progress.String))
	surplus := httpapi.Surplus(rand.Reader, a.apiDoor, a.Intake.Tally)
	if a.API, err = web.Serve(ctx, a.Options.Listen, web.Config{Handler: a.apiDoor, Surplus: surplus, Caps: a.caps, TLS: a.tls()}); err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	a.Options.PublicURL = cmp.Or(a.Options.PublicURL, a.API.URL)
	a.adminDoor = web.NewDoor(a.progress.Admin())
	if a.Admin, err = web.Serve(ctx, a.Options.AdminListen, a.adminWeb(a.adminDoor)); err != nil {
		return fmt.Errorf("--admin-listen: %w", err)
	}
	if a.Options.NatsListen != "" { // its server listens itself, later
		listener, err := web.Listen(ctx, a.Options.NatsListen)
		if err == nil {
			err = listener.Close()
		}
		if err != nil {
			return fmt.Errorf("--nats-listen: %w", err)
		}
	}
	if !a.Options.InProcess() {
		return nil
	}
	a.simDoor = web.NewDoor(a.progress.Admin())
	if a.Sim, err = web.Serve(ctx, a.Options.SimListen, web.Config{Handler: a.simDoor}); err != nil {
		return fmt.Errorf("--sim-listen: %w", err)
	}
	return nil
}

func (a *App) openDoors(context.Context) error {
	api, err := httpapi.New(a.apiConfig())
	if err != nil {
		return err
	}
	a.answers = api.Answers
	if err := a.shareRates(api); err != nil {
		return err
	}
	if err := a.shareCounts(api); err != nil {
		return err
	}
	handler, err := a.connectNodes(api)
	if err != nil {
		return err
	}
	a.apiDoor.Open(a.whileLeaving(handler))
	a.adminDoor.Open(a.adminHandler())
	return nil
}

func (a *App) tls() *web.Certificate {
	if a.Options.TLSCert == "" {
		return nil
	}
	return &web.Certificate{Cert: a.Options.TLSCert, Key: a.Options.TLSKey}
}
