package sheet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"payledger/cmd/payledger/terminal"
	"payledger/eventstore/commands/reconcile"
)

// Sheets prints the comparisons with one processor after the other. Of several, those without a
// difference share one sentence at the end.
type Sheets struct {
	Out  io.Writer
	JSON bool
	List bool // an array of JSON
	Of   int  // processors
	Bar  *terminal.Bar

	// Differences is the number of differences so far.
	Differences int

	begun   int // comparisons
	printed bool
	alike   []string // processors without a difference
	counts  reconcile.Counts
}

// Comparison compares with one processor.
type Comparison func(ctx context.Context, q reconcile.Scope, report func(reconcile.Difference) error, progress func(reconcile.Progress)) (reconcile.Counts, error)

// Compare compares with one processor and prints what differs.
func (s *Sheets) Compare(ctx context.Context, q reconcile.Scope, compare Comparison) error {
	sheet := &sheet{out: s.Out, q: q, json: s.JSON}
	if err := s.separate(s.JSON); err != nil {
		return err
	}
	report := func(d reconcile.Difference) error {
		s.Bar.Clear()
		if err := s.separate(!s.JSON && sheet.rows == 0); err != nil {
			return err
		}
		return sheet.add(d)
	}
	s.begun++
	counts, err := compare(ctx, q, report, func(p reconcile.Progress) { s.show(q, p) })
	s.Bar.Clear()
	s.Differences += counts.Differences
	switch {
	case err != nil:
		return errors.Join(err, sheet.fail(err))
	case s.Of > 1 && !s.JSON && counts.Differences == 0:
		counts.Payments = max(counts.Payments, s.counts.Payments) - s.counts.Payments // every comparison reads all of them
		s.alike, s.counts = append(s.alike, string(q.Processor)), s.counts.Add(counts)
		return nil
	default:
		return sheet.end(counts)
	}
}

// separate prints the text before the next comparison, if it is due.
func (s *Sheets) separate(due bool) error {
	text := ""
	switch {
	case !due:
	case !s.JSON && s.printed:
		text = "\n"
	case s.JSON && s.List && s.begun == 0:
		text = "["
	case s.JSON && s.List:
		text = ","
	}
	s.printed = s.printed || due
	_, err := io.WriteString(s.Out, text)
	return err
}

// End prints the rest after the last comparison.
func (s *Sheets) End() (err error) {
	switch {
	case s.JSON && s.List && s.begun == 0:
		_, err = fmt.Fprintln(s.Out, "[]")
	case s.JSON && s.List:
		_, err = fmt.Fprintln(s.Out, "]")
	case len(s.alike) > 0:
		if err = s.separate(true); err == nil {
			_, err = fmt.Fprintln(s.Out, compared(s.counts, strings.Join(s.alike, ", ")))
		}
	}
	return err
}

// show draws the progress over all processors.
func (s *Sheets) show(q reconcile.Scope, p reconcile.Progress) {
	now := s.progress(q, p)
	s.Bar.Step(now.text, "payments", now.done, now.of)
}

// progress is the step that goes on, and the number of the payments that were looked at, of those
// of all comparisons.
type progress struct {
	text     string
	done, of uint64
}

// progress returns the place over all processors: each comparison looks at every payment of the
// ledger first, and then at the processor's books, whose length is unknown.
func (s *Sheets) progress(q reconcile.Scope, p reconcile.Progress) progress {
	before, payments, each := uint64(s.begun-1), uint64(p.Payments), p.Total
	text := string(q.Processor)
	if p.Books {
		each = payments
		text += fmt.Sprintf(": %s of its books", terminal.Count(p.Records+p.Disputes, "entry"))
	}
	return progress{text, before*each + payments, uint64(s.Of) * each}
}
