package projections

import (
	"context"
	"slices"
	"strings"

	"payledger/domain"
	"payledger/eventstore"
)

// listPayments finds up to n payments from a place on, in the order of its way. hashes are those of the
// filter's e-mail addresses.
func (m *model) listPayments(ctx context.Context, account domain.AccountID, f PaymentFilter, hashes []string, from *Place, n int) ([]rowKey, error) {
	query, args := listQuery(account, f, hashes, from, n)
	return readRows(ctx, m, func(scan scanner) (rowKey, error) {
		var id string
		var revision uint64
		err := scan(&id, &revision)
		return rowKey{eventstore.Payments.Key(account, id), revision}, err
	}, query, args...)
}

// listQuery writes the query of a page. Each value of the walk has a SELECT of its own, which its index
// gives in order; the revisions, which no index has, are fetched for the rows of the page only.
func listQuery(account domain.AccountID, f PaymentFilter, hashes []string, from *Place, n int) (string, []any) {
	along, conditions := plan(f, hashes)
	way := " DESC"
	if from != nil {
		conditions = append(conditions, beyond(from))
		if from.Newer {
			way = ""
		}
	}
	var selects []string
	var args []any
	for _, value := range along.values {
		one := "SELECT rowid AS row, created_at, id FROM payments INDEXED BY " + along.index + " WHERE account = ?"
		args = append(args, string(account))
		if along.column != "" {
			one += " AND " + along.column + " = ? AND " + along.column + " <> ''" // as the partial indexes have it
			args = append(args, value)
		}
		for _, c := range conditions {
			one += " AND " + c.sql
			args = append(args, c.args...)
		}
		selects = append(selects, one)
	}
	return "SELECT page.id, payments.revision FROM (" + strings.Join(selects, " UNION ALL ") +
		" ORDER BY created_at" + way + ", id" + way + " LIMIT ?) AS page JOIN payments ON payments.rowid = page.row" +
		" ORDER BY page.created_at" + way + ", page.id" + way, append(args, n)
}

// walk is the index that a list goes along, and the values of its column that it takes, each once.
type walk struct {
	index, column string
	values        []string
}

// condition is a part of a WHERE with its arguments.
type condition struct {
	sql  string
	args []any
}

// plan chooses the index, the most selective first, and turns the rest of the filter into conditions.
func plan(f PaymentFilter, hashes []string) (along walk, conditions []condition) {
	for _, one := range []walk{
		{"payments_session", "session", given(string(f.Session))},
		{"payments_order", "order_id", given(f.OrderID)}, {"payments_email", "email_hash", hashes},
		{"payments_customer", "customer_id", f.CustomerIDs}, {"payments_status", "status", f.Statuses},
		{"", "last4", f.Last4Digits}, {"", "currency", f.Currencies}, {"", "processor", f.Processors},
		{"", "merchant_id", f.MerchantIDs}, {"", "payment_method_type", f.MethodTypes},
	} {
		one.values = slices.Compact(slices.Sorted(slices.Values(one.values)))
		switch {
		case len(one.values) == 0:
		case one.index != "" && along.index == "":
			along = one
		default:
			conditions = append(conditions, oneOf(one.column, one.values))
		}
	}
	if along.index == "" {
		along = walk{index: "payments_created", values: []string{""}}
	}
	if len(f.WalletEmails) > 0 {
		conditions = append(conditions, condition{sql: "FALSE"})
	}
	return along, append(conditions, bounds(f)...)
}

// given is a field of one value as a list of it; "" is none.
func given(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

func oneOf(column string, values []string) condition {
	c := condition{sql: column + " IN (?" + strings.Repeat(", ?", len(values)-1) + ")"}
	for _, v := range values {
		c.args = append(c.args, v)
	}
	return c
}

func bounds(f PaymentFilter) (out []condition) {
	if f.From != nil {
		out = append(out, condition{"created_at >= ?", []any{f.From.UnixMicro()}})
	}
	if f.To != nil {
		out = append(out, condition{"created_at <= ?", []any{f.To.UnixMicro()}})
	}
	if f.MinAmount != nil {
		out = append(out, condition{"amount >= ?", []any{int64(*f.MinAmount)}})
	}
	if f.MaxAmount != nil {
		out = append(out, condition{"amount <= ?", []any{int64(*f.MaxAmount)}})
	}
	return out
}

// beyond wants what lies beyond a place on its way. Its first part is what an index can use.
func beyond(from *Place) condition {
	than := "<"
	if from.Newer {
		than = ">"
	}
	id := than
	if from.Here {
		id += "="
	}
	at := from.At.UnixMicro()
	return condition{
		"created_at " + than + "= ? AND (created_at " + than + " ? OR id " + id + " ?)",
		[]any{at, at, string(from.ID)},
	}
}
