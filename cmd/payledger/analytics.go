package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"path/filepath"

	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/limits"
	"payledger/eventstore/eventstream"
	"payledger/projections/eventfeed"
)

// openAnalytics starts the NATS server for analysts and its feed (I2). Its secrets are derived from the master key.
func (a *App) openAnalytics(context.Context) (err error) {
	if a.options.NatsListen == "" {
		return nil
	}
	config := eventstream.Config{
		Dir: filepath.Join(a.options.Data, ledger.AnalyticsFolder), Listen: a.options.NatsListen, Derive: a.ledger.Derive,
		Memory: limits.Of(a.options.Memory).Analysts,
		Lost: func(account string) {
			a.log.Warn().Str("account", account).Msg("the server for analysts dropped requests of an account, because there were too many")
		},
	}
	if files := a.tls(); files != nil {
		certificate, err := tls.LoadX509KeyPair(files.Cert, files.Key)
		if err != nil {
			return fmt.Errorf("--tls-cert, --tls-key: %w", err)
		}
		config.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	}
	if a.analysts, err = eventstream.Start(config); err != nil {
		return fmt.Errorf("--nats-listen: %w", err)
	}
	a.feed = eventfeed.New(eventfeed.Config{
		Store: a.ledger.Store, Server: a.analysts, Retention: a.options.EventsRetention, Now: a.clock, Logger: a.log,
	})
	return nil
}
