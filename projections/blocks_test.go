package projections

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/seedtest"
	"payledger/projections/listing"
	"payledger/projections/sqlitefile"
)

// smallBlocks draws sizes with which a few payments fill blocks, and a page needs many of them.
func smallBlocks(r *rapid.T) sizes {
	return sizes{
		block: rapid.Int64Range(1, 4).Draw(r, "block"), walk: rapid.IntRange(1, 4).Draw(r, "walk"), chunk: rapid.IntRange(1, 4).Draw(r, "chunk"),
	}
}

// checkBlocks wants each block to have the codes of its rows, and the newest payments outside of
// them.
func checkBlocks(t rapid.TB, m *model) {
	t.Helper()
	ctx := context.Background()
	var rows, blocks int64
	if err := m.Readers().QueryRowContext(ctx, "SELECT (SELECT count(*) FROM payments), count(*) FROM blocks").Scan(&rows, &blocks); err != nil {
		t.Fatal(err)
	}
	if outside := rows - blocks*m.sizes.block; outside < 0 || rows >= m.sizes.block && outside < m.sizes.block || outside >= 2*m.sizes.block {
		t.Fatalf("%d payments in %d blocks of %d", rows, blocks, m.sizes.block)
	}
	code := func(column blockColumn, row int64) uint32 {
		var codes []byte
		if err := m.Readers().QueryRowContext(ctx, selectColumn, columnKey(column, row/m.sizes.block)).Scan(&codes); err != nil {
			t.Fatal(err)
		}
		return binary.LittleEndian.Uint32(codes[row%m.sizes.block*codeSize:])
	}
	for row := range blocks * m.sizes.block {
		var kind uint32
		var amount, created, oldest, newest int64
		var last4, customer, email, order string
		err := m.Readers().QueryRowContext(ctx, `SELECT kinds.id, amount, last4, customer_id, email_hash, order_id, created_at, oldest, newest
			FROM payments JOIN kinds USING (account, status, processor, merchant_id, currency, payment_method_type, tries), blocks
			WHERE payments.rowid = ? AND blocks.id = ?`, row+1, row/m.sizes.block).Scan(&kind, &amount, &last4, &customer, &email, &order, &created, &oldest, &newest)
		if err != nil {
			t.Fatalf("row %d: %v", row, err)
		}
		for column, want := range [blockColumns]uint32{
			columnKind: kind, columnAmount: amountCode(domain.Amount(amount)), columnLast4: textCode(last4),
			columnCustomer: textCode(customer), columnEmail: textCode(email), columnOrder: textCode(order),
		} {
			if got := code(blockColumn(column), row); got != want {
				t.Fatalf("row %d has code %d in column %d, want %d", row, got, column, want)
			}
		}
		if created < oldest || created > newest {
			t.Fatalf("row %d of %d in a block from %d to %d", row, created, oldest, newest)
		}
	}
	if err := checkBlocksOf(ctx, m.Readers(), m.sizes.block, func(difference string) error { return errors.New(difference) }); err != nil {
		t.Fatal(err)
	}
}

// TestCheckBlocks: wrong blocks are found, each by its own difference.
func TestCheckBlocks(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	l := &lister{model: openTestModel(t, filepath.Join(t.TempDir(), FileName), 1), log: newLogbook(1)}
	defer mustClose(t, l.model)
	l.sizes = sizes{block: 2, walk: 1, chunk: 1}
	for n := range 7 {
		l.log.answer(l.log.create(n), approved())
	}
	l.catchUp(t)
	checkBlocks(t, l.model)
	for change, want := range map[string]string{
		"UPDATE blocks SET oldest = oldest + 1 WHERE id = 1":                    "the times of block 1",
		"UPDATE blocks SET newest = newest - 1 WHERE id = 0":                    "the times of block 0",
		"DELETE FROM blocks WHERE id = 1; UPDATE blocks SET id = id":            "12 columns of 1 blocks",
		"DELETE FROM blocks WHERE id = 0":                                       "block 1 follows 0 blocks",
		"DELETE FROM block_columns WHERE id = 1":                                "11 columns of 2 blocks",
		"UPDATE block_columns SET id = 99 WHERE id = 1":                         "column 0 of block 1",
		"UPDATE block_columns SET codes = zeroblob(8) WHERE id = 1099511627776": "column 1 of block 0",
		"UPDATE block_columns SET codes = zeroblob(8) WHERE id = (2 << 40) + 1": "column 2 of block 1",
		"UPDATE block_columns SET codes = zeroblob(4) WHERE id = (5 << 40) + 1": "column 5 of block 1",
		"UPDATE kinds SET status = 'SETTLED' WHERE status = 'AUTHORIZED'":       "column 0 of block 0",
		"DELETE FROM kinds":                    "column 0 of block 0",
		"DELETE FROM payments WHERE rowid = 3": "payments has 6 rows, numbered up to 7",
		"DELETE FROM blocks; DELETE FROM block_columns; UPDATE payments SET seq=1": "0 blocks do not fit 7 payments",
		"UPDATE payments SET last4 = '0000' WHERE rowid = 4":                       "column 2 of block 1",
	} {
		path := filepath.Join(t.TempDir(), "copy")
		if _, err := l.Writer().ExecContext(ctx, "VACUUM INTO ?", path); err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		db.SetMaxOpenConns(1)
		if result, err := db.ExecContext(ctx, change); err != nil {
			t.Fatal(change, err)
		} else if n, err := result.RowsAffected(); err != nil || n == 0 {
			t.Fatal(change, n, err)
		}
		var found []string
		err = checkBlocksOf(ctx, db, l.sizes.block, func(difference string) error { found = append(found, difference); return nil })
		if err != nil || !slices.ContainsFunc(found, func(f string) bool { return strings.Contains(f, want) }) {
			t.Errorf("%s: %q, %v", change, found, err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestBlocksFollowRows checks that blocks agree with the rows after any later change, for long and
// short batches, and after the file was opened again. Every page of every list is found with them.
func TestBlocksFollowRows(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	seedtest.Check(t, func(r *rapid.T) {
		path := filepath.Join(dir, rapid.StringMatching(`[a-z]{12}`).Draw(r, "file"))
		if err := sqlitefile.Remove(path); err != nil {
			r.Fatal(err)
		}
		small := smallBlocks(r)
		l := &lister{model: openTestModel(t, path, 3), log: newLogbook(3)}
		defer func() { mustClose(t, l.model) }()
		l.sizes = small
		for n := range rapid.IntRange(1, 12).Draw(r, "batches") {
			for range rapid.IntRange(1, 5).Draw(r, "events") {
				grow(r, l)
			}
			l.catchUp(t)
			checkBlocks(r, l.model)
			if n%4 == 3 {
				mustClose(t, l.model)
				l.model = openTestModel(t, path, 3)
				l.sizes = small
			}
		}
		for range 10 {
			l.filter, l.hashes = drawFilter(r)
			if rapid.Bool().Draw(r, "wide") {
				least := domain.Amount(rapid.IntRange(0, 2).Draw(r, "least"))
				l.filter, l.hashes = PaymentFilter{MinAmount: &least}, nil
			}
			l.checkPage(r)
		}
	})
}

// grow adds a payment, or goes on with one: it is answered, captured, adjusted.
func grow(r *rapid.T, l *lister) {
	if len(l.all) == 0 || rapid.IntRange(0, 2).Draw(r, "new") > 0 {
		l.all = append(l.all, drawPayment(r, l.log, len(l.all), start))
		return
	}
	i := rapid.IntRange(0, len(l.all)-1).Draw(r, "which")
	s := l.all[i]
	if s.Account != testAccount {
		return
	}
	switch s.Status() {
	case payment.StatusPending:
		s = drawAnswer(r, l.log, s)
	case payment.StatusAuthorized:
		if s.Method.AuthorizationType == "ESTIMATED" && rapid.Bool().Draw(r, "adjust") {
			s = l.log.adjust(s, domain.Amount(rapid.IntRange(1, 9).Draw(r, "total")))
		} else if s.Amount > 0 {
			s = l.log.capture(s, s.Amount)
		}
		s = l.log.answerTo(s, s.Revision, approved())
	}
	l.all[i] = s
}

// checkPage wants the page from any place on to have the payments that come first.
func (l *lister) checkPage(r *rapid.T) {
	var from *listing.Place
	if i := rapid.IntRange(-1, len(l.all)-1).Draw(r, "place"); i >= 0 {
		from = &listing.Place{At: l.all[i].CreatedAt, ID: string(l.all[i].ID), Newer: rapid.Bool().Draw(r, "newer"), Here: rapid.Bool().Draw(r, "here")}
	}
	n := rapid.IntRange(1, 8).Draw(r, "rows")
	want := l.fitting()
	if from != nil {
		if from.Newer {
			slices.Reverse(want)
		}
		want = slices.DeleteFunc(want, func(id domain.PaymentID) bool { return !beyond(l.all, from, id) })
	}
	want = want[:min(n, len(want))]
	got, err := l.listPayments(context.Background(), testAccount, l.filter, l.hashes, from, n)
	if err != nil {
		r.Fatal(err)
	}
	found := ids(got, func(k rowKey) domain.PaymentID { return domain.PaymentID(k.key.ID) })
	if !slices.Equal(found, want) {
		r.Fatalf("%+v %v from %+v: %v, want %v", l.filter, l.hashes, from, found, want)
	}
}

// beyond reports whether a payment lies beyond a place on its way.
func beyond(all []payment.State, from *listing.Place, id domain.PaymentID) bool {
	s := all[slices.IndexFunc(all, func(s payment.State) bool { return s.ID == id })]
	way := s.CreatedAt.Compare(from.At)
	if way == 0 {
		way = cmp.Compare(string(id), from.ID)
	}
	return way == 0 && from.Here || way > 0 && from.Newer || way < 0 && !from.Newer
}

// TestBlocksAfterAFailedBatch: a transaction that did not happen leaves nothing in memory either:
// neither a kind nor a block.
func TestBlocksAfterAFailedBatch(t *testing.T) {
	l := &lister{model: openTestModel(t, filepath.Join(t.TempDir(), FileName), 1), log: newLogbook(1)}
	defer mustClose(t, l.model)
	l.sizes = sizes{block: 2, walk: 1, chunk: 1}
	for n := range 5 {
		l.all = append(l.all, l.log.create(n))
	}
	l.catchUp(t)
	for n := range 5 {
		l.all[n] = l.log.answer(l.all[n], processor.Answer{State: processor.Declined, Code: "05"})
	}
	for n := 5; n < 9; n++ {
		l.all = append(l.all, l.log.create(n))
	}
	if _, err := l.Writer().ExecContext(context.Background(), "CREATE TRIGGER refuse BEFORE INSERT ON positions BEGIN SELECT raise(ABORT, 'refused'); END"); err != nil {
		t.Fatal(err)
	}
	if err := l.apply(context.Background(), l.log.all[l.applied:]); err == nil {
		t.Fatal("the batch was written")
	}
	if _, err := l.Writer().ExecContext(context.Background(), "DROP TRIGGER refuse"); err != nil {
		t.Fatal(err)
	}
	checkBlocks(t, l.model)
	l.catchUp(t)
	checkBlocks(t, l.model)
}
