package export

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"reflect"
	"strconv"

	"payledger/projections/csvtext"
	"payledger/projections/jsontext"
	"payledger/projections/paymentjson"
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

type writer[T any] interface {
	write(rows []T) error
	close() error
}

// form is the format of files, with the choices that it has.
type form struct {
	Format
	escape bool // formulas in CSV
}

func (c Config) form() form { return form{c.Format, c.EscapeFormulas} }

// newWriter returns the writer of a table in a format other than SQLite.
func newWriter[T any](f form, t table[T], to io.Writer) (writer[T], error) {
	switch f.Format {
	case CSV:
		w := &csvWriter[T]{table: t, to: csv.NewWriter(to), escape: f.escape}
		return w, w.to.Write(t.names())
	case JSONLines:
		return newLineWriter(t, to), nil
	case Parquet:
		return newParquetWriter(t, to), nil
	default:
		return nil, fmt.Errorf("export: no writer for %s", f.Format)
	}
}

// csvWriter writes a header and a record for each row; null is an empty field.
type csvWriter[T any] struct {
	table  table[T]
	to     *csv.Writer
	escape bool
}

func (w *csvWriter[T]) write(rows []T) error {
	record := make([]string, len(w.table.columns))
	var made []byte // texts of numbers and times of a row
	for i := range rows {
		row := reflect.ValueOf(&rows[i]).Elem()
		made = made[:0]
		for n := range w.table.columns {
			c := w.table.columns[n].cellOf(row)
			from := len(made)
			switch {
			case c.null:
			case c.at != nil:
				made = paymentjson.AppendTime(made, *c.at)
			case w.table.columns[n].Kind == Integer:
				made = strconv.AppendInt(made, c.integer, 10)
			}
			if record[n] = c.text; w.escape {
				record[n] = csvtext.Escape(c.text)
			}
			if len(made) > from {
				record[n] = string(made[from:])
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
	line  []byte
}

func newLineWriter[T any](t table[T], to io.Writer) *lineWriter[T] {
	w := &lineWriter[T]{table: t, to: bufio.NewWriterSize(to, lineBuffer)}
	for _, name := range t.names() {
		w.names = append(w.names, strconv.Quote(name)+":")
	}
	return w
}

const lineBuffer = 64 << 10

func (w *lineWriter[T]) write(rows []T) error {
	for i := range rows {
		if _, err := w.to.Write(w.object(reflect.ValueOf(&rows[i]).Elem())); err != nil {
			return err
		}
	}
	return nil
}

// object returns the line of a row, until the next call.
func (w *lineWriter[T]) object(row reflect.Value) []byte {
	line := w.line[:0]
	line = append(line, '{')
	for n := range w.table.columns {
		c := w.table.columns[n].cellOf(row)
		if c.null {
			continue
		}
		if len(line) > 1 {
			line = append(line, ',')
		}
		line = append(line, w.names[n]...)
		switch w.table.columns[n].Kind {
		case Integer:
			line = strconv.AppendInt(line, c.integer, 10)
		case Time:
			line = append(paymentjson.AppendTime(append(line, '"'), *c.at), '"')
		case JSON:
			line = append(line, c.text...)
		default:
			line = jsontext.Append(line, c.text, true)
		}
	}
	line = append(line, '}', '\n')
	w.line = line
	return line
}

func (w *lineWriter[T]) close() error { return w.to.Flush() }
