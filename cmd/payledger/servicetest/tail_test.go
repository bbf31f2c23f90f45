package servicetest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/audit"
	"payledger/cmd/payledger/terminal"
)

// TestTail: tail follows a running server, and prints the same lines from the folder of the stopped
// one; a fault is one line (I1).
func TestTail(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	app, stop := apptest.StartToStop(t, apptest.TestOptions(dir))
	m := apptest.NewMerchant(app.API.URL, app.Credentials.APIKey)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := (&audit.Tail{Source: audit.Source{URL: m.API, APIKey: m.Key}}).Run(ctx, terminal.Streams{Out: in, Err: io.Discard}, nil)
		ended <- err
		in.Close()
	}()
	paid, err := m.Pay(m.Token(t, "order-1", 1000, "4111111111111111"), "")
	if err != nil {
		t.Fatal(err)
	}
	var p apptest.PaymentAnswer
	paid.Decode(t, &p)
	lines := bufio.NewReader(out)
	var followed []string
	for len(followed) == 0 || !strings.Contains(followed[len(followed)-1], `"type":"payment.authorized"`) {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		followed = append(followed, line)
	}
	cancel()
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	if err := <-ended; err != nil {
		t.Errorf("a stopped tail returns %v", err)
	}
	if status, _, text := apptest.Invoke(t, "tail", "--url", m.API, "--api-key", m.Key, "--after", "1000000"); status != 1 || strings.Count(text, "\n") != 1 {
		t.Errorf("an unknown position: status %d, %s", status, text)
	}
	if status, _, text := apptest.Invoke(t, "tail", "--url", m.API, "--api-key", m.Key, "--type", "payment.exploded"); status != 2 || strings.Count(text, "\n") != 1 {
		t.Errorf("an unknown type: status %d, %s", status, text)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	status, whole, text := apptest.Invoke(t, "tail", "--data", dir)
	if status != 0 || text != "" {
		t.Fatalf("status %d: %s", status, text)
	}
	account := `"accountId":"` + string(app.Credentials.AccountID) + `","aggregate"`
	var own []string
	for line := range strings.Lines(whole) {
		if strings.Contains(line, account) {
			own = append(own, line)
		}
	}
	if len(own) < len(followed) || fmt.Sprint(own[:len(followed)]) != fmt.Sprint(followed) {
		t.Errorf("the folder has\n%s\nthe server had\n%s", own, followed)
	}
	for n, line := range strings.Split(strings.TrimSpace(whole), "\n") {
		var e struct{ Position int }
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Position != n+1 {
			t.Errorf("line %d has position %d, %v", n+1, e.Position, err)
		}
	}
	_, pretty, _ := apptest.Invoke(t, "tail", "--data", dir, "--payment", p.ID, "--pretty")
	if !strings.Contains(pretty, "payment.created") || !strings.Contains(pretty, "AUTHORIZED, 10.00 EUR at ") || strings.Contains(pretty, "session") {
		t.Errorf("for people: %s", pretty)
	}
	if status, _, text := apptest.Invoke(t, "tail", "--data", dir, "--payment", "010000000000001111111111111"); status != 1 || strings.Count(text, "\n") != 1 {
		t.Errorf("an unknown payment: status %d, %s", status, text)
	}
}
