package audit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"payledger/domain/processor"
	"payledger/eventstore/reconcile"
)

// sheet prints a comparison while it runs; it keeps no differences.
type sheet struct {
	out  io.Writer
	q    reconcile.Question
	json bool
	rows int
}

func newSheet(out io.Writer, q reconcile.Question, asJSON bool) *sheet {
	return &sheet{out: out, q: q, json: asJSON}
}

// sheetRow is the layout of the table, wide enough for usual names and ids.
const sheetRow = "%-17s  %-30s  %-9s  %-34s  %-26s  %s\n"

// add prints one difference.
func (s *sheet) add(d reconcile.Difference) error {
	s.rows++
	if s.json {
		if err := s.open(); err != nil {
			return err
		}
		text, err := json.Marshal(d)
		if err == nil {
			_, err = fmt.Fprintf(s.out, "\n  %s", text)
		}
		return err
	}
	if s.rows == 1 {
		if _, err := fmt.Fprintf(s.out, sheetRow, "DIFFERENCE", "PAYMENT", "OPERATION", "KEY OR ID", "HERE", "THERE"); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(s.out, sheetRow, d.Kind, d.Payment, d.Operation, cmp.Or(string(d.Key), d.Dispute, d.ID), side(d, d.Here), side(d, d.There))
	return err
}

// side returns the part of one side that the difference is about.
func side(d reconcile.Difference, s *reconcile.Side) string {
	switch {
	case s == nil:
		return "-"
	case d.Kind == reconcile.OtherMerchant:
		return s.MerchantID
	case d.Kind == reconcile.OtherTransaction:
		return s.TransactionID
	default:
		return s.State + " " + s.Amount.Format(s.Currency)
	}
}

// open writes the text before a difference in the JSON object.
func (s *sheet) open() error {
	var err error
	if s.rows > 1 {
		_, err = io.WriteString(s.out, ",")
		return err
	}
	_, err = io.WriteString(s.out, `{"differences": [`)
	return err
}

// sheetEnd is the JSON object after the differences.
type sheetEnd struct {
	Processor processor.Name `json:"processor"`
	From      string         `json:"from,omitempty"`
	To        string         `json:"to,omitempty"`
	Compared  sheetCounts    `json:"compared"`
}

// sheetCounts are the numbers of compared things.
type sheetCounts struct {
	Payments   int `json:"payments"`
	Operations int `json:"operations"`
	Records    int `json:"records"`
	Open       int `json:"open"`
	Fresh      int `json:"fresh"`
	Disputes   int `json:"disputes"`
}

// optional formats a time as D1 requires; "" for the zero time.
func optional(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return date(t)
}

// end prints the counts.
func (s *sheet) end(c reconcile.Counts) error {
	if !s.json {
		_, err := fmt.Fprintf(s.out, "%d differences. Compared with %s: %d payments with %d operations there, %d entries of its books, and %d notifications about disputes; %d have no answer yet, %d were too fresh to judge.\n",
			c.Differences, s.q.Processor, c.Payments, c.Operations, c.Records, c.Disputes, c.Open, c.Fresh)
		return err
	}
	if s.rows == 0 {
		if _, err := io.WriteString(s.out, `{"differences": [`); err != nil {
			return err
		}
	}
	rest, err := json.Marshal(sheetEnd{
		s.q.Processor, optional(s.q.From), optional(s.q.To), sheetCounts{c.Payments, c.Operations, c.Records, c.Open, c.Fresh, c.Disputes},
	})
	if err == nil {
		_, err = fmt.Fprintf(s.out, "],\n %s\n", rest[1:])
	}
	return err
}
