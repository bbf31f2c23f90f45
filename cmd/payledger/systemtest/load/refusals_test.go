//go:build system && linux

package load

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"payledger/cmd/payledger/apptest"
)

// mostResident bounds the resident memory of the service during a storm of refused requests, in
// MiB. A service without any request has about 120.
const mostResident = 400

// TestMemoryOfRefusals: parallel requests of just under 1 MiB that are refused, of the shapes with
// the most faults, do not make the service's resident memory grow past a bound, though nothing
// limits the memory of the process (D22.14). Each is refused with a short answer.
func TestMemoryOfRefusals(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "") // the runtime takes it for unset
	p := apptest.ServeProcess(t, "--data", t.TempDir())
	m := apptest.NewMerchant(p.Ready.API, p.Credentials.APIKey)
	const size = 1<<20 - 64
	filled := func(before, piece, after string) string {
		return before + strings.TrimSuffix(strings.Repeat(piece, (size-len(before)-len(after))/len(piece)), ",") + after
	}
	var keys strings.Builder
	for i := 0; keys.Len() < size-20; i++ {
		fmt.Fprintf(&keys, `"k%d":1,`, i)
	}
	session := m.Must(t, "POST", "/client-session", m.Headers(), map[string]any{"orderId": "order-1", "currencyCode": "EUR", "amount": 1000})
	shopper := map[string]string{"X-Client-Token": apptest.Decoded[struct{ ClientToken string }](t, session).ClientToken}
	elements := filled(`{"orderId":"o","currencyCode":"EUR","order":{"lineItems":[`, `{},`, `]}}`)
	idle := p.Memory("VmHWM:")
	for _, attack := range []struct {
		name, path string
		headers    map[string]string
		parallel   int
		body       string
	}{
		{"unknown keys", "/payment-instruments", shopper, 24, "{" + strings.TrimSuffix(keys.String(), ",") + "}"},
		{"empty line items", "/client-session", m.Headers(), 8, elements},
		{"more empty line items", "/client-session", m.Headers(), 45, elements},
		{"line items of zeros", "/client-session", m.Headers(), 24, filled(`{"orderId":"o","currencyCode":"EUR","order":{"lineItems":[`, `0,`, `]}}`)},
		{"options of ones", "/payments", m.Headers(), 40, filled(`{"paymentMethodToken":"t","paymentMethod":{"options":{"a":[`, `1,`, `]}}}`)},
		{"unknown actions", "/management/workflows", m.Headers(), 24, filled(`{"name":"n","trigger":{"eventType":"PAYMENT.REFUND"},"condition":"true","actions":[`, `{"type":"x"},`, `]}`)},
	} {
		resetPeak(t, p)
		refused, busy := storm(t, m, attack.path, attack.headers, attack.body, attack.parallel)
		peak := p.Memory("VmHWM:")
		t.Logf("%s: %d requests, %d refused for their faults, %d for the memory; resident at most %.0f MiB", attack.name, attack.parallel, refused, busy, peak)
		if peak > mostResident || refused == 0 {
			t.Errorf("%s: resident at most %.0f MiB, above %d; %d were refused for their faults", attack.name, peak, mostResident, refused)
		}
	}
	t.Logf("without these requests %.0f MiB", idle)
	if paid := m.Paid(t, apptest.CardApproved); paid.Status != "AUTHORIZED" {
		t.Errorf("a payment afterwards is %s", paid.Status)
	}
	p.Stop()
}

// storm sends the same request n times at once. It returns the numbers of 4xx, and of 503 with
// Retry-After.
func storm(t *testing.T, m *apptest.Merchant, path string, headers map[string]string, body string, n int) (refused, busy int) {
	t.Helper()
	var mu sync.Mutex
	var sending sync.WaitGroup
	for range n {
		sending.Go(func() {
			a, err := m.Call("POST", path, headers, body)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && (a.Status == http.StatusBadRequest || a.Status == http.StatusUnprocessableEntity) && len(a.Body) <= 64_000:
				refused++
			case err == nil && a.Status == http.StatusServiceUnavailable && a.Header.Get("Retry-After") != "":
				busy++
			default:
				t.Errorf("%s: %d, %d bytes: %.200s, %v", path, a.Status, len(a.Body), a.Body, err)
			}
		})
	}
	sending.Wait()
	return refused, busy
}

// resetPeak makes VmHWM the memory of now.
func resetPeak(t *testing.T, p *apptest.Process) {
	t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.Command.Process.Pid), []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
}
