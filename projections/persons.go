package projections

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/person"
	"payledger/domain/session"
	"payledger/eventstore"
	"payledger/eventstore/secrets"
	"payledger/projections/listing"
	"payledger/projections/sqlitefile"
)

func personRow(v *view[person.State]) []any {
	s := &v.state
	return []any{
		v.key.ID, string(v.key.Account), s.CustomerID, string(s.Session), int64(s.Erased), s.ErasedAt.UnixMicro(), int64(s.Destroyed),
	}
}

func (m *model) writePersons(ctx context.Context, b *batch) error {
	for i := range b.persons.list {
		v := &b.persons.list[i]
		if _, err := m.Statements[upsertPerson].ExecContext(ctx, personRow(v)...); err != nil {
			return err
		}
		m.erasures = true
		if err := m.erasePayments(ctx, v); err != nil {
			return err
		}
	}
	return nil
}

// erasePayments takes the e-mail hash out of the payments that have data under an erased key of a
// person.
func (m *model) erasePayments(ctx context.Context, v *view[person.State]) error {
	if err := m.loadPacker(ctx); err != nil {
		return err
	}
	erase, id := eraseCustomer, v.state.CustomerID
	if id == "" {
		erase, id = eraseGuest, string(v.state.Session)
	}
	var erased []int64
	err := sqlitefile.Rows(m.Statements[erase].QueryContext(ctx, string(v.key.Account), id, int64(v.state.Erased))).Each(func(scan sqlitefile.Scan) error {
		var row int64
		err := scan(&row)
		erased = append(erased, row)
		return err
	})
	if err != nil {
		return err
	}
	for _, row := range erased {
		if row > m.packer.packed {
			continue
		}
		key := columnKey(columnEmail, (row-1)/m.sizes.block)
		if err := m.repackColumn(ctx, key, []lateRow{{row: row}}, func(lateRow) (uint32, error) { return textCode(""), nil }); err != nil {
			return err
		}
	}
	return nil
}

// erasedBefore reports whether a new payment's personal data was erased before: the erasure may be
// an event of another shard.
func (m *model) erasedBefore(ctx context.Context, v *view[payment.State]) (bool, error) {
	if !m.erasures || v.state.EmailHash == "" {
		return false, nil
	}
	var erased uint64
	err := m.Statements[selectErased].QueryRowContext(ctx, string(PersonOf(v.key.Account, v.state.CustomerID, v.state.Session))).Scan(&erased)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return max(v.state.KeyNumber, 1) <= erased, err
}

// PersonOf returns the id of the person of a payment.
func PersonOf(account domain.AccountID, customer string, session domain.SessionID) domain.PersonID {
	return domain.PersonIDFor(secrets.PersonalKeyName(account, customer, session))
}

// forget drops the keys of erased persons from memory. Every node reads every erasure.
func (p *Projections) forget(events []*eventstore.Recorded) error {
	for _, r := range events {
		if r.Aggregate != eventstore.Persons.Name {
			continue
		}
		e, err := eventstore.Persons.Event(r)
		if err != nil {
			return err
		}
		if erased, is := e.(person.Erased); is {
			p.Secrets.Forget(secrets.PersonalKeyName(erased.Account, erased.CustomerID, erased.Session), erased.Number)
		}
	}
	return nil
}

// CustomerSessions returns the client sessions that name or named a customer, and those in which
// the customer paid or entered a vaulted card. known: the log has a session, a payment or a vaulted
// instrument of the customer. Everything in the log at the call counts.
func (p *Projections) CustomerSessions(ctx context.Context, account domain.AccountID, customer string) (sessions []domain.LinkedSession, known bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	if err := p.CaughtUp(ctx); err != nil {
		return nil, false, unavailable(err)
	}
	all, err := rowsOf(ctx, p, "sessions of a customer", func(scan sqlitefile.Scan) (linked domain.LinkedSession, err error) {
		var since int64
		err = scan(&linked.ID, &since)
		linked.Since = time.UnixMicro(since).UTC()
		return linked, err
	}, selectCustomerSessions, string(account), customer)
	if err != nil {
		return nil, false, unavailable(err)
	}
	for _, linked := range all {
		if known = true; linked.ID != "" {
			sessions = append(sessions, linked)
		}
	}
	return sessions, known, nil
}

// HasCustomer reports whether the read model has a session, a payment or a vaulted instrument of a
// customer. It does not wait.
func (p *Projections) HasCustomer(ctx context.Context, account domain.AccountID, customer string) (known bool, err error) {
	m, done := p.reading()
	defer done()
	err = m.Readers().QueryRowContext(ctx, selectHasCustomer, string(account), customer).Scan(&known)
	if err != nil {
		return false, unavailable(fmt.Errorf("projections: customer: %w", m.Noticed(err)))
	}
	return known, nil
}

// Customer is a customer of an account, and the newest erasure of the customer's personal data.
type Customer struct {
	ID       string
	ErasedAt *time.Time
	Due      bool // an erased key may still exist
}

// Customers reads a page of at most limit customers of an account after from, in the order of their
// ids, with all that this node acknowledged: those that a client session, a payment or a saved card
// names or named.
func (p *Projections) Customers(ctx context.Context, account domain.AccountID, from *listing.Place, limit int) (listing.Page[Customer], error) {
	return current(ctx, p, func(ctx context.Context) (page listing.Page[Customer], err error) {
		after := ""
		if from != nil {
			after = from.ID
		}
		ids, err := rowsOf(ctx, p, "customers", func(scan sqlitefile.Scan) (id string, err error) { return id, scan(&id) },
			selectCustomers, string(account), after, limit+1)
		if err != nil {
			return page, err
		}
		of := listing.PageOf(ids, limit, func(id string) *listing.Place { return &listing.Place{ID: id} })
		page.Next = of.Next
		for _, id := range of.Data {
			one, err := p.erasureOf(ctx, account, id, eventstore.Applied)
			if err != nil {
				return page, err
			}
			page.Data = append(page.Data, one)
		}
		return page, nil
	})
}

// Customer reads a customer, with all that this node acknowledged; false: the account has none of
// this id.
func (p *Projections) Customer(ctx context.Context, account domain.AccountID, id string) (c Customer, known bool, err error) {
	c, err = current(ctx, p, func(ctx context.Context) (Customer, error) {
		if known, err = p.HasCustomer(ctx, account, id); err != nil || !known {
			return c, err
		}
		return p.erasureOf(ctx, account, id, eventstore.Latest)
	})
	return c, known, err
}

func (p *Projections) erasureOf(ctx context.Context, account domain.AccountID, id string, consistency eventstore.Consistency) (Customer, error) {
	s, err := load(ctx, p, eventstore.Persons, eventstore.Persons.Key(account, string(PersonOf(account, id, ""))), consistency)
	c := Customer{ID: id, Due: s.Due()}
	if s.Exists() {
		c.ErasedAt = &s.ErasedAt
	}
	return c, err
}

type naming struct {
	account  domain.AccountID
	customer string
	session  domain.SessionID
	since    time.Time
}

// noteNaming remembers the customer of a session after an event that can name one: later events of
// the batch may name another one.
func (b *batch) noteNaming(r *eventstore.Recorded) error {
	if r.Type != (session.Created{}).Type() && r.Type != (session.Changed{}).Type() {
		return nil
	}
	v := &b.sessions.list[b.sessions.at[r.ID]]
	if err := decode(eventstore.Sessions, v); err != nil {
		return err
	}
	if v.seq == r.Seq && v.state.CustomerID != "" {
		b.namings = append(b.namings, naming{v.key.Account, v.state.CustomerID, domain.SessionID(v.key.ID), v.state.UpdatedAt})
	}
	return nil
}

// NamingRow is a row of namings: a session named a customer.
type NamingRow struct {
	Account, Customer, Session string
	Since                      int64 // microseconds since 1970 UTC; of an event that is not the first with the customer: the time of that event
}

// NamingOf returns the row of namings that an event makes, or that an earlier event of the session
// made, with this event's time.
func NamingOf(r *eventstore.Recorded) (row NamingRow, is bool, err error) {
	if r.Aggregate != eventstore.Sessions.Name || r.Type != (session.Created{}).Type() && r.Type != (session.Changed{}).Type() {
		return row, false, nil
	}
	s, err := eventstore.Sessions.State(r)
	if err != nil || s.CustomerID == "" {
		return row, false, err
	}
	return NamingRow{string(r.Account), s.CustomerID, r.ID, s.UpdatedAt.UnixMicro()}, true, nil
}

// ErasedPerson is a person with an erasure.
type ErasedPerson struct {
	ID      domain.PersonID
	Account domain.AccountID
}

// ErasedPersons lists at most limit persons after one, by id, whose newest erasure is not older
// than since, or not finished.
func (p *Projections) ErasedPersons(ctx context.Context, since time.Time, after domain.PersonID, limit int) ([]ErasedPerson, error) {
	return rowsOf(ctx, p, "erased persons", func(scan sqlitefile.Scan) (e ErasedPerson, err error) {
		err = scan(&e.ID, &e.Account)
		return e, err
	}, selectErasedPersons, since.UnixMicro(), string(after), limit)
}

// tablePersons has the persons that were ever erased, with the customer's id or the guest's
// session, and the customers whom client sessions name, or named earlier, with the time of the
// first event that does. Times are microseconds since 1970 UTC.
const tablePersons = `
CREATE TABLE persons (
	id        TEXT    NOT NULL PRIMARY KEY,
	account   TEXT    NOT NULL,
	customer  TEXT    NOT NULL,
	session   TEXT    NOT NULL,
	erased    INTEGER NOT NULL,
	erased_at INTEGER NOT NULL,
	destroyed INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE namings (
	account  TEXT    NOT NULL,
	customer TEXT    NOT NULL,
	session  TEXT    NOT NULL,
	since    INTEGER NOT NULL,
	PRIMARY KEY (account, customer, session)
) WITHOUT ROWID;
CREATE INDEX persons_erased ON persons (erased_at);
CREATE INDEX persons_due ON persons (id) WHERE destroyed < erased;
`

const (
	upsertPerson = `INSERT INTO persons (id, account, customer, session, erased, erased_at, destroyed) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET erased = excluded.erased, erased_at = excluded.erased_at, destroyed = excluded.destroyed`
	selectErased    = `SELECT erased FROM persons WHERE id = ?`
	selectAnyPerson = `SELECT EXISTS (SELECT 1 FROM persons)`
	eraseCustomer   = `UPDATE payments INDEXED BY payments_customer SET email_hash = ''
		WHERE account = ? AND customer_id = ? AND customer_id <> '' AND email_hash <> '' AND max(key_number, 1) <= ? RETURNING rowid`
	eraseGuest = `UPDATE payments INDEXED BY payments_session SET email_hash = ''
		WHERE account = ? AND session = ? AND session <> '' AND customer_id = '' AND email_hash <> '' AND max(key_number, 1) <= ? RETURNING rowid`

	insertNaming = `INSERT INTO namings (account, customer, session, since) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`

	selectCustomerSessions = `SELECT session, min(since) FROM (
		SELECT session, created_at AS since FROM payments INDEXED BY payments_customer WHERE account = ?1 AND customer_id = ?2 AND customer_id <> ''
		UNION ALL SELECT session, since FROM namings WHERE account = ?1 AND customer = ?2
		UNION ALL SELECT session, vaulted_at FROM instruments INDEXED BY instruments_customer WHERE account = ?1 AND customer = ?2) GROUP BY session`
	// The ids are found one after the other, each by three look-ups.
	selectCustomers = `WITH RECURSIVE ids (id, n) AS (SELECT ?2, 0 UNION ALL SELECT (SELECT min(id) FROM (
			SELECT min(customer_id) AS id FROM payments INDEXED BY payments_customer WHERE account = ?1 AND customer_id > ids.id AND customer_id <> ''
			UNION ALL SELECT min(customer) FROM namings WHERE account = ?1 AND customer > ids.id
			UNION ALL SELECT min(customer) FROM instruments INDEXED BY instruments_customer WHERE account = ?1 AND customer > ids.id)), n + 1
		FROM ids WHERE n < ?3 AND id IS NOT NULL) SELECT id FROM ids WHERE n > 0 AND id IS NOT NULL ORDER BY n`
	selectHasCustomer = `SELECT EXISTS (SELECT 1 FROM payments INDEXED BY payments_customer WHERE account = ?1 AND customer_id = ?2 AND customer_id <> '')
		OR EXISTS (SELECT 1 FROM namings WHERE account = ?1 AND customer = ?2)
		OR EXISTS (SELECT 1 FROM instruments INDEXED BY instruments_customer WHERE account = ?1 AND customer = ?2)`
	selectErasedPersons = `SELECT id, account FROM persons WHERE id > ?2 AND id IN (SELECT id FROM persons INDEXED BY persons_erased WHERE erased_at >= ?1
		UNION SELECT id FROM persons INDEXED BY persons_due WHERE destroyed < erased) ORDER BY id LIMIT ?3`
)
