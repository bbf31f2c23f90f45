package compare

import (
	"context"
	"database/sql"
	"slices"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/person"
	"payledger/eventstore/verify"
	"payledger/projections"
)

// The row of a payment has no e-mail hash if its person was erased. The views also have a row for
// each erased person, which is compared with the log as other rows are. So the comparison keeps no
// erasures in memory.

var emailColumn = slices.Index(tables["payments"].columns, "email_hash")

// differ returns the first difference between two rows; "" if there is none. It takes an erased
// person's e-mail hash out of want.
func (c *Comparison) differ(ctx context.Context, n verify.Newest, have []any, want projections.Row) (string, error) {
	if s, is := n.State.(payment.State); is && want.Values != nil && have != nil && s.EmailHash != "" && have[emailColumn] == "" {
		erased, err := c.erased(ctx, n.Key.Account, &s)
		if err != nil {
			return "", err
		}
		if !erased {
			return "the views have no e-mail hash of it, and nobody erased its customer", nil
		}
		want.Values[emailColumn] = ""
	}
	return differ(want.Table, tables[want.Table].columns, have, want.Values), nil
}

// erased reports whether the views have the erasure of a payment's personal data. They show it
// together with the empty column.
func (c *Comparison) erased(ctx context.Context, account domain.AccountID, s *payment.State) (bool, error) {
	id := string(projections.PersonOf(account, s.CustomerID, s.Session))
	rows, err := rowsByID(ctx, c.rows, "persons", []string{"id", "erased"}, []string{id})
	if err != nil || rows[id] == nil {
		return false, err
	}
	erased, is := rows[id][1].(int64)
	return is && person.State{Erased: uint64(erased)}.HasErased(max(s.KeyNumber, 1)), nil
}

// checkErasure reports an erased person whose payments have the e-mail hash although the views have
// the erasure.
func (c *Comparison) checkErasure(ctx context.Context, n verify.Newest) error {
	s, is := n.State.(person.State)
	if !is {
		return nil
	}
	column, id := "customer_id", s.CustomerID
	if id == "" {
		column, id = "customer_id = '' AND session", string(s.Session)
	}
	var left int
	query := `SELECT count(*) FROM payments WHERE account = ? AND ` + column + ` = ? AND ` + column + ` <> '' AND email_hash <> '' AND max(key_number, 1) <= ?`
	err := c.rows(ctx, func(file *sql.DB) error {
		return file.QueryRowContext(ctx, query, string(s.Account), id, int64(s.Erased)).Scan(&left)
	})
	if err != nil {
		return c.unreadable(ctx, err)
	}
	if left > 0 {
		return c.fault("the views have the e-mail hash of %d payments of person %s, who was erased", left, n.Key.ID)
	}
	return nil
}
