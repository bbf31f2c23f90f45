package projections

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"payledger/projections/sqlitefile"
)

// blockTimes are the times of the oldest and the newest payment of a block, microseconds
// since 1970.
type blockTimes struct{ oldest, newest int64 }

// blockList keeps the times of blocks in memory: 16 bytes for each thousand payments. They never
// change.
type blockList struct {
	sync.Mutex
	times []blockTimes
}

// scan finds the rest of the page: among the newest payments, then block by block until no other
// block can have one before the page's.
func (s *search) scan(ctx context.Context) error {
	blocks, err := s.blocks(ctx)
	if err != nil {
		return err
	}
	if err := s.collect(ctx, s.newestQuery(int64(len(blocks))*s.sizes.block)); err != nil {
		return err
	}
	tests, err := s.tests(ctx)
	if err != nil {
		return err
	}
	if len(tests) > 0 {
		ahead := s.ahead(blocks)
		for size := 1; len(ahead) > 0 && !s.complete(ahead); size = min(2*size, s.chunk) {
			chunk := ahead[:min(size, len(ahead))]
			ahead = ahead[len(chunk):]
			if err := s.scanChunk(ctx, chunk, tests); err != nil {
				return err
			}
		}
	}
	s.arrange()
	return nil
}

func (s *search) blocks(ctx context.Context) ([]blockTimes, error) {
	var last int
	if err := s.tx.QueryRowContext(ctx, selectLastBlock).Scan(&last); err != nil {
		return nil, err
	}
	s.known.Lock()
	defer s.known.Unlock()
	if last < len(s.known.times) {
		return s.known.times[:last+1], nil // a later search may have found more blocks
	}
	err := sqlitefile.Rows(s.tx.QueryContext(ctx, selectBlocks, len(s.known.times))).Each(func(scan sqlitefile.Scan) error {
		var id int
		var b blockTimes
		if err := scan(&id, &b.oldest, &b.newest); err != nil {
			return err
		}
		if id != len(s.known.times) {
			return fmt.Errorf("%w: block %d follows %d blocks", sqlitefile.ErrStale, id, len(s.known.times))
		}
		s.known.times = append(s.known.times, b)
		return nil
	})
	return s.known.times, err
}

// newestQuery returns the query of the rows that are in no block.
func (s *search) newestQuery(packed int64) query {
	var w sqlitefile.Where
	w.And("rowid > ?", packed)
	s.fitting(&w)
	return query{"SELECT rowid, id, revision, created_at FROM payments NOT INDEXED WHERE " + w.SQL() + s.order() + " LIMIT ?", append(w.Args, s.n)}
}

func (s *search) rowsQuery(rows []int64) query {
	var w sqlitefile.Where
	w.And("rowid IN (SELECT value FROM json_each(?))", numbers(rows))
	s.fitting(&w)
	return query{"SELECT rowid, id, revision, created_at FROM payments NOT INDEXED WHERE " + w.SQL(), w.Args}
}

func (s *search) fitting(w *sqlitefile.Where) {
	w.And("account = ?", s.account)
	s.times(w)
	fits := s.conditions()
	w.And(fits.SQL(), fits.Args...)
}

func (s *search) collect(ctx context.Context, q query) error {
	found, err := sqlitefile.Read(ctx, s.tx, func(scan sqlitefile.Scan) (listedPayment, error) { return s.read(scan) }, q.sql, q.args...)
	s.found = append(s.found, found...)
	return err
}

// tests returns the column tests that the filter needs; none if no payment was ever of a kind that
// fits.
func (s *search) tests(ctx context.Context) ([]*codeTest, error) {
	w := s.kindConditions()
	var list string
	var n int
	err := s.tx.QueryRowContext(ctx, "SELECT json_group_array(id), (SELECT count(*) FROM kinds) FROM kinds WHERE "+w.SQL(), w.Args...).Scan(&list, &n)
	if err != nil {
		return nil, err
	}
	var ids []int
	if err := json.Unmarshal([]byte(list), &ids); err != nil || len(ids) == 0 {
		return nil, err
	}
	tests := s.textTests()
	if len(ids) < n || len(tests) == 0 {
		kinds := make([]bool, slices.Max(ids)+1)
		for _, id := range ids {
			kinds[id] = true
		}
		tests = append(tests, &codeTest{column: columnKind, kinds: kinds})
	}
	return append(tests, s.amountTest()...), nil
}

// step is a block of the search. bound is the earliest place, in the search's order, of the
// payments in it and in later blocks.
type step struct{ block, bound int64 }

func (s *search) ahead(blocks []blockTimes) (steps []step) {
	least, most := s.span()
	for id, b := range blocks {
		switch {
		case b.newest < least || b.oldest > most:
		case s.newer():
			steps = append(steps, step{int64(id), b.oldest})
		default:
			steps = append(steps, step{int64(id), b.newest})
		}
	}
	if !s.newer() {
		slices.Reverse(steps)
	}
	for i := len(steps) - 2; i >= 0; i-- {
		if s.newer() == (steps[i+1].bound < steps[i].bound) {
			steps[i].bound = steps[i+1].bound
		}
	}
	return steps
}

// complete reports whether the page is full and no block ahead has a payment that comes before its
// last one: it counts those that come before all blocks ahead, and sorts nothing.
func (s *search) complete(ahead []step) bool {
	if len(s.found) < s.n {
		return false
	}
	if len(ahead) == 0 {
		return true
	}
	first := 0
	for i := range s.found {
		if at := s.found[i].at; s.newer() && at < ahead[0].bound || !s.newer() && at > ahead[0].bound {
			first++
		}
	}
	return first >= s.n
}

func (s *search) scanChunk(ctx context.Context, chunk []step, tests []*codeTest) error {
	// The most selective test comes first: later columns are read only for blocks with rows left.
	slices.SortStableFunc(tests, func(a, b *codeTest) int { return cmp.Compare(a.share(), b.share()) })
	left := make([][]uint16, len(chunk)) // of each block, the rows that have passed
	for i, test := range tests {
		if err := s.scanColumn(ctx, chunk, left, test, i == 0); err != nil {
			return err
		}
	}
	var candidates []int64
	for i, b := range chunk {
		for _, row := range left[i] {
			candidates = append(candidates, b.block*s.sizes.block+int64(row)+1)
		}
		if i+1 < len(chunk) && len(s.found)+len(candidates) < s.n {
			continue
		}
		if err := s.check(ctx, candidates); err != nil {
			return err
		}
		candidates = candidates[:0]
		if i+1 < len(chunk) && s.complete(chunk[i+1:]) {
			return nil
		}
	}
	return nil
}

func (s *search) scanColumn(ctx context.Context, chunk []step, left [][]uint16, test *codeTest, first bool) error {
	at := map[int64]int{} // indexes of the needed blocks, by the column's key
	keys := make([]int64, 0, len(chunk))
	for i, b := range chunk {
		if first || len(left[i]) > 0 {
			key := columnKey(test.column, b.block)
			at[key] = i
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	var passed []uint16
	read := 0
	err := sqlitefile.Rows(s.tx.QueryContext(ctx, selectColumns, numbers(keys))).Each(func(scan sqlitefile.Scan) error {
		var id int64
		var codes sql.RawBytes
		if err := scan(&id, &codes); err != nil {
			return err
		}
		if int64(len(codes)) != s.sizes.block*codeSize {
			return fmt.Errorf("%w: a block's column of %d bytes", sqlitefile.ErrStale, len(codes))
		}
		s.work.columns++
		i := at[id]
		passed = test.pass(passed[:0], codes)
		if first {
			left[i] = slices.Clone(passed)
		} else {
			left[i] = both(left[i], passed)
		}
		read++
		return nil
	})
	if err != nil {
		return err
	}
	if read < len(keys) {
		return fmt.Errorf("%w: %d blocks without a column", sqlitefile.ErrStale, len(keys)-read)
	}
	return nil
}

// both returns the rows that are in a and in b; it overwrites a.
func both(a, b []uint16) []uint16 {
	kept := a[:0]
	for _, row := range a {
		for len(b) > 0 && b[0] < row {
			b = b[1:]
		}
		if len(b) > 0 && b[0] == row {
			kept = append(kept, row)
		}
	}
	return kept
}

func (s *search) check(ctx context.Context, rows []int64) error {
	if len(rows) == 0 {
		return nil
	}
	s.work.checked += len(rows)
	return s.collect(ctx, s.rowsQuery(rows))
}

// numbers returns a list for SQL's json_each.
func numbers(list []int64) string {
	text := []byte{'['}
	for i, n := range list {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, n, 10)
	}
	return string(append(text, ']'))
}
