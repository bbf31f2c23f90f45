package api

import (
	"bytes"
	"encoding/hex"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"payledger/domain/processor"
	"payledger/processorsim/connector/crashtest"
)

// TestMatrix kills the ledger and the connector around each operation: no operation is lost, none
// is done twice, and the books of ledger, connector and Adyen are equal. Without the build tag
// system it is a sample.
func TestMatrix(t *testing.T) {
	dir := t.TempDir()
	ledger, program := filepath.Join(dir, "payledger"), filepath.Join(dir, "adyen")
	for _, args := range [][]string{{"-C", "../../../..", "-o", ledger, "./cmd/payledger"}, {"-o", program, ".."}} {
		if said, err := exec.Command("go", append([]string{"build"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
	}
	crashtest.Run(t, crashtest.Config{Ledger: ledger, Vendor: func(t testing.TB) crashtest.Vendor { return account(t, program) }})
}

// account is a new account at the double.
func account(t testing.TB, program string) crashtest.Vendor {
	t.Helper()
	d := newDouble(time.Now)
	return crashtest.Vendor{
		Name: processor.Adyen, API: d, Answers: true, Approved: "4111111111111111",
		Connector: func(api string) crashtest.Program {
			return crashtest.Program{
				Path: program, Args: []string{"--api-base", api + "/v71", "--merchant-account", testAccount},
				Env: []string{"ADYEN_API_KEY=" + testKey, "ADYEN_HMAC_KEY=" + hex.EncodeToString(testHMAC)},
			}
		},
		Moved:   d.moved,
		Deliver: func(events string) { d.sendLeft(t, events) },
		// An authorization that Adyen never got, and whose card is gone, has its outcome 30 minutes
		// later. If Adyen got it, its webhook has the outcome, and Adyen gets no further request.
		Waits: func(op crashtest.Operation, step crashtest.Step) bool {
			return op == crashtest.Authorize && (step == crashtest.Held || step == crashtest.Again)
		},
		Requests: map[crashtest.Operation]string{
			crashtest.Authorize:   "POST /v71/payments",
			crashtest.AutoCapture: "POST /v71/payments/*/captures",
			crashtest.Capture:     "POST /v71/payments/*/captures",
			crashtest.CaptureLast: "POST /v71/payments/*/captures",
			crashtest.Cancel:      "POST /v71/payments/*/cancels",
			crashtest.Refund:      "POST /v71/payments/*/refunds",
			crashtest.Adjust:      "POST /v71/payments/*/amountUpdates",
		},
	}
}

// moved returns what Adyen did for a payment of the ledger.
func (d *double) moved(payment string) (m crashtest.Moved) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for own, p := range d.byOwn {
		if !strings.HasPrefix(own, payment+".") || !p.approved {
			continue
		}
		m.Authorized++
		m.Held, m.Captured, m.Refunded = m.Held+int64(p.authorized), m.Captured+int64(p.captured), m.Refunded+int64(p.refunded)
		if p.cancelled {
			m.Cancelled++
		}
	}
	return m
}

// sendLeft sends the webhooks that Adyen has. Refused ones are sent again later.
func (d *double) sendLeft(t testing.TB, events string) {
	t.Helper()
	for _, body := range d.drain() {
		response, err := http.Post(events, "application/json", bytes.NewReader(body))
		if err == nil {
			_ = response.Body.Close()
		}
		if err != nil || response.StatusCode != http.StatusOK {
			d.mu.Lock()
			d.webhooks = append(d.webhooks, body)
			d.mu.Unlock()
		}
	}
}
