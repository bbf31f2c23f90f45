package export

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// Format is the file format of an export.
type Format string

// The formats (I1).
const (
	JSONLines Format = "jsonl"
	CSV       Format = "csv"
	Parquet   Format = "parquet"
	SQLite    Format = "sqlite"
)

// rowGroup is the number of rows of a Parquet row group, which is held in memory until it is written.
const rowGroup = 20_000

// writer writes the rows of one table.
type writer[T any] interface {
	write(rows []T) error
	close() error
}

// newWriter returns the writer of a table in a format other than SQLite.
func newWriter[T any](f Format, t table[T], to io.Writer) (writer[T], error) {
	switch f {
	case CSV:
		w := &csvWriter[T]{table: t, to: csv.NewWriter(to)}
		return w, w.to.Write(t.names())
	case JSONLines:
		return newLineWriter(t, to), nil
	case Parquet:
		return &parquetWriter[T]{parquet.NewGenericWriter[T](to, parquet.Compression(&zstd.Codec{}), parquet.MaxRowsPerRowGroup(rowGroup))}, nil
	default:
		return nil, fmt.Errorf("export: no writer for %s", f)
	}
}

// csvWriter writes a header and a record for each row; null is an empty field.
type csvWriter[T any] struct {
	table table[T]
	to    *csv.Writer
}

func (w *csvWriter[T]) write(rows []T) error {
	record := make([]string, len(w.table.columns))
	for i := range rows {
		for c, value := range w.table.values(&rows[i]) {
			switch value := value.(type) {
			case int64:
				record[c] = strconv.FormatInt(value, 10)
			case string:
				record[c] = value
			default:
				record[c] = ""
			}
		}
		if err := w.to.Write(record); err != nil {
			return err
		}
	}
	return nil
}

func (w *csvWriter[T]) close() error {
	w.to.Flush()
	return w.to.Error()
}

// lineWriter writes a JSON object for each row, without the columns that are null.
type lineWriter[T any] struct {
	table table[T]
	names []string // of the columns, as JSON with the colon
	to    *bufio.Writer
}

func newLineWriter[T any](t table[T], to io.Writer) *lineWriter[T] {
	w := &lineWriter[T]{table: t, to: bufio.NewWriter(to)}
	for _, name := range t.names() {
		w.names = append(w.names, strconv.Quote(name)+":")
	}
	return w
}

func (w *lineWriter[T]) write(rows []T) error {
	var line []byte
	for i := range rows {
		line = append(line[:0], '{')
		for c, value := range w.table.values(&rows[i]) {
			if value == nil {
				continue
			}
			if len(line) > 1 {
				line = append(line, ',')
			}
			line = append(line, w.names[c]...)
			switch value := value.(type) {
			case int64:
				line = strconv.AppendInt(line, value, 10)
			case string:
				if w.table.columns[c].Kind == JSON {
					line = append(line, value...)
					continue
				}
				text, err := json.Marshal(value)
				if err != nil {
					return err
				}
				line = append(line, text...)
			}
		}
		if _, err := w.to.Write(append(line, '}', '\n')); err != nil {
			return err
		}
	}
	return nil
}

func (w *lineWriter[T]) close() error { return w.to.Flush() }

// parquetWriter writes columns, compressed with Zstandard.
type parquetWriter[T any] struct{ to *parquet.GenericWriter[T] }

func (w *parquetWriter[T]) write(rows []T) error {
	_, err := w.to.Write(rows)
	return err
}

func (w *parquetWriter[T]) close() error { return w.to.Close() }
