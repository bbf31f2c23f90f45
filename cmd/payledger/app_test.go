package main

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/domain/account"
	"payledger/eventstore/commands/accounts"
	"payledger/eventstore/commands/accounts/accountstest"
	"payledger/eventstore/eventstoretest"
	"payledger/notifier"
	"payledger/projections/eventjson/eventjsontest"
)

// testOptions run the service on free ports, with webhooks to this machine allowed.
func testOptions(dir string) options.Options {
	return options.Options{
		Data: dir, Listen: "127.0.0.1:0", AdminListen: "127.0.0.1:0", SimListen: "127.0.0.1:0", Environment: account.Sandbox,
		PaymentTimeout: 90 * time.Second, ActionTimeout: 24 * time.Hour, ClientTokenTTL: 24 * time.Hour, WebhookTimeout: 10 * time.Second, DisputeLookup: time.Minute, WriteTimeout: options.DefaultWriteTimeout,
		DeliveryRetention: notifier.DefaultRetention, ReadTimeout: time.Minute,
		WebhookAllowCIDR: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, LogLevel: "warn", LogFormat: "console",
	}
}

// startApp starts the service in this process for the test's life. A new data folder is filled as init does.
func startApp(t testing.TB, o options.Options) *App {
	t.Helper()
	made := initialized(t, o.Data)
	log := zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel)
	app, err := Start(context.Background(), o, log)
	if err != nil {
		t.Fatal(err)
	}
	if made != nil {
		app.credentials = made
	}
	t.Cleanup(func() {
		eventjsontest.CheckLog(t, app.ledger.Store)
		if err := app.Stop(); err != nil {
			t.Error(err)
		}
	})
	return app
}

// initialized fills an empty data folder with a ledger that has its account; nil when the folder has one.
func initialized(t testing.TB, dir string) *accounts.Credentials {
	t.Helper()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		return nil
	}
	made := accountstest.Initialized(t, filepath.Join(dir, ledger.EventsFolder))
	if err := os.WriteFile(filepath.Join(dir, "master.key"), []byte(eventstoretest.MasterKey.Text()), 0o600); err != nil {
		t.Fatal(err)
	}
	return &made
}

// events is the number of events in the log.
func (a *App) events(t testing.TB) uint64 {
	t.Helper()
	for shard := range a.ledger.Store.Shards() {
		_, err := a.ledger.Store.LastSeq(context.Background(), shard)
		if err != nil {
			t.Fatal(err)
		}
	}
	return a.ledger.Store.Events()
}
