package compare

import (
	"context"
	"database/sql"
	"slices"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/person"
	"payledger/eventstore"
	"payledger/eventstore/format"
	"payledger/eventstore/verify"
	"payledger/projections"
)

// The row of a payment has no e-mail hash if its person was erased. The erasures are known when the whole log was read.
type erasures struct {
	persons map[domain.PersonID]person.State
	emptied map[string]verify.Newest // payments without the hash that they had at first, by id
}

var emailColumn = slices.Index(tables["payments"].columns, "email_hash")

// note remembers an erased person.
func (e *erasures) note(n verify.Newest) {
	if s, is := n.State.(person.State); is {
		e.persons[domain.PersonID(n.Key.ID)] = s
	}
}

// spare lets a payment's row be without the e-mail hash until the erasures are known.
func (e *erasures) spare(n verify.Newest, want projections.Row, have []any) {
	s, is := n.State.(payment.State)
	if !is || want.Values == nil || have == nil || s.EmailHash == "" || have[emailColumn] != "" {
		return
	}
	want.Values[emailColumn] = ""
	e.emptied[n.Key.ID] = n
}

// checkErasures reports payments without the hash whose persons were not erased, and erased persons whose payments have it.
func (c *Comparison) checkErasures(ctx context.Context) error {
	for _, n := range c.erased.emptied {
		s := n.State.(payment.State)
		erased, err := c.wasErased(ctx, n.Key.Account, &s)
		if err != nil {
			return err
		}
		if erased {
			continue
		}
		f := verify.Fault{
			Stream: n.Stream, Sequence: format.GroupOf(n.Seq), Aggregate: n.Key.Aggregate, ID: n.Key.ID, Revision: n.Revision,
			Difference: "the views have no e-mail hash of it, and nobody erased its customer; " + Remedy,
		}
		if err := c.report(f); err != nil {
			return err
		}
	}
	for _, s := range c.erased.persons {
		column, id := "customer_id", s.CustomerID
		if id == "" {
			column, id = "customer_id = '' AND session", string(s.Session)
		}
		var n int
		query := `SELECT count(*) FROM payments WHERE account = ? AND ` + column + ` = ? AND ` + column + ` <> '' AND email_hash <> '' AND max(key_number, 1) <= ?`
		err := c.rows(ctx, func(file *sql.DB) error {
			return file.QueryRowContext(ctx, query, string(s.Account), id, int64(s.Erased)).Scan(&n)
		})
		if err != nil {
			return c.unreadable(ctx, err)
		}
		if n > 0 {
			if err := c.fault("the views have the e-mail hash of %d payments of person %s, who was erased", n, s.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// wasErased reports whether a payment's personal data was erased. Of a running service, the erasure may be newer than the log
// that was read.
func (c *Comparison) wasErased(ctx context.Context, account domain.AccountID, s *payment.State) (bool, error) {
	id, number := projections.PersonOf(account, s.CustomerID, s.Session), max(s.KeyNumber, 1)
	if of, known := c.erased.persons[id]; known && of.HasErased(number) || c.live == nil {
		return known && of.HasErased(number), nil
	}
	tip, err := eventstore.Load(ctx, c.live.Store, eventstore.Persons, eventstore.Persons.Key(account, string(id)), eventstore.Latest)
	return tip.State.HasErased(number), err
}
