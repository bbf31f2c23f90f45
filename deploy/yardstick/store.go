package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed schema.sql
var schema string

const statusEvent = "PAYMENT.STATUS" // the one kind of event here

// store has the statements. pgx prepares each once for a connection.
type store struct {
	pool *pgxpool.Pool
}

func openStore(ctx context.Context, dsn string, connections int) (*store, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	config.MaxConns, config.MinConns = int32(connections), int32(connections)
	config.ConnConfig.RuntimeParams["enable_seqscan"] = "off" // every statement has an index; plans made while the tables are small stay right
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if _, err := pool.Exec(ctx, schema); err != nil {
		pool.Close()
		return nil, err
	}
	return &store{pool}, nil
}

func (s *store) close() { s.pool.Close() }

// repeated is the payment whose idempotency key a request repeats.
type repeated struct {
	id     uuid
	status string
}

func (r *repeated) Error() string { return "the idempotency key was used for payment " + r.id.String() }

// createStatement is a whole transaction in one round trip.
const createStatement = `
with payment as (
  insert into payments (id, idempotency_key, created_at, status, order_id, customer_id, currency_code, amount, document)
  values ($1, nullif($2, ''), $3, $4, $5, $6, $7, $8, $9)
), event as (
  insert into events (payment_id, revision, id, type, at, data) values ($1, 1, $10, $11, $3, $12)
)
insert into outbox (id, payment_id, event_type, created_at, due) values ($10, $1, $11, $3, $3)`

// create writes the payment, its event and its outbox row, and returns the answer.
func (s *store) create(ctx context.Context, key string, c creation) ([]byte, error) {
	now := time.Now().UTC().Truncate(time.Microsecond)
	p, fact := authorize(c, now)
	document, err1 := json.Marshal(p)
	data, err2 := json.Marshal(fact)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	_, err := s.pool.Exec(ctx, createStatement, p.ID, key, now, p.Status, p.OrderID, p.CustomerID, p.CurrencyCode, p.Amount, document,
		newID(now), statusEvent, data)
	return document, s.repetition(ctx, key, err)
}

// repetition returns the error of an insert into payments: a *repeated if the idempotency key is
// there.
func (s *store) repetition(ctx context.Context, key string, err error) error {
	failure, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || failure.ConstraintName != "payments_idempotency_key_key" {
		return err
	}
	earlier := &repeated{}
	if err := s.pool.QueryRow(ctx, `select id, status from payments where idempotency_key = $1`, key).Scan(&earlier.id, &earlier.status); err != nil {
		return err
	}
	return earlier
}

// payment returns the JSON of a payment, or nil. A payment without an outcome has no document yet:
// its request has all of it.
func (s *store) payment(ctx context.Context, id uuid) (document []byte, err error) {
	err = s.pool.QueryRow(ctx, `select document from payments where id = $1`, id).Scan(&document)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, nil
	case err != nil || document != nil:
		return document, err
	}
	var at time.Time
	var data []byte
	if err := s.pool.QueryRow(ctx, `select at, data from events where payment_id = $1 and revision = 1`, id).Scan(&at, &data); err != nil {
		return nil, err
	}
	return pendingDocument(data, id, at)
}

type endpoint struct {
	ID          uuid     `json:"id"`
	URL         string   `json:"url"`
	Description string   `json:"description"`
	EventTypes  []string `json:"eventTypes"` // none: all
	Enabled     bool     `json:"enabled"`
	CreatedAt   string   `json:"createdAt"`
}

// register adds an endpoint. The events before the first endpoint have no receiver: they leave the
// outbox.
func (s *store) register(ctx context.Context, e endpoint, at time.Time) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var first bool
		if err := tx.QueryRow(ctx, `select not exists (select from endpoints)`).Scan(&first); err != nil {
			return err
		}
		if first {
			if _, err := tx.Exec(ctx, `truncate outbox`); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `insert into endpoints (id, url, description, event_types, created_at) values ($1, $2, $3, $4, $5)`,
			e.ID, e.URL, e.Description, e.EventTypes, at)
		return err
	})
}

// remove deletes an endpoint, and reports whether it was there. Without endpoints, events stay in
// the outbox until the next first endpoint.
func (s *store) remove(ctx context.Context, id uuid) (bool, error) {
	done, err := s.pool.Exec(ctx, `delete from endpoints where id = $1`, id)
	return done.RowsAffected() > 0, err
}

func (s *store) endpoints(ctx context.Context) ([]endpoint, error) {
	rows, err := s.pool.Query(ctx, `select id, url, description, event_types, created_at from endpoints order by created_at`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (e endpoint, err error) {
		var at time.Time
		err = row.Scan(&e.ID, &e.URL, &e.Description, &e.EventTypes, &at)
		e.Enabled, e.CreatedAt = true, at.UTC().Format(timeFormat)
		return e, err
	})
}

// pending is a row of the outbox with its payment.
type pending struct {
	event     uuid
	eventType string
	createdAt time.Time
	attempts  int
	document  []byte
}

// claim locks the oldest rows that are due. They stay locked until tx ends; other relays skip them.
func claim(ctx context.Context, tx pgx.Tx, limit int) ([]pending, error) {
	rows, err := tx.Query(ctx, `
select o.id, o.event_type, o.created_at, o.attempts, (select document from payments p where p.id = o.payment_id)
from outbox o where o.due <= now() order by o.id limit $1 for update skip locked`, limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (p pending, err error) {
		err = row.Scan(&p.event, &p.eventType, &p.createdAt, &p.attempts, &p.document)
		return p, err
	})
}

// outcomes are the results of a batch, by column.
type outcomes struct {
	done []uuid // leave the outbox

	retried []uuid
	due     []time.Time // of the retried

	events, endpoints []uuid // of the log
	attempts, codes   []int32
	at                []time.Time
}

// settle logs the attempts of a batch, removes or postpones its rows, and commits.
func settle(ctx context.Context, tx pgx.Tx, o *outcomes) error {
	batch := &pgx.Batch{}
	batch.Queue(`
with done as (delete from outbox where id = any($1))
insert into deliveries (event_id, endpoint_id, attempt, status_code, at)
select * from unnest($2::uuid[], $3::uuid[], $4::integer[], $5::integer[], $6::timestamptz[])`,
		o.done, o.events, o.endpoints, o.attempts, o.codes, o.at)
	if len(o.retried) > 0 {
		batch.Queue(`
update outbox set attempts = attempts + 1, due = r.due from unnest($1::uuid[], $2::timestamptz[]) r (id, due) where outbox.id = r.id`,
			o.retried, o.due)
	}
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	return tx.Commit(ctx)
}
