package api

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain/processor"
	"payledger/processorsim/connector"
	"payledger/processorsim/connector/program"
	"payledger/processorsim/protocol"
)

// role, set in the environment, makes the test binary the program of the connector, with the double
// behind it.
const role = "ADYEN_DOUBLE"

func TestMain(m *testing.M) {
	if os.Getenv(role) != "" {
		withDouble().Main()
		return
	}
	os.Exit(m.Run())
}

func withDouble() *program.Program {
	d := newDouble(time.Now)
	p := program.New("adyen-double", processor.Adyen, "127.0.0.1:0")
	p.Vendor = func(log zerolog.Logger) (connector.Vendor, error) {
		adyen := httptest.NewServer(d)
		return New(Config{
			URL: adyen.URL + "/v71", APIKey: testKey, Account: testAccount, HMACKeys: [][]byte{testHMAC}, Log: log,
			TestCards: map[protocol.TestCase]string{protocol.CardDisputed: cardDisputed},
		})
	}
	p.Started = func(r program.Ready) { go d.send(r.Events) }
	return p
}

// send delivers webhooks, each until it is taken.
func (d *double) send(address string) {
	for range d.fresh {
		for _, body := range d.drain() {
			for {
				r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, address, bytes.NewReader(body))
				if err != nil {
					panic(err)
				}
				answer, err := http.DefaultClient.Do(r)
				if err != nil {
					return // the connector has ended
				}
				_ = answer.Body.Close()
				if answer.StatusCode == http.StatusOK {
					break
				}
			}
		}
	}
}

// TestDemo: the ledger's demo plays its story at this connector: it waits for the outcomes of
// captures and refunds, which Adyen tells by webhooks.
func TestDemo(t *testing.T) {
	ledger := filepath.Join(t.TempDir(), "payledger")
	if text, err := exec.CommandContext(t.Context(), "go", "build", "-C", "../../../..", "-o", ledger, "./cmd/payledger").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	own, err := os.Executable()
	must(t, err)
	command := exec.CommandContext(t.Context(), ledger, "demo", "--once", "--processor", own)
	command.Env = append(os.Environ(), role+"=1")
	stderr := &syncedLog{}
	command.Stderr = stderr
	text, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, stderr, text)
	}
	for _, fact := range []string{
		"The processor ADYEN is the program of a connector, adyen 1", "ADYEN lacks several captures", "SETTLED at ADYEN, captured 25.00 EUR",
		"refunded 15.00 EUR", "DECLINED at ADYEN", "left out: ADYEN lacks three_d_secure", "DISPUTE OPEN of 35.00 EUR", "PENDING at ADYEN (GATEWAY_TIMEOUT)",
		"60.00 EUR captured, 15.00 EUR refunded", "Everything as expected: ", "Left out: 3 chapters",
	} {
		if !strings.Contains(string(text), fact) {
			t.Errorf("the demo does not say %q", fact)
		}
	}
	if t.Failed() || strings.Contains(stderr.String(), `"error"`) {
		t.Errorf("%s\n%s", text, stderr)
	}
}
