package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"payledger/cmd/payledger/terminal"
	"payledger/domain/payment"
)

var update = flag.Bool("update", false, "write the golden files anew")

// columns is the width of the tests' terminal.
const columns = 120

// printed returns entries as text.
func printed(t *testing.T, c History, entries ...string) string {
	t.Helper()
	var out strings.Builder
	p := textPrinter{out: &out, width: columns, c: &c}
	for _, e := range entries {
		if err := p.entry(json.RawMessage(e)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.end(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// life returns a history with two captures, a decline by another processor, a refund and a waiting
// operation.
func life(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "history.json"))
	if err != nil {
		t.Fatal(err)
	}
	var entries []json.RawMessage
	if err := json.Unmarshal(text, &entries); err != nil {
		t.Fatal(err)
	}
	all := make([]string, len(entries))
	for i, e := range entries {
		var line bytes.Buffer
		if err := json.Compact(&line, e); err != nil {
			t.Fatal(err)
		}
		all[i] = line.String()
	}
	return all
}

// TestHistoryText compares the text with reviewed files, by flags (I1).
func TestHistoryText(t *testing.T) {
	for name, c := range map[string]History{"lines": {}, "diff": {Diff: true}, "full": {Full: true}, "at": {At: "8"}} {
		got := printed(t, c, life(t)...)
		path := filepath.Join("testdata", "history_"+name+".txt")
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(path); err != nil || got != string(want) {
			t.Errorf("%s differs, %v; got\n%s", path, err, got)
		}
	}
}

// TestHistoryUncut: outside of a terminal no text is cut, and a user of the dashboard has a name.
func TestHistoryUncut(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	long := strings.Repeat("a reason of many words ", 20)
	p := textPrinter{out: &out, c: &History{}}
	if err := p.entry(json.RawMessage(fmt.Sprintf(`{"revision":1,"time":"2026-03-14T09:26:53Z","type":"payment.refund_requested","actor":"user:2gyw","actorName":"admin of the shop in the north",
		"event":{"amount":100,"reason":%[1]q},"payment":{"id":"01p","orderId":%[1]q,"status":"SETTLED","amount":100,"currencyCode":"EUR"},"hash":"00"}`, long))); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.Contains(text, "…") || strings.Count(text, long) != 2 || !strings.Contains(text, `by user "admin of the shop in the north": 1.00 EUR`) {
		t.Errorf("prints %s", text)
	}
}

// TestHistoryRaw: a reader can compute the chain of hashes from the text of --raw, up to the last
// hash.
func TestHistoryRaw(t *testing.T) {
	t.Parallel()
	var entries []string
	link := make([]byte, 32)
	for i, raw := range []string{"first\x00bytes", "second", "third\n\n"} {
		hash := sha256.Sum256(append(bytes.Clone(link), raw...))
		entries = append(entries, fmt.Sprintf(`{"revision":%d,"time":"2026-03-14T09:26:53Z","type":"payment.authorized","actor":"processor:ADYEN","event":{},"previousHash":"%x","hash":"%x","raw":%q}`,
			i+1, link, hash, base64.StdEncoding.EncodeToString([]byte(raw))))
		link = hash[:]
	}
	checkChain(t, printed(t, History{Raw: true}, entries...), 3)
}

// checkChain computes the hashes of a history's text.
func checkChain(t *testing.T, text string, events int) {
	t.Helper()
	link, found := strings.Repeat("0", 64), 0
	for _, m := range regexp.MustCompile(`(?m)^     previous ([0-9a-f]{64})\n     raw      (\S+)\n     hash     ([0-9a-f]{64})$`).FindAllStringSubmatch(text, -1) {
		before, err := hex.DecodeString(m[1])
		if err != nil {
			t.Fatal(err)
		}
		raw, err := base64.StdEncoding.DecodeString(m[2])
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(append(before, raw...))
		if m[1] != link || m[3] != hex.EncodeToString(sum[:]) {
			t.Errorf("after %s: %s, computed %x", link, m, sum)
		}
		link, found = m[3], found+1
	}
	if found != events || !strings.HasSuffix(text, "Last hash: "+link+"\n") {
		t.Errorf("%d hashes, the last is %s:\n%s", found, link, text)
	}
}

// TestHistoryDiffLetters: --diff prints letters of any script, and no code points, also if the
// server's JSON has them escaped.
func TestHistoryDiffLetters(t *testing.T) {
	t.Parallel()
	const entry = `{"revision":2,"time":"2026-03-14T09:26:53Z","type":"payment.captured","actor":"cli:init","event":{},"payment":{"status":"SETTLED","currencyCode":"EUR"},
		"moved":{},"changed":[{"path":"$.orderId","from":"\u05e9\u05dc\u05d5\u05dd","to":"שלום 注文 é \u003cb\u003e"}]}`
	text := printed(t, History{Diff: true}, entry)
	if !strings.Contains(text, " 注文 é <b>") || strings.Count(text, "שלום") != 2 || strings.Contains(text, `\u0`) {
		t.Errorf("prints %s", text)
	}
}

// TestHistoryWords: every type of a payment's events has a description. Its line is not too wide
// with large amounts, the longest status and hostile texts.
func TestHistoryWords(t *testing.T) {
	t.Parallel()
	hostile := strings.Repeat("\x1b[31m\u202e\u05d0界\"\n\x9b", 100)
	quote, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	event := strings.ReplaceAll(`{"amount":999999999999,"route":[{"processor":"BRAINTREE"}],"to":{"processor":"BRAINTREE"},"failure":"ISSUER_DECLINED",
		"code":H,"message":H,"name":H,"outcome":H,"reason":H,"final":true,"operation":H,"paymentId":H,"expiresAt":"2026-03-14T09:26:53Z"}`, "H", string(quote))
	for _, e := range payment.Events() {
		if eventWords[e.Type()] == nil || eventWords[e.Type()](eventFields{}) == "" && e.Type() != "payment.resumed" {
			t.Errorf("%s has no description", e.Type())
		}
		moved, money := "{}", ""
		switch e.(type) {
		case payment.Captured, payment.CapturedOutOfBand:
			moved, money = `{"held":-99999999,"captured":99999999}`, ": captured +999999.99 held -999999.99"
		case payment.Authorized, payment.Adjusted, payment.AdjustedOutOfBand, payment.Voided, payment.VoidedOutOfBand:
			moved, money = `{"held":-99999999}`, ": held -999999.99"
		}
		for _, actor := range []string{"api_key:1", "workflow:1", "client_token:#1", "processor:BRAINTREE", "process:recovery", "cli:init"} {
			text := printed(t, History{Diff: true}, `{"revision":1,"time":"2026-03-14T09:26:53Z","payment":{"amount":1,"currencyCode":"EUR"},"event":{}}`, fmt.Sprintf(
				`{"revision":1004,"time":"2027-03-13T07:26:53Z","type":%q,"actor":%q,"actorName":%s,"event":%s,"payment":{"orderId":%s,"status":"PARTIALLY_SETTLED","currencyCode":"EUR"},
				"moved":%s,"changed":[{"path":%[3]s,"from":%[3]s,"to":%[3]s}]}`, e.Type(), actor, quote, event, quote, moved))
			line := strings.Split(text, "\n")[2]
			if n := terminal.Columns(line); n > columns {
				t.Errorf("%d columns: %s", n, line)
			}
			if !strings.Contains(line, "PARTIALLY_SETTLED  "+e.Type()+" by ") || !strings.Contains(line, money) {
				t.Errorf("%s", line)
			}
			for _, r := range strings.ReplaceAll(text, "\n", "") {
				if !unicode.IsPrint(r) && r != '\u2068' && r != '\u2069' {
					t.Fatalf("%q stands in %q", r, text)
				}
			}
		}
	}
	if len(eventWords) != len(payment.Events()) {
		t.Errorf("%d types have a description, %d exist", len(eventWords), len(payment.Events()))
	}
}

// TestHistoryImitation: a name cannot look like the rest of its line.
func TestHistoryImitation(t *testing.T) {
	t.Parallel()
	text := printed(t, History{}, `{"revision":1,"time":"2026-03-14T09:26:53Z","type":"payment.created","actor":"api_key:1",
		"actorName":"x\": captured +9.00","event":{"amount":100},"payment":{"id":"01p","orderId":"o\". 2 events.","status":"PENDING","amount":100,"currencyCode":"EUR"},"hash":"00"}`)
	want := `Payment 01p, 1.00 EUR, order "o'. 2 events.". Times are in UTC.
  1  2026-03-14 09:26:53           PENDING            payment.created by key "x': captured …": 1.00 EUR requested
1 event. Last hash: 00
`
	if text != want {
		t.Errorf("prints\n%s", text)
	}
}

// TestHistoryAsItComes: an entry is printed before the next entry arrives, and the array equals the
// server's (I1). An answer that breaks off at any byte is an error, and its array is not closed.
func TestHistoryAsItComes(t *testing.T) {
	t.Parallel()
	const first, second = `{"revision":1,"type":"a"}`, `{"revision":2,"type":"b","payment":{"x":[]}}`
	const whole = `{"data":[` + first + `,` + second + `]}`
	var out strings.Builder
	printer := arrayPrinter{out: &out}
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
		printer := arrayPrinter{out: &part}
		if err := parseHistory(strings.NewReader(whole[:n]), printer.entry); err == nil || json.Valid([]byte(part.String())) {
			t.Errorf("%q is printed as %q, %v", whole[:n], part.String(), err)
		}
	}
}
