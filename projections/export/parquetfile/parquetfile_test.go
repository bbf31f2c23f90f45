package parquetfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"payledger/domain/seedtest"
	"payledger/projections/export/parquetfile"
)

// columns are one of each kind, with and without nulls, with and without a dictionary.
func columns() (all []parquetfile.Column) {
	for _, c := range []parquetfile.Column{
		{Name: "text"}, {Name: "word", Dictionary: true}, {Name: "integer", Kind: parquetfile.Integer}, {Name: "time", Kind: parquetfile.Time},
		{Name: "json", Kind: parquetfile.JSON},
	} {
		all = append(all, c)
		c.Name, c.Optional = c.Name+"_optional", true
		all = append(all, c)
	}
	return all
}

func numeric(c parquetfile.Column) bool {
	return c.Kind == parquetfile.Integer || c.Kind == parquetfile.Time
}

// written returns a file of rows, whose values are nil, int64 or string.
func written(t testing.TB, perGroup int, columns []parquetfile.Column, rows [][]any) []byte {
	t.Helper()
	var to bytes.Buffer
	if err := write(&to, perGroup, columns, rows); err != nil {
		t.Fatal(err)
	}
	return to.Bytes()
}

func write(to io.Writer, perGroup int, columns []parquetfile.Column, rows [][]any) error {
	w := parquetfile.New(to, "rows", perGroup, columns)
	for _, row := range rows {
		for i, value := range row {
			switch value := value.(type) {
			case nil:
				w.Null(i)
			case int64:
				w.Integer(i, value)
			case string:
				w.Text(i, value)
			}
		}
		if err := w.EndRow(); err != nil {
			return err
		}
	}
	return w.Close()
}

// read returns the rows of a file as the library reads them, and its row groups.
func read(data []byte) (rows [][]any, groups []parquet.RowGroup, err error) {
	file, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, nil, err
	}
	for _, group := range file.RowGroups() {
		from := group.Rows()
		defer from.Close()
		for batch := make([]parquet.Row, 64); err == nil; {
			var n int
			n, err = from.ReadRows(batch)
			for _, values := range batch[:n] {
				row := make([]any, len(values))
				for i, v := range values {
					switch {
					case v.IsNull():
					case v.Kind() == parquet.Int64:
						row[i] = v.Int64()
					default:
						row[i] = string(v.ByteArray())
					}
				}
				rows = append(rows, row)
			}
		}
		if !errors.Is(err, io.EOF) {
			return nil, nil, err
		}
		err = nil
	}
	return rows, file.RowGroups(), nil
}

// drawn draws a row's value. Words are few or many.
func drawn(t *rapid.T, c parquetfile.Column, words int) any {
	switch {
	case c.Optional && rapid.IntRange(0, 2).Draw(t, "null") == 0:
		return nil
	case numeric(c):
		return rapid.Int64().Draw(t, c.Name)
	case c.Dictionary:
		return fmt.Sprint("word ", rapid.IntRange(0, words).Draw(t, c.Name))
	default:
		return rapid.String().Draw(t, c.Name)
	}
}

// TestRoundTrip: the library reads the rows as they were written, in row groups of the agreed
// size, with the least and the greatest value of each column.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	seedtest.Check(t, func(t *rapid.T) {
		all := columns()
		words := rapid.SampledFrom([]int{0, 1, 3, 400}).Draw(t, "words")
		var rows [][]any
		for range rapid.IntRange(0, 300).Draw(t, "different rows") {
			row := make([]any, len(all))
			for i, c := range all {
				row[i] = drawn(t, c, words)
			}
			for range rapid.SampledFrom([]int{1, 1, 1, 2, 7, 8, 9, 16, 40}).Draw(t, "times") {
				rows = append(rows, row)
			}
		}
		perGroup := rapid.SampledFrom([]int{1000, 64, 63, 7}).Draw(t, "rows of a group")
		var to bytes.Buffer
		if err := write(&to, perGroup, all, rows); err != nil {
			t.Fatal(err)
		}
		got, groups, err := read(to.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(rows, got); diff != "" {
			t.Fatal(diff)
		}
		if n := (len(rows) + perGroup - 1) / perGroup; len(groups) != n {
			t.Fatalf("%d rows are in %d groups, expected %d", len(rows), len(groups), n)
		}
		for n, part := range slices.Collect(slices.Chunk(rows, perGroup)) {
			for i, c := range all {
				checkStatistics(t, groups[n].ColumnChunks()[i].(*parquet.FileColumnChunk), c, part, i)
			}
		}
	})
}

// checkStatistics compares a group's statistics of a column with the column's values.
func checkStatistics(t *rapid.T, chunk *parquet.FileColumnChunk, c parquetfile.Column, rows [][]any, column int) {
	var numbers []int64
	var texts []string
	long, nulls := false, int64(0)
	for _, row := range rows {
		switch value := row[column].(type) {
		case nil:
			nulls++
		case int64:
			numbers = append(numbers, value)
		case string:
			texts, long = append(texts, value), long || len(value) > 64
		}
	}
	if chunk.NumValues() != int64(len(rows)) || chunk.NullCount() != nulls {
		t.Fatalf("%s has %d values and %d nulls, expected %d and %d", c.Name, chunk.NumValues(), chunk.NullCount(), len(rows), nulls)
	}
	least, greatest, found := chunk.Bounds()
	switch {
	case len(numbers) > 0:
		if !found || least.Int64() != slices.Min(numbers) || greatest.Int64() != slices.Max(numbers) {
			t.Fatalf("%s is between %v and %v (%v), expected %v", c.Name, least, greatest, found, numbers)
		}
	case len(texts) > 0 && c.Kind == parquetfile.Text && !long:
		if !found || string(least.ByteArray()) != slices.Min(texts) || string(greatest.ByteArray()) != slices.Max(texts) {
			t.Fatalf("%s is between %v and %v (%v), expected %q", c.Name, least, greatest, found, texts)
		}
	case found:
		t.Fatalf("%s has bounds %v and %v without need", c.Name, least, greatest)
	}
}

// TestLargeValues: pages of more than a megabyte, extreme integers and empty texts are read back.
func TestLargeValues(t *testing.T) {
	t.Parallel()
	all := columns()
	var rows [][]any
	for i := range 50 {
		row := make([]any, len(all))
		for n, c := range all {
			switch {
			case numeric(c):
				row[n] = []int64{math.MinInt64, -1, 0, 1, math.MaxInt64}[i%5]
			case c.Optional && i%3 == 0:
			case i%2 == 0:
				row[n] = ""
			default:
				row[n] = strings.Repeat(string(rune('a'+i%26)), 100_000+i)
			}
		}
		rows = append(rows, row)
	}
	got, _, err := read(written(t, 1000, all, rows))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rows, got); diff != "" {
		t.Error(diff[:min(len(diff), 1000)])
	}
}

// TestDamage: the library notices a changed byte of each page: pages have checksums.
func TestDamage(t *testing.T) {
	t.Parallel()
	all := columns()
	var rows [][]any
	for i := range 200 {
		row := make([]any, len(all))
		for n, c := range all {
			if row[n] = fmt.Sprint("text ", i*7%13); numeric(c) {
				row[n] = int64(i * 1_000_003)
			}
		}
		rows = append(rows, row)
	}
	data := written(t, 50, all, rows)
	pages := 0
	for at := 0; ; at += 8 {
		next := bytes.Index(data[at:], []byte{0x28, 0xb5, 0x2f, 0xfd}) // the begin of what zstd compressed
		if next < 0 {
			break
		}
		at += next
		damaged := slices.Clone(data)
		damaged[at+8] ^= 1
		if _, _, err := read(damaged); err == nil {
			t.Errorf("nobody noticed a changed byte of page %d", pages)
		}
		pages++
	}
	if expected := 4 * (len(all) + 2); pages != expected { // two columns have a dictionary
		t.Errorf("%d pages were found, expected %d", pages, expected)
	}
}

// failing fails after some bytes.
type failing struct{ left int }

var errFull = errors.New("the disk is full")

func (f *failing) Write(data []byte) (int, error) {
	if n := min(f.left, len(data)); n < len(data) {
		f.left = 0
		return n, errFull
	}
	f.left -= len(data)
	return len(data), nil
}

// TestWriteFails: an error of any write is returned, at the latest by Close.
func TestWriteFails(t *testing.T) {
	t.Parallel()
	all := columns()[:1]
	rows := [][]any{{"a"}, {"b"}, {"c"}}
	whole := len(written(t, 2, all, rows))
	for left := range whole {
		if err := write(&failing{left}, 2, all, rows); !errors.Is(err, errFull) {
			t.Errorf("after %d of %d bytes the error is %v", left, whole, err)
		}
	}
	if err := write(&failing{whole}, 2, all, rows); err != nil {
		t.Error(err)
	}
}
