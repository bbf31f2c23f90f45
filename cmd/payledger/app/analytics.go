package app

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

// openAnalytics starts the NATS server for analysts and its feed (I2). Its secrets are derived from
// the master key.
func (a *App) openAnalytics(context.Context) (err error) {
	if a.Options.NatsListen == "" {
		return nil
	}
	config := eventstream.Config{
		Dir: filepath.Join(a.Options.Data, ledger.AnalyticsFolder), Listen: a.Options.NatsListen, Derive: a.Ledger.Derive,
		Memory: limits.Of(a.Options.Memory).Analysts,
		Lost: func(account string) {
			a.log.Warn().Str("account", account).Msg("the server for analysts dropped requests of an account, because there were too many")
		},
		Cut: func(fault string) {
			a.log.Warn().Str("fault", fault).Msg("damaged messages of the stream EVENTS for analysts were cut off; they are written again")
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
	a.Feed = eventfeed.New(eventfeed.Config{
		Store: a.Ledger.Store, Server: a.analysts, Retention: a.Options.EventsRetention, Now: a.clock, Logger: a.log,
	})
	return nil
}
