package projections

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/projections/sqlitefile"
	"payledger/projections/statistics"
)

// sizes are the sizes of packing and searching; tests use smaller ones.
type sizes struct {
	// block is the number of payments in a block. For each filtered column a block has one code of
	// codeSize bytes for each payment, in the order of the rows.
	block int64
	walk  int // rows that a list reads along an index, at most, before it searches the blocks
	chunk int // blocks read at a time, at most: the first chunk is one block, each later chunk twice as long
}

// usualSizes make a column of a block fill one page of the file.
var usualSizes = sizes{block: 1000, walk: 500, chunk: 64}

const codeSize = 4 // the size of a code in bytes, little-endian

type blockColumn int64

const (
	columnKind     blockColumn = iota // the id of a row of kinds
	columnAmount                      // minor units, at most maxAmountCode
	columnLast4                       // this column and those below: a hash of the text
	columnCustomer                    // customer_id
	columnEmail                       // email_hash
	columnOrder                       // order_id
	blockColumns
)

const maxAmountCode = math.MaxUint32 // the code of its own amount and of every greater one

// columnKey is the id of a column of a block in block_columns: the blocks of one column are
// adjacent.
func columnKey(column blockColumn, block int64) int64 { return int64(column)<<40 | block }

// textCode is the code of a text. Different texts may have the same code.
func textCode(text string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(text)) // it never fails
	return h.Sum32()
}

// amountCode is the code of an amount: a greater amount never has a smaller code.
func amountCode(a domain.Amount) uint32 { return uint32(min(max(a, 0), maxAmountCode)) }

// kind is the combination of all columns that have few values. There are few kinds.
type kind struct {
	account, status, processor, merchant, currency, method string

	tries int64
}

// packer is the state of packing payments into blocks, as of the writer's last transaction.
type packer struct {
	rows   int64           // payments in the table; their rowids are 1 to rows
	packed int64           // the first payments, which are in blocks
	newest int64           // time of the newest payment in blocks
	kinds  map[kind]uint32 // ids
	late   []lateRow       // changes of this transaction to payments that may be in blocks
}

type lateRow struct {
	row    int64
	kind   kind
	amount uint32
}

func (m *model) loadPacker(ctx context.Context) error {
	if m.packer != nil {
		return nil
	}
	p := &packer{kinds: map[kind]uint32{}}
	err := m.Writer().QueryRowContext(ctx, selectPacked).Scan(&p.rows, &p.packed, &p.newest)
	if err != nil {
		return fmt.Errorf("projections: blocks: %w", err)
	}
	p.packed *= m.sizes.block
	if err := eachKind(ctx, m.Writer(), func(id uint32, k kind) { p.kinds[k] = id }); err != nil {
		return fmt.Errorf("projections: kinds: %w", err)
	}
	m.packer = p
	return nil
}

func eachKind(ctx context.Context, from sqlitefile.Queryer, take func(uint32, kind)) error {
	return sqlitefile.Rows(from.QueryContext(ctx, selectKinds)).Each(func(scan sqlitefile.Scan) error {
		var id uint32
		var k kind
		if err := scan(&id, &k.account, &k.status, &k.processor, &k.merchant, &k.currency, &k.method, &k.tries); err != nil {
			return err
		}
		take(id, k)
		return nil
	})
}

func (m *model) kindID(ctx context.Context, k kind) (uint32, error) {
	if id, known := m.packer.kinds[k]; known {
		return id, nil
	}
	result, err := m.Statements[insertKind].ExecContext(ctx, k.account, k.status, k.processor, k.merchant, k.currency, k.method, k.tries)
	if err != nil {
		return 0, err
	}
	id, err := result.LastInsertId()
	m.packer.kinds[k] = uint32(id)
	return uint32(id), err
}

func (p *packer) changed(row int64, v *view[payment.State]) {
	s := &v.state
	to := targetOf(s)
	p.late = append(p.late, lateRow{row: row, amount: amountCode(s.Amount), kind: kind{
		account: string(v.key.Account), status: string(s.Status()), processor: string(to.Processor), merchant: to.MerchantID,
		currency: string(s.Currency), method: s.Method.Type, tries: statistics.Tries(s),
	}})
}

// pack brings the blocks up to date with the rows. The newest payments stay outside of blocks, one
// to two blocks' worth: most changes come soon after the payment and then cost only the row.
func (m *model) pack(ctx context.Context) error {
	if err := m.repack(ctx); err != nil {
		return err
	}
	for m.packer.rows-m.packer.packed >= 2*m.sizes.block {
		if err := m.packBlock(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (m *model) repack(ctx context.Context) error {
	late := m.packer.late
	m.packer.late = late[:0]
	late = slices.DeleteFunc(late, func(l lateRow) bool { return l.row > m.packer.packed })
	slices.SortFunc(late, func(a, b lateRow) int { return cmp.Compare(a.row, b.row) })
	for len(late) > 0 {
		block := (late[0].row - 1) / m.sizes.block
		n := slices.IndexFunc(late, func(l lateRow) bool { return (l.row-1)/m.sizes.block != block })
		if n < 0 {
			n = len(late)
		}
		for column, code := range map[blockColumn]func(lateRow) (uint32, error){
			columnKind:   func(l lateRow) (uint32, error) { return m.kindID(ctx, l.kind) },
			columnAmount: func(l lateRow) (uint32, error) { return l.amount, nil },
		} {
			if err := m.repackColumn(ctx, columnKey(column, block), late[:n], code); err != nil {
				return err
			}
		}
		late = late[n:]
	}
	return nil
}

// repackColumn writes the codes of changed rows into a column of their block, if they differ.
func (m *model) repackColumn(ctx context.Context, key int64, late []lateRow, code func(lateRow) (uint32, error)) error {
	var codes []byte
	if err := m.Statements[selectColumn].QueryRowContext(ctx, key).Scan(&codes); err != nil {
		return err
	}
	if int64(len(codes)) != m.sizes.block*codeSize {
		return fmt.Errorf("%w: a block's column of %d bytes", sqlitefile.ErrStale, len(codes))
	}
	differs := false
	for _, l := range late {
		at := codes[(l.row-1)%m.sizes.block*codeSize:]
		c, err := code(l)
		if err != nil {
			return err
		}
		if binary.LittleEndian.Uint32(at) != c {
			binary.LittleEndian.PutUint32(at, c)
			differs = true
		}
	}
	if !differs {
		return nil
	}
	_, err := m.Statements[updateColumn].ExecContext(ctx, codes, key)
	return err
}

type packedBlock struct {
	blockTimes
	columns [blockColumns][]byte
	n       int64 // rows
}

func newPackedBlock() *packedBlock {
	return &packedBlock{blockTimes: blockTimes{oldest: math.MaxInt64, newest: math.MinInt64}}
}

// add adds a row of packedColumns. kindID returns the id of the row's kind.
func (b *packedBlock) add(scan sqlitefile.Scan, kindID func(kind) (uint32, error)) error {
	var k kind
	var created, amount int64
	var last4, customer, email, order string
	if err := scan(&created, &k.account, &k.status, &k.processor, &k.merchant, &k.currency, &k.method, &k.tries, &amount,
		&last4, &customer, &email, &order); err != nil {
		return err
	}
	id, err := kindID(k)
	if err != nil {
		return err
	}
	for column, code := range [blockColumns]uint32{
		columnKind: id, columnAmount: amountCode(domain.Amount(amount)), columnLast4: textCode(last4),
		columnCustomer: textCode(customer), columnEmail: textCode(email), columnOrder: textCode(order),
	} {
		b.columns[column] = binary.LittleEndian.AppendUint32(b.columns[column], code)
	}
	b.oldest, b.newest = min(b.oldest, created), max(b.newest, created)
	b.n++
	return nil
}

func (m *model) packBlock(ctx context.Context) error {
	p, b := m.packer, newPackedBlock()
	id := func(k kind) (uint32, error) { return m.kindID(ctx, k) }
	err := sqlitefile.Rows(m.Statements[selectBlock].QueryContext(ctx, p.packed, p.packed+m.sizes.block)).Each(func(scan sqlitefile.Scan) error {
		return b.add(scan, id)
	})
	if err != nil {
		return err
	}
	if b.n != m.sizes.block {
		return fmt.Errorf("%w: %d payments of a block's %d", sqlitefile.ErrStale, b.n, m.sizes.block)
	}
	block := p.packed / m.sizes.block
	for column, codes := range b.columns {
		if _, err := m.Statements[insertColumn].ExecContext(ctx, columnKey(blockColumn(column), block), codes); err != nil {
			return err
		}
	}
	if _, err := m.Statements[insertBlock].ExecContext(ctx, block, b.oldest, b.newest); err != nil {
		return err
	}
	p.packed += m.sizes.block
	p.newest = max(p.newest, b.newest)
	return nil
}

// tableBlocks holds payments packed into blocks. kinds has each kind. blocks has the times of the
// oldest and the newest payment of each block, in microseconds since 1970 UTC; block n holds the
// payments of the rowids from n × sizes.block + 1 on. block_columns has the codes, under columnKey.
const tableBlocks = `
CREATE TABLE kinds (
	id                  INTEGER PRIMARY KEY,
	account             TEXT    NOT NULL,
	status              TEXT    NOT NULL,
	processor           TEXT    NOT NULL,
	merchant_id         TEXT    NOT NULL,
	currency            TEXT    NOT NULL,
	payment_method_type TEXT    NOT NULL,
	tries               INTEGER NOT NULL,
	UNIQUE (account, status, processor, merchant_id, currency, payment_method_type, tries)
);
CREATE TABLE blocks (
	id     INTEGER PRIMARY KEY,
	oldest INTEGER NOT NULL,
	newest INTEGER NOT NULL
);
CREATE TABLE block_columns (
	id    INTEGER PRIMARY KEY,
	codes BLOB    NOT NULL
);
`

const (
	selectPacked = `SELECT (SELECT coalesce(max(rowid), 0) FROM payments), count(*), coalesce(max(newest), -9223372036854775808) FROM blocks`
	selectKinds  = `SELECT id, account, status, processor, merchant_id, currency, payment_method_type, tries FROM kinds`
	// packedColumns are the columns of payments that blocks have.
	packedColumns = `created_at, account, status, processor, merchant_id, currency, payment_method_type, tries, amount, last4,
		customer_id, email_hash, order_id`
	selectBlock  = `SELECT ` + packedColumns + ` FROM payments WHERE rowid > ? AND rowid <= ? ORDER BY rowid`
	insertKind   = `INSERT INTO kinds (account, status, processor, merchant_id, currency, payment_method_type, tries) VALUES (?, ?, ?, ?, ?, ?, ?)`
	insertBlock  = `INSERT INTO blocks (id, oldest, newest) VALUES (?, ?, ?)`
	insertColumn = `INSERT INTO block_columns (id, codes) VALUES (?, ?)`
	updateColumn = `UPDATE block_columns SET codes = ? WHERE id = ?`
	selectColumn = `SELECT codes FROM block_columns WHERE id = ?`

	// for readers
	selectLastBlock = `SELECT coalesce(max(id), -1) FROM blocks`
	selectBlocks    = `SELECT id, oldest, newest FROM blocks WHERE id >= ? ORDER BY id`
	selectColumns   = `SELECT id, codes FROM block_columns WHERE id IN (SELECT value FROM json_each(?))`
)
