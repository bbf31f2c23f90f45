package audit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"payledger/cmd/payledger/terminal"
	"payledger/domain"
	"payledger/domain/exactjson"
	"payledger/projections/history"
	"payledger/projections/jsontext"
	"payledger/projections/paymentjson"
)

// historyEntry is an entry of a history as the server sends it.
type historyEntry struct {
	history.Entry
	Event json.RawMessage `json:"event"`
	Raw   string          `json:"raw"` // base64
}

// textPrinter prints a history for people: one line an event, and below it the parts that the flags
// select.
type textPrinter struct {
	out    io.Writer
	width  int // columns of a line; 0: nothing is cut
	c      *History
	events int
	last   historyEntry
}

func (p *textPrinter) entry(text json.RawMessage) error {
	var e historyEntry
	if err := exactjson.Unmarshal(text, &e); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	var lines []string
	if p.events == 0 {
		lines = append(lines, e.head())
	}
	words, err := e.words()
	if err != nil {
		return err
	}
	line, cut := e.line(p.last.Time.Time, words, p.width)
	if lines = append(lines, line); cut && p.c.Full {
		lines = append(lines, "     "+words)
	}
	if p.c.Diff {
		lines = append(lines, e.diff()...)
	}
	if p.c.Full {
		lines = append(lines, e.full()...)
	}
	if p.c.Raw {
		lines = append(lines, "     previous "+e.PreviousHash, "     raw      "+e.Raw, "     hash     "+e.Hash)
	}
	p.events++
	p.last = e
	return p.print(lines)
}

func (p *textPrinter) end() error {
	var lines []string
	if !p.c.Full {
		for _, w := range p.last.Waiting {
			lines = append(lines, waitingLine(w))
		}
	}
	count := terminal.Count(p.events, "event")
	if p.c.At != "" {
		count += " up to " + p.c.At
	}
	return p.print(append(lines, fmt.Sprintf("%s. Last hash: %s", count, p.last.Hash)))
}

// print writes lines. Their texts come from outside.
func (p *textPrinter) print(lines []string) error {
	for _, line := range lines {
		if _, err := fmt.Fprintln(p.out, terminal.Harmless(line)); err != nil {
			return fmt.Errorf("stdout: %w", err)
		}
	}
	return nil
}

func (e historyEntry) head() string {
	return fmt.Sprintf("Payment %s, %s, order %s. Times are in UTC.",
		e.Payment.ID, e.Payment.Amount.Format(e.Payment.CurrencyCode), quoted(e.Payment.OrderID, 0))
}

// line returns the line of an event, and whether a name or the description was cut to a number of
// columns, unless that is 0. Money is never cut.
func (e historyEntry) line(before time.Time, words string, most int) (line string, cut bool) {
	elapsed := ""
	if !before.IsZero() {
		elapsed = since(e.Time.Sub(before))
	}
	begin := fmt.Sprintf("%3d  %s %8s  %-17s  %s by ", e.Revision, e.Time.UTC().Format(time.DateTime), elapsed, e.Payment.Status, e.Type)
	money := e.money()
	actor, described := e.actor(0), words
	if most > 0 {
		room := most - terminal.Columns(begin+money) - len(": ") - len("; ")
		actor = terminal.Clip(e.actor(min(30, max(20, room-24))), room)
		described = terminal.Clip(words, room-terminal.Columns(actor))
	}
	if described != "" && money != "" {
		money += "; "
	}
	return begin + actor + prefixed(": ", money+described), most > 0 && described != terminal.Harmless(words)
}

// quoted returns a text from outside in quotation marks, cut to a number of columns, unless that is
// 0.
func quoted(text string, most int) string {
	if most > 0 {
		text = terminal.Clip(text, most-2)
	}
	return `"` + strings.ReplaceAll(text, `"`, "'") + `"`
}

// since returns a duration in at most 8 characters: "+0.012s", "+12.34s", "+4m05s", "+3h07m",
// "+12d3h".
func since(d time.Duration) string {
	sign := "+"
	if d < 0 { // clocks of two nodes may differ
		sign, d = "-", -d
	}
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%s%.3fs", sign, d.Truncate(time.Millisecond).Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%s%.2fs", sign, d.Truncate(10*time.Millisecond).Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%s%dm%02ds", sign, d/time.Minute, d%time.Minute/time.Second)
	case d < 24*time.Hour:
		return fmt.Sprintf("%s%dh%02dm", sign, d/time.Hour, d%time.Hour/time.Minute)
	default:
		return fmt.Sprintf("%s%dd%dh", sign, d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
	}
}

// actor returns the name of the actor; a chosen name is cut to a number of columns, unless that is
// 0.
func (e historyEntry) actor(most int) string {
	kind, id, _ := strings.Cut(e.Actor, ":")
	named := func(what string) string {
		if e.ActorName == "" {
			return what + id
		}
		return what + quoted(e.ActorName, max(0, most-len(what)))
	}
	switch kind {
	case "api_key":
		return named("key ")
	case "user":
		return named("user ")
	case "workflow":
		return "workflow " + quoted(cmp.Or(e.ActorName, id), max(0, most-len("workflow ")))
	case "client_token":
		return "the customer"
	case "processor":
		return id
	case "process":
		return "payledger (" + id + ")"
	case "cli":
		return "payledger " + id
	default:
		return e.Actor
	}
}

func (e historyEntry) money() string {
	var moves []string
	for _, m := range []struct {
		what string
		by   domain.Amount
	}{{"captured", e.Moved.Captured}, {"refunded", e.Moved.Refunded}, {"held", e.Moved.Held}} {
		if m.by == 0 {
			continue
		}
		amount, _, _ := strings.Cut(m.by.Format(e.Payment.CurrencyCode), " ")
		if m.by > 0 {
			amount = "+" + amount
		}
		moves = append(moves, m.what+" "+amount)
	}
	return strings.Join(moves, " ")
}

func (e historyEntry) diff() (lines []string) {
	for _, c := range e.Changed {
		switch {
		case c.From == nil:
			lines = append(lines, fmt.Sprintf("     + %s: %s", c.Path, letters(c.To)))
		case c.To == nil:
			lines = append(lines, fmt.Sprintf("     - %s: %s", c.Path, letters(c.From)))
		default:
			lines = append(lines, fmt.Sprintf("     ~ %s: %s -> %s", c.Path, letters(c.From), letters(c.To)))
		}
	}
	return lines
}

// letters returns a JSON value; the letters of a text are not escaped. The output shows which of
// them are harmful.
func letters(value json.RawMessage) string {
	var text string
	if exactjson.Unmarshal(value, &text) != nil {
		return string(value)
	}
	return string(jsontext.Append(nil, text, false))
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// date formats a date as D1 requires.
func date(t paymentjson.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }
