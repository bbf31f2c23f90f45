package sqlitefile

import (
	"slices"
	"strings"
	"time"

	"payledger/projections/listing"
)

// Where is a condition of a query with its arguments.
type Where struct {
	parts []string
	Args  []any
}

// And adds a condition.
func (w *Where) And(sql string, args ...any) {
	w.parts = append(w.parts, sql)
	w.Args = append(w.Args, args...)
}

// OneOf adds the condition that a column has one of the values. Without a value it adds nothing.
func (w *Where) OneOf(column string, values []string) {
	values = slices.Compact(slices.Sorted(slices.Values(values)))
	if len(values) == 0 {
		return
	}
	w.parts = append(w.parts, column+" IN (?"+strings.Repeat(", ?", len(values)-1)+")")
	for _, v := range values {
		w.Args = append(w.Args, v)
	}
}

// Between adds the bounds of a column of times, both included; nil is no bound.
func (w *Where) Between(column string, from, to *time.Time) {
	if from != nil {
		w.And(column+" >= ?", from.UnixMicro())
	}
	if to != nil {
		w.And(column+" <= ?", to.UnixMicro())
	}
}

// After adds the condition that a row comes after a place, in a list by a column of times and by
// id, newest first; nil is the newest end.
func (w *Where) After(column string, from *listing.Place) {
	if from != nil { // an index can use the first comparison
		at := from.At.UnixMicro()
		w.And(column+" <= ? AND ("+column+" < ? OR id < ?)", at, at, from.ID)
	}
}

// SQL returns the condition; TRUE if there is none.
func (w *Where) SQL() string {
	if len(w.parts) == 0 {
		return "TRUE"
	}
	return strings.Join(w.parts, " AND ")
}
