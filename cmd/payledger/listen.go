package main

import (
	"context"
	"crypto/rand"
	"fmt"

	"payledger/httpapi"
)

// listen takes every address: of the API, of the operators and of the simulator. It comes before anything is written: an
// address that is in use must not leave a folder behind that is initialized. Until the service is ready, the API and the
// operators' address say how far the start is.
func (a *App) listen(ctx context.Context) error {
	listener, err := listen(ctx, a.options.Listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	if a.options.PublicURL == "" {
		a.options.PublicURL = a.scheme() + "://" + listener.Addr().String()
	}
	a.apiDoor = newDoor(httpapi.Starting(rand.Reader, a.progress.String))
	a.api = serveOn(listener, a.web(a.apiDoor))
	a.adminDoor = newDoor(a.progress.adminStarting())
	if a.admin, err = serveWeb(ctx, a.options.AdminListen, a.adminWeb(a.adminDoor)); err != nil {
		return fmt.Errorf("--admin-listen: %w", err)
	}
	if a.options.ProcessorURL != "" {
		return nil
	}
	a.simDoor = newDoor(a.progress.adminStarting())
	if a.sim, err = serveWeb(ctx, a.options.SimListen, webConfig{handler: a.simDoor}); err != nil {
		return fmt.Errorf("--sim-listen: %w", err)
	}
	return nil
}

// openDoors lets requests in.
func (a *App) openDoors(context.Context) error {
	api, err := httpapi.New(a.apiConfig())
	if err != nil {
		return err
	}
	a.answers = api.Answers
	a.apiDoor.open(api)
	a.adminDoor.open(a.adminHandler())
	return nil
}

func (a *App) scheme() string {
	if a.options.TLSCert != "" {
		return "https"
	}
	return "http"
}

func (a *App) tls() *tlsFiles {
	if a.options.TLSCert == "" {
		return nil
	}
	return &tlsFiles{a.options.TLSCert, a.options.TLSKey}
}
