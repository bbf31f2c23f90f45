package export

import (
	"io"
	"reflect"

	"payledger/projections/export/parquetfile"
)

// rowGroup is the number of rows of a Parquet row group, which is held in memory, compressed, until
// it is written.
const rowGroup = 20_000

// parquetWriter writes the rows of a table to a Parquet file.
type parquetWriter[T any] struct {
	table table[T]
	to    *parquetfile.Writer
}

func newParquetWriter[T any](t table[T], to io.Writer) *parquetWriter[T] {
	return &parquetWriter[T]{table: t, to: parquetfile.New(to, t.name, rowGroup, parquetColumns(t.columns))}
}

func parquetColumns(columns []Column) []parquetfile.Column {
	kinds := map[Kind]parquetfile.Kind{Text: parquetfile.Text, Integer: parquetfile.Integer, Time: parquetfile.Time, JSON: parquetfile.JSON}
	of := make([]parquetfile.Column, len(columns))
	for i, c := range columns {
		of[i] = parquetfile.Column{Name: c.Name, Kind: kinds[c.Kind], Optional: c.Optional, Dictionary: c.dictionary}
	}
	return of
}

func (w *parquetWriter[T]) write(rows []T) error {
	for i := range rows {
		row := reflect.ValueOf(&rows[i]).Elem()
		for n := range w.table.columns {
			switch cell := w.table.columns[n].cellOf(row); {
			case cell.null:
				w.to.Null(n)
			case cell.at != nil:
				w.to.Integer(n, cell.at.UnixMicro())
			case w.table.columns[n].Kind == Integer:
				w.to.Integer(n, cell.integer)
			default:
				w.to.Text(n, cell.text)
			}
		}
		if err := w.to.EndRow(); err != nil {
			return err
		}
	}
	return nil
}

func (w *parquetWriter[T]) close() error { return w.to.Close() }
