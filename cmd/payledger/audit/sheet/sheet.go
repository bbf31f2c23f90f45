package sheet

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"payledger/cmd/payledger/terminal"
	"payledger/domain/processor"
	"payledger/eventstore/commands/reconcile"
	"payledger/projections/paymentjson"
)

// sheet prints a comparison while it runs; it keeps no differences.
type sheet struct {
	out  io.Writer
	q    reconcile.Scope
	json bool
	rows int
}

const sheetRow = "%-17s  %-30s  %-9s  %-34s  %-26s  %s\n"

func (s *sheet) add(d reconcile.Difference) error {
	s.rows++
	if s.json {
		before := ","
		if s.rows == 1 {
			before = sheetBegin
		}
		text, err := json.Marshal(sheetDifference{d, nextStep(d)})
		if err == nil {
			_, err = fmt.Fprintf(s.out, "%s\n  %s", before, text)
		}
		return err
	}
	if s.rows == 1 {
		if _, err := fmt.Fprintf(s.out, sheetRow, "DIFFERENCE", "PAYMENT", "OPERATION", "KEY OR ID", "HERE", "THERE"); err != nil {
			return err
		}
	}
	row := fmt.Sprintf(sheetRow, d.Kind, d.Payment, d.Operation, cmp.Or(string(d.Key), d.Dispute, d.ID), side(d, d.Here), side(d, d.There))
	_, err := fmt.Fprintf(s.out, "%s\n  → %s\n", terminal.Harmless(strings.TrimSuffix(row, "\n")), terminal.Harmless(nextStep(d)))
	return err
}

type sheetDifference struct {
	reconcile.Difference
	NextStep string `json:"nextStep"`
}

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

const sheetBegin = `{"differences": [`

type sheetEnd struct {
	Processor processor.Name   `json:"processor"`
	From      paymentjson.Time `json:"from,omitzero"`
	To        paymentjson.Time `json:"to,omitzero"`
	Compared  *sheetCounts     `json:"compared,omitempty"` // of a whole comparison
	Error     string           `json:"error,omitempty"`    // why it is not whole
}

type sheetCounts struct {
	reconcile.Counts
	Differences int `json:"differences,omitempty"`
}

func (s *sheet) end(c reconcile.Counts) error {
	if !s.json {
		_, err := fmt.Fprintln(s.out, compared(c, string(s.q.Processor)))
		return err
	}
	return s.endObject(sheetEnd{Compared: &sheetCounts{Counts: c}})
}

// fail ends a comparison that is not whole. The table has no sentence about it: the error goes to
// stderr.
func (s *sheet) fail(reason error) error {
	if !s.json {
		return nil
	}
	return s.endObject(sheetEnd{Error: reason.Error()})
}

func (s *sheet) endObject(end sheetEnd) error {
	if s.rows == 0 {
		if _, err := io.WriteString(s.out, sheetBegin); err != nil {
			return err
		}
	}
	end.Processor, end.From, end.To = s.q.Processor, paymentjson.Time{Time: s.q.From}, paymentjson.Time{Time: s.q.To}
	rest, err := json.Marshal(end)
	if err == nil {
		_, err = fmt.Fprintf(s.out, "],\n %s\n", rest[1:])
	}
	return err
}

// compared returns the sentence about a complete comparison.
func compared(c reconcile.Counts, with string) string {
	return fmt.Sprintf("%s. Compared with %s: %s of the ledger with %s there, %s of its books, and %s about disputes; %s, %s.",
		terminal.Count(c.Differences, "difference"), with, terminal.Count(c.Payments, "payment"), terminal.Count(c.Operations, "operation"),
		terminal.Count(c.Records, "entry"), terminal.Count(c.Disputes, "notification"),
		terminal.Count(c.Open, "has no answer yet", "have no answer yet"), terminal.Count(c.Fresh, "was too fresh to judge", "were too fresh to judge"))
}
