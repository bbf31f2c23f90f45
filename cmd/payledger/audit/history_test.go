package audit

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
)

// TestHistoryShowsWaits: what a payment waits for stands under the event, in one line each (D7, D8).
func TestHistoryShowsWaits(t *testing.T) {
	t.Parallel()
	var e historyEntry
	err := json.Unmarshal([]byte(`{"revision": 3, "time": "2026-03-14T09:26:53.589000Z", "type": "payment.capture_requested",
		"waiting": [
			{"operation": "capture", "key": "01p.3", "revision": 3, "state": "UNKNOWN", "since": "2026-03-14T09:26:53.589000Z", "askedNext": "2026-03-14T09:31:53.000000Z"},
			{"operation": "authorize", "key": "01p.1", "revision": 1, "state": "ACTION", "since": "2026-03-14T09:26:50.000000Z", "expiresAt": "2026-03-15T09:26:50.000000Z"}
		]}`), &e)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	e.print(&text)
	for _, line := range []string{
		"   waits for the processor: capture 01p.3, UNKNOWN, since 2026-03-14T09:26:53.589000Z, asked next at 2026-03-14T09:31:53.000000Z\n",
		"   waits for the customer: authorize 01p.1, since 2026-03-14T09:26:50.000000Z, until 2026-03-15T09:26:50.000000Z\n",
	} {
		if !strings.Contains(text.String(), line) {
			t.Errorf("history does not show\n%sbut\n%s", line, text.String())
		}
	}
	e.Waiting, text = nil, strings.Builder{}
	if e.print(&text); strings.Contains(text.String(), "waits") {
		t.Errorf("history shows\n%s", text.String())
	}
}

// TestHistoryAsItComes: an entry is printed before the next one has come, and the array is the server's (I1); an answer
// that breaks off, wherever, is an error, and its array is not closed.
func TestHistoryAsItComes(t *testing.T) {
	t.Parallel()
	const first, second = `{"revision":1,"type":"a"}`, `{"revision":2,"type":"b","payment":{"x":[]}}`
	const whole = `{"data":[` + first + `,` + second + `]}`
	var out strings.Builder
	printer := entryPrinter{out: &out, json: true}
	read, written := io.Pipe()
	come := make(chan error)
	go func() { come <- parseHistory(read, printer.entry) }()
	if _, err := io.WriteString(written, `{"data":[`+first+`,`); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(written, ` `); err != nil || out.String() != `[`+first { // it is read when the entry was printed
		t.Errorf("printed %q, %v", out.String(), err)
	}
	if _, err := io.WriteString(written, second+`]}`); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(written.Close(), <-come, printer.end()); err != nil || out.String() != "["+first+","+second+"]\n" {
		t.Errorf("printed %q, %v", out.String(), err)
	}
	for n := range len(whole) {
		var part strings.Builder
		printer := entryPrinter{out: &part, json: true}
		if err := parseHistory(strings.NewReader(whole[:n]), printer.entry); err == nil || json.Valid([]byte(part.String())) {
			t.Errorf("%q is printed as %q, %v", whole[:n], part.String(), err)
		}
	}
}
