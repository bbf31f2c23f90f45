package export

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"payledger/projections/paymentjson"
)

// Column is one column of a table.
type Column struct {
	Name     string
	Kind     Kind
	Optional bool // null where its Go value is zero
	Doc      string

	index      int // of the row type's field
	key        string
	dictionary bool // few of its texts differ
}

// Kind is the type of a column.
type Kind string

const (
	Text    Kind = "text"
	Integer Kind = "integer"
	Time    Kind = "timestamp" // UTC, microseconds; text in CSV, JSON lines and SQLite: 2026-03-14T09:26:53.000000Z
	JSON    Kind = "json"
)

// timeLayout is the form of times in CSV, JSON lines and SQLite.
const timeLayout = "2006-01-02T15:04:05.000000Z"

// table is a row type with its columns. T is one of the row types.
type table[T any] struct {
	name    string
	columns []Column

	insert     string // SQL that inserts a row, or replaces the row of the same key
	selectByID string // SQL that returns the row with an id
}

func newTable[T any](name string) table[T] {
	t := table[T]{name: name}
	row := reflect.TypeFor[T]()
	for i := range row.NumField() {
		field := row.Field(i)
		tag := strings.Split(field.Tag.Get("parquet"), ",")
		c := Column{
			Name: tag[0], Kind: Text, Optional: slices.Contains(tag, "optional"), Doc: field.Tag.Get("doc"),
			index: i, key: field.Tag.Get("key"), dictionary: slices.Contains(tag, "dict"),
		}
		switch {
		case slices.Contains(tag, "json"):
			c.Kind = JSON
		case field.Type == reflect.TypeFor[time.Time]():
			c.Kind = Time
		case field.Type.Kind() == reflect.Int64:
			c.Kind = Integer
		}
		t.columns = append(t.columns, c)
	}
	names, marks := strings.Join(t.names(), ", "), strings.TrimSuffix(strings.Repeat("?, ", len(t.columns)), ", ")
	t.insert = fmt.Sprintf("INSERT OR REPLACE INTO %s (%s) VALUES (%s)", t.name, names, marks)
	t.selectByID = fmt.Sprintf("SELECT %s FROM %s WHERE id = ?", names, t.name)
	return t
}

// The tables of an export, in the order of the guide tables.md.
var (
	events       = newTable[EventRow]("events")
	payments     = newTable[PaymentRow]("payments")
	transactions = newTable[TransactionRow]("transactions")
	refunds      = newTable[RefundRow]("refunds")
	disputes     = newTable[DisputeRow]("disputes")
	webhooks     = newTable[DeliveryRow]("deliveries")
	entries      = newTable[EntryRow]("entries")
)

// The payments and disputes after all events, of an export that ends with a time.
var (
	foldedPayments = newTable[PaymentRow]("folded_payments")
	foldedDisputes = newTable[DisputeRow]("folded_disputes")
)

type cell struct {
	null    bool
	integer int64
	text    string
	at      *time.Time
}

func (c *Column) cellOf(v reflect.Value) (out cell) {
	field := v.Field(c.index)
	if out.null = c.Optional && field.IsZero(); out.null {
		return out
	}
	switch c.Kind {
	case Integer:
		out.integer = field.Int()
	case Time:
		out.at = field.Addr().Interface().(*time.Time)
	default:
		out.text = field.String()
	}
	return out
}

// values appends a row's values by column: int64, string, or nil for null. Times are text.
func (t table[T]) values(values []any, row *T) []any {
	v := reflect.ValueOf(row).Elem()
	for i := range t.columns {
		switch c := t.columns[i].cellOf(v); {
		case c.null:
			values = append(values, nil)
		case c.at != nil:
			values = append(values, string(paymentjson.AppendTime(make([]byte, 0, len(timeLayout)), *c.at)))
		case t.columns[i].Kind == Integer:
			values = append(values, c.integer)
		default:
			values = append(values, c.text)
		}
	}
	return values
}

// read returns the row of values as SQLite gives them.
func (t table[T]) read(values []any) (row T, err error) {
	v := reflect.ValueOf(&row).Elem()
	for i, c := range t.columns {
		field := v.Field(c.index)
		switch value := values[i].(type) {
		case nil:
		case int64:
			field.SetInt(value)
		case string:
			if c.Kind != Time {
				field.SetString(value)
				continue
			}
			at, err := time.Parse(timeLayout, value)
			if err != nil {
				return row, fmt.Errorf("export: %s.%s: %w", t.name, c.Name, err)
			}
			field.Set(reflect.ValueOf(at))
		default:
			return row, fmt.Errorf("export: %s.%s is a %T", t.name, c.Name, value)
		}
	}
	return row, nil
}

func (t table[T]) names() []string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.Name
	}
	return names
}

// keys returns the columns of the primary key, in its order: they are a row's first ones.
func (t table[T]) keys() (keys []string) {
	for _, c := range t.columns {
		if c.key != "" {
			keys = append(keys, c.Name)
		}
	}
	return keys
}

func (t table[T]) create() string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE %s (\n", t.name)
	for _, c := range t.columns {
		kind, null := "TEXT", " NOT NULL"
		if c.Kind == Integer {
			kind = "INTEGER"
		}
		if c.Optional {
			null = ""
		}
		fmt.Fprintf(&b, "  %s %s%s,\n", c.Name, kind, null)
	}
	fmt.Fprintf(&b, "  PRIMARY KEY (%s)\n) WITHOUT ROWID;\n", strings.Join(t.keys(), ", "))
	return b.String()
}
