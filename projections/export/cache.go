package export

import (
	"context"
	"slices"
)

type known struct {
	row PaymentRow
	// The numbers of the payment's rows in the other tables. unknown: another export wrote them, or
	// they are no longer in memory.
	unknown               bool
	transactions, refunds []int64
}

type cache struct{ young, old map[string]known }

// cachedPayments is the largest number of payments in each half of the cache.
const cachedPayments = 10_000

func (c *cache) get(id string) (known, bool) {
	if k, found := c.young[id]; found {
		return k, true
	}
	k, found := c.old[id]
	if found {
		c.put(k)
	}
	return k, found
}

// put keeps a payment. When the young half is full, it becomes the old half, and the former old
// half is dropped.
func (c *cache) put(k known) {
	if c.young == nil || len(c.young) >= cachedPayments {
		c.young, c.old = make(map[string]known, cachedPayments), c.young
	}
	c.young[k.row.ID] = k
}

func (b *books) payment(ctx context.Context, id string) (known, error) {
	if k, found := b.cached.get(id); found {
		return k, nil
	}
	row, found, err := readRow(ctx, b, b.payments, id)
	return known{row: row, unknown: found}, err
}

// write writes a payment's row, and its rows in the other tables.
func (b *books) write(ctx context.Context, p *change) error {
	after := p.before
	if p.kept.ID != "" {
		var err error
		if after, err = b.writeKept(ctx, p); err != nil {
			return err
		}
	}
	after.row = p.row
	b.cached.put(after)
	if !b.folded {
		return nil
	}
	return insertRows(ctx, b, foldedPayments, []PaymentRow{p.row})
}

func (b *books) writeDispute(ctx context.Context, d *disputed) error {
	if d.kept.ID != "" {
		if err := insertRows(ctx, b, disputes, []DisputeRow{d.kept}); err != nil {
			return err
		}
	}
	if !b.folded {
		return nil
	}
	return insertRows(ctx, b, foldedDisputes, []DisputeRow{d.row})
}

// writeKept writes the payment as the export has it.
func (b *books) writeKept(ctx context.Context, p *change) (after known, err error) {
	before, row := p.before, p.kept
	all, some := p.newest.transactionRows()
	for i := range all {
		after.transactions = append(after.transactions, all[i].Number)
	}
	for i := range some {
		after.refunds = append(after.refunds, some[i].Number)
	}
	for table, gone := range map[string]bool{
		transactions.name: before.unknown || lacks(after.transactions, before.transactions),
		refunds.name:      before.unknown || lacks(after.refunds, before.refunds),
	} {
		if !gone {
			continue
		}
		if err := b.exec(ctx, "DELETE FROM "+table+" WHERE payment_id = ?", row.ID); err != nil {
			return after, err
		}
	}
	if err := insertRows(ctx, b, payments, []PaymentRow{row}); err != nil {
		return after, err
	}
	if err := insertRows(ctx, b, transactions, all); err != nil {
		return after, err
	}
	return after, insertRows(ctx, b, refunds, some)
}

func lacks(numbers, wanted []int64) bool {
	return slices.ContainsFunc(wanted, func(n int64) bool { return !slices.Contains(numbers, n) })
}
