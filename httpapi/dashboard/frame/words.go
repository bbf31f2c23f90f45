package frame

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"time"

	"payledger/domain"
	"payledger/httpapi/checkout"
	"payledger/httpapi/tone"
)

func (f *Frame) words() template.FuncMap {
	return template.FuncMap{
		"money":   Money,
		"when":    When,
		"day":     func(t time.Time) string { return t.UTC().Format(ShownDay) },
		"ago":     func(t time.Time) string { return Ago(f.Now().Sub(t)) },
		"left":    func(t time.Time) string { return Ago(t.Sub(f.Now())) },
		"past":    func(t time.Time) bool { return t.Before(f.Now()) },
		"iso":     func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"tone":    Tone,
		"plain":   Plain,
		"json":    Indented,
		"join":    strings.Join,
		"lower":   strings.ToLower,
		"ms":      func(n int64) string { return strconv.FormatInt(n, 10) + " ms" },
		"number":  Number,
		"pair":    func(a, b any) []any { return []any{a, b} },
		"short":   Short,
		"reverse": reversed,
		"isoday":  func(t time.Time) string { return t.UTC().Format(time.DateOnly) },
		"percent": func(rate *float64) string { return strconv.FormatFloat(*rate*100, 'f', 1, 64) + " %" },
		"sum":     Sum,
		"answer":  Answered,
		"plainly": Plainly,
	}
}

func reversed(list any) []any {
	v := reflect.ValueOf(list)
	out := make([]any, v.Len())
	for i := range out {
		out[i] = v.Index(len(out) - 1 - i).Interface()
	}
	return out
}

// Money writes an amount of minor units with its currency: "€1,234.50".
func Money(a domain.Amount, c domain.Currency) string { return checkout.Money(a, c) }

// Sum writes a sum of amounts, which may be larger than any amount.
func Sum(sum *big.Int, c domain.Currency) string {
	if sum == nil {
		return "–"
	}
	if sum.IsInt64() {
		return Money(domain.Amount(sum.Int64()), c)
	}
	return sum.String() + " minor units of " + string(c)
}

// ShownDay and ShownTime are the layouts in which pages show days and times, which are in UTC.
// Fields for days and times take them, too.
const (
	ShownDay  = "2 Jan 2006"
	ShownTime = "2 Jan 2006 15:04:05 UTC"
)

// When writes a time to the second, in UTC, and says so.
func When(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format(ShownTime)
}

// ParseDay reads a day in UTC that a person typed, or pasted as a page shows it; of a time it takes
// the day.
func ParseDay(text string) (day time.Time, err error) {
	for _, layout := range []string{time.DateOnly, ShownDay, ShownTime} {
		if day, err = time.Parse(layout, text); err == nil {
			return day.Truncate(24 * time.Hour), nil
		}
	}
	return day, err
}

// Ago writes a duration in its largest unit: "3 minutes".
func Ago(d time.Duration) string {
	d = max(d, 0)
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}} {
		if n := int(d / unit.of); n >= 1 {
			return plural(n, unit.name)
		}
	}
	return plural(int(d/time.Second), "second")
}

func plural(n int, word string) string {
	if n != 1 {
		word += "s"
	}
	return fmt.Sprintf("%d %s", n, word)
}

// Number writes a count with groups of three digits: "1,234".
func Number(n int64) string {
	text := strconv.FormatInt(n, 10)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// Short cuts a long id for a narrow column. Its whole text belongs into the title.
func Short(id string) string {
	if len(id) <= 12 {
		return id
	}
	return id[:4] + "…" + id[len(id)-6:]
}

// Tone returns the class of a status's badge.
func Tone(status any) string { return tone.Of(fmt.Sprint(status)) }

var blanks = strings.NewReplacer("_", " ", ".", " ")

// Plain writes a constant for people: "PARTIALLY_SETTLED" becomes "Partially settled".
func Plain(v any) string {
	text := strings.ToLower(blanks.Replace(fmt.Sprint(v)))
	if text == "" {
		return "–"
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// failures has the words for attempts of webhooks that had no answer, by the class of the failure
// (D18).
var failures = map[string]string{
	"TIMEOUT": "no answer came in time", "DNS": "the name of the host is unknown", "CONNECTION_REFUSED": "no program listens at the address",
	"UNREACHABLE": "no connection could be made", "TLS": "the TLS handshake failed", "CONNECTION_LOST": "the connection was lost",
	"PROTOCOL": "the answer is not HTTP", "ADDRESS_REFUSED": "webhooks may not go to the address",
}

// Answered returns the end of an attempt of a webhook in words: "accepted with HTTP 204", "refused
// with HTTP 500", "no answer came in time".
func Answered(status int, failure string) string {
	text := failures[failure]
	switch {
	case failure == "":
		return fmt.Sprintf("accepted with HTTP %d", status)
	case failure == "STATUS":
		return fmt.Sprintf("refused with HTTP %d", status)
	case text == "":
		text = strings.ToLower(Plain(failure))
	}
	if status != 0 {
		text += fmt.Sprintf(" after HTTP %d", status)
	}
	return text
}

// Indented writes a value as JSON for reading.
func Indented(v any) (string, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false) // the template escapes
	if err := encoder.Encode(v); err != nil {
		return "", fmt.Errorf("frame: %w", err)
	}
	return strings.TrimSpace(b.String()), nil
}
