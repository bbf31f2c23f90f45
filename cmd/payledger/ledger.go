package main

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"payledger/eventstore"
	"payledger/eventstore/secrets"
)

// ledger is the log with its secrets, however it is reached.
type ledger struct {
	server *eventstore.Server // nil with an external cluster
	store  *eventstore.Store
	vault  *secrets.Store
	master secrets.Key
}

// openLedger opens the log in the data folder, or at --nats-url. readOnly opens a stopped server's log and
// changes nothing in it. A log that the master key does not open is refused before anything is changed.
func openLedger(ctx context.Context, o Options, log zerolog.Logger, readOnly bool) (*ledger, error) {
	return openLedgerAs(ctx, o, eventstore.Config{ReadOnly: readOnly, Now: time.Now, Logger: log})
}

// openLedgerAs opens the log with what config says beside the options.
func openLedgerAs(ctx context.Context, o Options, config eventstore.Config) (*ledger, error) {
	l := &ledger{}
	config.URL, config.Creds, config.Shards = o.NatsURL, o.NatsCreds, o.Shards
	config.Random, config.SoleWriter, config.Memory = rand.Reader, o.NatsURL == "", memoryOf(o.Memory).Caches
	key, err := readMasterKey(o)
	if err != nil {
		return nil, err
	}
	if !key.held && (o.existing || config.ReadOnly) {
		return nil, key.missing()
	}
	if o.NatsURL == "" {
		if l.server, err = eventstore.StartServer(eventstore.ServerConfig{Dir: filepath.Join(o.Data, eventsFolder), Name: "payledger", Secret: key.check}); err != nil {
			return nil, err
		}
		config.Server = l.server
	} else if config.Secret = key.check; !config.ReadOnly {
		config.Tips = filepath.Join(o.Data, "tips")
	}
	if l.master, err = key.orNew(); err != nil {
		return nil, errors.Join(err, l.close())
	}
	if l.store, err = eventstore.Open(ctx, config); err != nil {
		return nil, errors.Join(err, l.close())
	}
	if l.vault, err = secrets.Open(ctx, l.store, l.master, rand.Reader); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

func (l *ledger) close() error {
	var errs []error
	if l.store != nil {
		errs = append(errs, l.store.Close())
	}
	if l.server != nil {
		errs = append(errs, l.server.Close())
	}
	return errors.Join(errs...)
}

// derive makes a key for one purpose from the master key.
func (l *ledger) derive(purpose string) []byte {
	h := hmac.New(sha256.New, l.master[:])
	h.Write([]byte(purpose))
	return h.Sum(nil)
}
