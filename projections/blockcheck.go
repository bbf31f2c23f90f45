package projections

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"payledger/projections/sqlitefile"
)

const (
	countPayments = `SELECT coalesce(max(rowid), 0), count(*), (SELECT count(*) FROM block_columns) FROM payments`
	selectPacking = `SELECT ` + packedColumns + `, rowid FROM payments WHERE rowid <= ? ORDER BY rowid`
)

// CheckBlocks compares the blocks, which filtered lists search, with the rows of payments. It calls
// fault with each difference.
func CheckBlocks(ctx context.Context, db *sql.DB, fault func(difference string) error) error {
	return checkBlocksOf(ctx, db, usualSizes.block, fault)
}

func checkBlocksOf(ctx context.Context, db *sql.DB, size int64, fault func(difference string) error) (err error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tx.Rollback()) }()
	c := &blockCheck{tx: tx, size: size, fault: fault, kinds: map[uint32]kind{}}
	for _, step := range []func(context.Context) error{c.loadKinds, c.loadTimes, c.checkCounts, c.checkRows} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

type blockCheck struct {
	tx    *sql.Tx
	size  int64
	fault func(difference string) error
	kinds map[uint32]kind
	times []blockTimes
}

func (c *blockCheck) loadKinds(ctx context.Context) error {
	return eachKind(ctx, c.tx, func(id uint32, k kind) { c.kinds[id] = k })
}

func (c *blockCheck) loadTimes(ctx context.Context) error {
	return sqlitefile.Rows(c.tx.QueryContext(ctx, selectBlocks, math.MinInt64)).Each(func(scan sqlitefile.Scan) error {
		var id int
		var b blockTimes
		if err := scan(&id, &b.oldest, &b.newest); err != nil {
			return err
		}
		if id != len(c.times) {
			return c.fault(fmt.Sprintf("block %d follows %d blocks", id, len(c.times)))
		}
		c.times = append(c.times, b)
		return nil
	})
}

// checkCounts checks that the rows of payments are numbered without a gap, and that the right
// number of them is in blocks.
func (c *blockCheck) checkCounts(ctx context.Context) error {
	var last, n, columns int64
	if err := c.tx.QueryRowContext(ctx, countPayments).Scan(&last, &n, &columns); err != nil {
		return err
	}
	blocks := int64(len(c.times))
	rest := last - blocks*c.size
	switch {
	case last != n:
		return c.fault(fmt.Sprintf("payments has %d rows, numbered up to %d", n, last))
	case columns != blocks*int64(blockColumns):
		return c.fault(fmt.Sprintf("block_columns has %d columns of %d blocks", columns, blocks))
	case rest >= 2*c.size, blocks > 0 && rest < c.size:
		return c.fault(fmt.Sprintf("%d blocks do not fit %d payments", blocks, n))
	}
	return nil
}

func (c *blockCheck) checkRows(ctx context.Context) error {
	b, kinds := newPackedBlock(), make([]kind, 0, c.size)
	return sqlitefile.Rows(c.tx.QueryContext(ctx, selectPacking, int64(len(c.times))*c.size)).Each(func(scan sqlitefile.Scan) error {
		var row int64
		err := b.add(func(to ...any) error { return scan(append(to, &row)...) }, func(k kind) (uint32, error) {
			kinds = append(kinds, k)
			return 0, nil
		})
		if err != nil || row%c.size != 0 {
			return err
		}
		err = c.checkBlock(ctx, row/c.size-1, b.blockTimes, b.columns, kinds)
		b, kinds = newPackedBlock(), kinds[:0]
		return err
	})
}

func (c *blockCheck) checkBlock(ctx context.Context, block int64, b blockTimes, columns [blockColumns][]byte, kinds []kind) error {
	if block < int64(len(c.times)) && c.times[block] != b {
		if err := c.fault(fmt.Sprintf("the times of block %d are not those of its payments", block)); err != nil {
			return err
		}
	}
	for column, want := range columns {
		var codes []byte
		err := c.tx.QueryRowContext(ctx, selectColumn, columnKey(blockColumn(column), block)).Scan(&codes)
		wrong := errors.Is(err, sql.ErrNoRows) || len(codes) != len(want)
		for i := 0; i < len(kinds) && err == nil && !wrong; i++ {
			at := codes[i*codeSize : (i+1)*codeSize]
			if blockColumn(column) == columnKind {
				known, there := c.kinds[binary.LittleEndian.Uint32(at)]
				wrong = !there || known != kinds[i]
			} else {
				wrong = string(at) != string(want[i*codeSize:(i+1)*codeSize])
			}
		}
		if err != nil && !wrong {
			return err
		}
		if !wrong {
			continue
		}
		if err := c.fault(fmt.Sprintf("column %d of block %d in block_columns does not have the codes of its payments", column, block)); err != nil {
			return err
		}
	}
	return nil
}
