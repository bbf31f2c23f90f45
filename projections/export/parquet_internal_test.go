package export

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"payledger/domain/seedtest"
)

// kindRow has a column of every kind that can be null, and one that cannot.
type kindRow struct {
	Number int64     `parquet:"number" key:"1"`
	Plain  string    `parquet:"plain,optional"`
	Dict   string    `parquet:"dict,optional,dict"`
	Count  int64     `parquet:"count,optional"`
	At     time.Time `parquet:"at,optional,timestamp(microsecond)"`
	JSON   string    `parquet:"json,optional,json"`
	Empty  string    `parquet:"empty"`
}

// nullPatterns are blocks of 64 rows; a 1 is a row with values. They are all runs of values, from
// every row on, and some random blocks.
func nullPatterns(random *rand.Rand) (all []uint64) {
	for from := range 64 {
		for length := range 65 - from {
			run := (uint64(1)<<length - 1) << from
			all = append(all, run)
		}
	}
	for range 50 {
		all = append(all, random.Uint64(), random.Uint64()&random.Uint64()&random.Uint64(), random.Uint64()|random.Uint64()|random.Uint64())
	}
	return all
}

// TestParquetNulls: in blocks of 64 rows of every pattern, a null is null and never the zero value,
// whatever surrounds it. The values are read with their definition levels.
func TestParquetNulls(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(seedtest.Seed(t), 64))
	kinds := newTable[kindRow]("kinds")
	var rows []kindRow
	for _, pattern := range nullPatterns(random) {
		for i := range 64 {
			row := kindRow{Number: int64(len(rows) + 1)}
			if pattern>>i&1 == 1 {
				row.Plain, row.Dict, row.Count, row.At, row.JSON = "a", "b", row.Number, time.UnixMicro(row.Number).UTC(), "{}"
			}
			rows = append(rows, row)
		}
	}
	var file bytes.Buffer
	w, err := newWriter(form{Format: Parquet}, kinds, &file)
	for from := 0; err == nil && from < len(rows); from += batchSize {
		err = w.write(rows[from:min(from+batchSize, len(rows))])
	}
	if err := errors.Join(err, w.close()); err != nil {
		t.Fatal(err)
	}
	read, err := parquet.OpenFile(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if groups := len(read.RowGroups()); groups != (len(rows)+rowGroup-1)/rowGroup {
		t.Errorf("%d rows are in %d row groups", len(rows), groups)
	}
	reader := parquet.NewReader(read)
	defer reader.Close()
	wrong, n := 0, 0
	for buffer := make([]parquet.Row, batchSize); ; {
		found, err := reader.ReadRows(buffer)
		for _, row := range buffer[:found] {
			for i, value := range kinds.values(nil, &rows[n]) {
				if at, is := value.(string); is && kinds.columns[i].Kind == Time {
					value = parsed(t, at)
				}
				if got := plainValue(row[i]); got != value && wrong < 10 {
					wrong++
					t.Errorf("row %d, column %s is %#v, expected %#v", n, kinds.columns[i].Name, got, value)
				}
			}
			n++
		}
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if n != len(rows) {
		t.Errorf("%d rows were read, expected %d", n, len(rows))
	}
}

func parsed(t *testing.T, text string) int64 {
	t.Helper()
	at, err := time.Parse(timeLayout, text)
	if err != nil {
		t.Fatal(err)
	}
	return at.UnixMicro()
}

func plainValue(v parquet.Value) any {
	switch {
	case v.IsNull():
		return nil
	case v.Kind() == parquet.Int64:
		return v.Int64()
	default:
		return string(v.ByteArray())
	}
}

// TestParquetSchema: a file has the schema that the row type's tags say.
func TestParquetSchema(t *testing.T) {
	t.Parallel()
	sameSchema(t, events)
	sameSchema(t, payments)
	sameSchema(t, transactions)
	sameSchema(t, refunds)
	sameSchema(t, disputes)
	sameSchema(t, webhooks)
	sameSchema(t, entries)
	sameSchema(t, newTable[kindRow]("kinds"))
}

func sameSchema[T any](t *testing.T, of table[T]) {
	t.Helper()
	var data bytes.Buffer
	if err := newParquetWriter(of, &data).close(); err != nil {
		t.Fatal(err)
	}
	file, err := parquet.OpenFile(bytes.NewReader(data.Bytes()), int64(data.Len()))
	if err != nil {
		t.Fatal(err)
	}
	var row T
	if expected := parquet.SchemaOf(&row); !parquet.EqualNodes(file.Schema(), expected) {
		t.Errorf("%s has the schema %s\nexpected %s", of.name, file.Schema(), expected)
	}
}
