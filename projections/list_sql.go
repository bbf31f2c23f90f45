package projections

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"time"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/projections/listing"
	"payledger/projections/sqlitefile"
)

type listedPayment struct {
	rowKey
	row int64
	at  int64 // microseconds since 1970
}

// listWork counts the reads of a list, except the newest payments, which are in no block.
type listWork struct {
	walked  int // rows along an index
	columns int // columns of blocks
	checked int // rows whose codes fit
	sorts   int // of the rows that were found
}

type search struct {
	tx *sql.Tx
	sizes
	known *blockList
	filter
	from  *listing.Place
	n     int // rows wanted
	found []listedPayment
	work  listWork
}

// listPayments finds up to n payments from a place, in its direction. hashes are those of the
// filter's e-mail addresses.
func (m *model) listPayments(ctx context.Context, account domain.AccountID, f PaymentFilter, hashes []string, from *listing.Place, n int) ([]rowKey, error) {
	found, _, err := m.findPayments(ctx, account, f, hashes, from, n)
	keys := make([]rowKey, len(found))
	for i, one := range found {
		keys[i] = one.rowKey
	}
	return keys, err
}

// findPayments is listPayments with counts of its reads. It walks an index, and searches the blocks
// if that leaves the page open.
func (m *model) findPayments(ctx context.Context, account domain.AccountID, f PaymentFilter, hashes []string, from *listing.Place, n int) (found []listedPayment, work listWork, err error) {
	if len(f.WalletEmails) > 0 {
		return nil, work, nil
	}
	tx, err := m.Readers().BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, work, m.Noticed(err)
	}
	s := &search{tx: tx, sizes: m.sizes, known: &m.blocks, filter: newFilter(account, f, hashes), from: from, n: n}
	err = s.run(ctx)
	return s.found, s.work, m.Noticed(errors.Join(err, tx.Rollback()))
}

func (s *search) run(ctx context.Context) error {
	over, err := s.walk(ctx)
	if err == nil && !over {
		err = s.scan(ctx)
	}
	return err
}

func (s *search) newer() bool { return s.from != nil && s.from.Newer }

func (s *search) order() string {
	if s.newer() {
		return " ORDER BY created_at, id"
	}
	return " ORDER BY created_at DESC, id DESC"
}

func (s *search) arrange() {
	s.work.sorts++
	slices.SortFunc(s.found, func(a, b listedPayment) int {
		if !s.newer() {
			a, b = b, a
		}
		if a.at != b.at {
			return cmp.Compare(a.at, b.at)
		}
		return cmp.Compare(a.key.ID, b.key.ID)
	})
	s.found = s.found[:min(len(s.found), s.n)]
}

// walk reads at most sizes.walk rows along an index. over: the page is full, or there are no more
// rows; else s.from has the next place.
func (s *search) walk(ctx context.Context) (over bool, err error) {
	q, ordered := s.walkQuery()
	rows, err := s.tx.QueryContext(ctx, q.sql, q.args...)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	var last listedPayment
	full := func() bool { return ordered && len(s.found) == s.n }
	for !full() && rows.Next() {
		var fits bool
		if last, err = s.read(rows.Scan, &fits); err != nil {
			return false, err
		}
		s.work.walked++
		if fits {
			s.found = append(s.found, last)
		}
	}
	if err := rows.Err(); err != nil {
		return false, err
	}
	switch {
	case full(), s.work.walked < s.sizes.walk:
		s.arrange()
		return true, nil
	case ordered:
		s.from = &listing.Place{At: time.UnixMicro(last.at), ID: last.key.ID, Newer: s.newer()}
	default:
		s.found = nil // rows of several values are not in order
	}
	return false, nil
}

// walkQuery returns the query of walk, and of each row whether it fits. ordered is false for
// several values of the index's column.
func (s *search) walkQuery() (q query, ordered bool) {
	all, index, order := sqlitefile.Where{}, "payments_created", s.order()
	all.And("account = ?", s.account)
	if along := s.along(); along != nil {
		index = along.index
		all.And(along.column + " <> ''") // as the partial indexes have it
		if len(along.values) == 1 {
			all.And(along.column+" = ?", along.values[0])
		} else {
			all.OneOf(along.column, along.values)
			order = ""
		}
	}
	s.times(&all)
	fits := s.conditions()
	q.sql = "SELECT rowid, id, revision, created_at, " + fits.SQL() + " FROM payments INDEXED BY " + index + " WHERE " + all.SQL() + order + " LIMIT ?"
	q.args = slices.Concat(fits.Args, all.Args, []any{s.sizes.walk})
	return q, order != ""
}

func (s *search) read(scan sqlitefile.Scan, more ...any) (one listedPayment, err error) {
	var id string
	err = scan(append([]any{&one.row, &id, &one.revision, &one.at}, more...)...)
	one.key = eventstore.Payments.Key(domain.AccountID(s.account), id)
	return one, err
}

type query struct {
	sql  string
	args []any
}

func (s *search) span() (least, most int64) {
	least, most = math.MinInt64, math.MaxInt64
	if s.f.From != nil {
		least = s.f.From.UnixMicro()
	}
	if s.f.To != nil {
		most = s.f.To.UnixMicro()
	}
	switch {
	case s.from == nil:
	case s.from.Newer:
		least = max(least, s.from.At.UnixMicro())
	default:
		most = min(most, s.from.At.UnixMicro())
	}
	return least, most
}

// times adds the bounds of the filter's dates and of the place. An index can use one lower and one
// upper bound.
func (s *search) times(w *sqlitefile.Where) {
	least, most := s.span()
	if least != math.MinInt64 {
		w.And("created_at >= ?", least)
	}
	if most != math.MaxInt64 {
		w.And("created_at <= ?", most)
	}
	if s.from == nil {
		return
	}
	than := " <"
	if s.from.Newer {
		than = " >"
	}
	if s.from.Here {
		than += "="
	}
	w.And("(created_at <> ? OR id"+than+" ?)", s.from.At.UnixMicro(), s.from.ID)
}
