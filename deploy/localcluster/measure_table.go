package main

import (
	"fmt"
	"slices"
	"strings"
)

// table has a column for each number of API nodes.
type table struct {
	title, machine string
	before, after  string // load of the machine
	nodes          []mix
	rows           []row
	fsyncs         []float64 // in ms
}

type row struct {
	name  string
	cells []figure
}

// figure is one cell.
type figure struct {
	row    string
	unit   string // a format for the value
	value  float64
	detail string // more about it
	zero   bool   // 0 is a good value
	err    error
}

// add adds a figure to its row.
func (t *table) add(f figure) {
	if f.err == nil && f.value == 0 && !f.zero {
		f.err = fmt.Errorf("nothing was measured")
	}
	at := slices.IndexFunc(t.rows, func(r row) bool { return r.name == f.row })
	if at < 0 {
		at, t.rows = len(t.rows), append(t.rows, row{name: f.row})
	}
	t.rows[at].cells = append(t.rows[at].cells, f)
}

// text is the cell in Markdown.
func (f figure) text() string {
	text := fmt.Sprintf(f.unit, f.value)
	if f.err != nil && f.value == 0 {
		return "failed"
	}
	if f.detail != "" {
		text += " (" + f.detail + ")"
	}
	if f.err != nil {
		text += ", with errors"
	}
	return text
}

func (t *table) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", t.title, t.machine)
	if len(t.fsyncs) > 0 {
		fmt.Fprintf(&b, "; an fsync takes %.2f ms", median(t.fsyncs))
	}
	fmt.Fprintf(&b, "; load before %s, after %s\n\n|", t.before, t.after)
	for _, n := range t.nodes {
		switch {
		case n.sum() == 1:
			b.WriteString(" | 1 API node")
		case n.api == 0:
			fmt.Fprintf(&b, " | %d API nodes", n.sum())
		default:
			fmt.Fprintf(&b, " | %d API nodes, %d with views", n.sum(), n.views)
		}
	}
	fmt.Fprintf(&b, " |\n|---|%s\n", strings.Repeat("---|", len(t.nodes)))
	for _, r := range t.rows {
		fmt.Fprintf(&b, "| %s |", r.name)
		for _, f := range r.cells {
			fmt.Fprintf(&b, " %s |", f.text())
		}
		b.WriteByte('\n')
	}
	for _, err := range t.failures() {
		fmt.Fprintf(&b, "\n%v\n", err)
	}
	return b.String()
}

// failures returns the errors of the cells.
func (t *table) failures() (all []error) {
	for _, r := range t.rows {
		for i, f := range r.cells {
			if f.err != nil {
				all = append(all, fmt.Errorf("%s, API nodes: %s: %w", r.name, t.nodes[i], f.err))
			}
		}
	}
	return all
}

// medians returns the table of the medians of several runs. The detail of a cell is its smallest
// and its largest value.
func medians(runs []*table) *table {
	first, last := runs[0], runs[len(runs)-1]
	all := &table{title: fmt.Sprintf("Medians of %d runs (smallest to largest)", len(runs)), machine: first.machine, before: first.before, after: last.after, nodes: first.nodes}
	for _, t := range runs {
		all.fsyncs = append(all.fsyncs, t.fsyncs...)
	}
	for r, of := range first.rows {
		for c := range of.cells {
			f := of.cells[c]
			values := make([]float64, len(runs))
			for i, t := range runs {
				cell := t.rows[r].cells[c]
				values[i] = cell.value
				if f.err == nil {
					f.err = cell.err
				}
			}
			slices.Sort(values)
			f.value = median(values)
			f.detail = fmt.Sprintf(f.unit+" to "+f.unit, values[0], values[len(values)-1])
			all.add(f)
		}
	}
	return all
}

// median returns the middle of the values, the mean of two if their number is even.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return (sorted[half-1] + sorted[half]) / 2
	}
	return sorted[half]
}
