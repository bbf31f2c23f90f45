package export

import (
	"io"
	"reflect"
	"slices"
	"sync"

	fast "github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// rowGroup is the number of rows of a Parquet row group, which is held in memory until it is
// written.
const rowGroup = 20_000

// codec compresses the pages of all tables with one encoder: the library's own codec has encoders
// of 16 MB for each table.
type codec struct {
	zstd.Codec
	encoder func() *fast.Encoder
}

const window = 2 << 20

func newCodec() *codec {
	return &codec{encoder: sync.OnceValue(func() *fast.Encoder {
		e, err := fast.NewWriter(nil, fast.WithEncoderConcurrency(1), fast.WithZeroFrames(true), fast.WithEncoderCRC(false), fast.WithWindowSize(window))
		if err != nil {
			panic("export: " + err.Error())
		}
		return e
	})}
}

func (c *codec) Encode(dst, src []byte) ([]byte, error) {
	return c.encoder().EncodeAll(src, dst[:0]), nil
}

var compression = newCodec()

// parquetWriter writes rows as lists of values, each with its definition level. The library can
// also write structs, but takes some nulls of optional fields for zero values then (v0.32.0: a
// comparison in writeRowsFuncOfOptional has the wrong mask).
type parquetWriter[T any] struct {
	table  table[T]
	to     *parquet.GenericWriter[T]
	rows   []parquet.Row
	values []parquet.Value // of all rows
}

func newParquetWriter[T any](t table[T], to io.Writer) *parquetWriter[T] {
	return &parquetWriter[T]{table: t, to: parquet.NewGenericWriter[T](to, parquet.Compression(compression), parquet.MaxRowsPerRowGroup(rowGroup))}
}

func (w *parquetWriter[T]) write(rows []T) error {
	columns := len(w.table.columns)
	w.rows, w.values = w.rows[:0], slices.Grow(w.values[:0], len(rows)*columns)
	for i := range rows {
		row := reflect.ValueOf(&rows[i]).Elem()
		for n := range w.table.columns {
			w.values = append(w.values, w.table.columns[n].parquetValue(row, n))
		}
		w.rows = append(w.rows, w.values[i*columns:])
	}
	_, err := w.to.WriteRows(w.rows)
	clear(w.values) // they hold texts
	return err
}

// parquetValue returns the value of the column in the place of a file.
func (c *Column) parquetValue(row reflect.Value, place int) parquet.Value {
	var value parquet.Value
	switch cell := c.cellOf(row); {
	case cell.null:
		return parquet.NullValue().Level(0, 0, place)
	case cell.at != nil:
		value = parquet.Int64Value(cell.at.UnixMicro())
	case c.Kind == Integer:
		value = parquet.Int64Value(cell.integer)
	default:
		value = parquet.ByteArrayValue([]byte(cell.text))
	}
	if c.Optional {
		return value.Level(0, 1, place)
	}
	return value.Level(0, 0, place)
}

func (w *parquetWriter[T]) close() error { return w.to.Close() }
