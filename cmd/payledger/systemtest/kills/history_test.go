//go:build system

package kills

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/command"
)

// TestHistory prints one line an event with actor and money, the changes, and the bytes from which
// the chain is computed, from a running server and from a stopped one's folder alike (I1).
func TestHistory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := apptest.ServeProcess(t, "--data", dir)
	m := apptest.NewMerchant(p.Ready.API, p.Credentials.APIKey)
	var paid apptest.PaymentAnswer
	got, err := m.Pay(m.Token(t, "order-1", 2500, "4111111111111111"), "key-1")
	if err != nil || got.Status != 200 {
		t.Fatal(got.Status, string(got.Body), err)
	}
	got.Decode(t, &paid)
	source := []string{"--url", p.Ready.API, "--api-key", p.Credentials.APIKey}
	history := func(flags ...string) string {
		status, text, stderr := apptest.Invoke(t, append(append([]string{"history", paid.ID}, source...), flags...)...)
		if status != 0 {
			t.Fatalf("history %v exits %d: %s", flags, status, stderr)
		}
		return text
	}
	text := history("--full")
	for late := time.Now().Add(apptest.SettleDeadline); strings.Contains(text, "not yet in a checkpoint") && time.Now().Before(late); {
		text = history("--full")
	}
	lines := regexp.MustCompile(fmt.Sprintf(`^Payment %s, 25\.00 EUR, order "order-1"\. Times are in UTC\.
  1  20\S{8} \S{8}           PENDING            payment\.created by key "init": 25\.00 EUR requested at ADYEN
  2  20\S{8} \S{8}  \+\d\.\d{3}s  AUTHORIZED         payment\.authorized by ADYEN: held \+25\.00; approved
2 events\. Last hash: [0-9a-f]{64}
$`, paid.ID))
	if got := history(); !lines.MatchString(got) {
		t.Errorf("history prints\n%s", got)
	}
	if got := history("--diff"); !strings.Contains(got, "\n     ~ $.status: \"PENDING\" -> \"AUTHORIZED\"\n") {
		t.Errorf("history --diff prints\n%s", got)
	}
	computeChain(t, history("--raw"), 2)
	running := []string{history(), history("--json"), history("--raw", "--diff", "--full")}
	if status, _, stderr := apptest.Invoke(t, append([]string{"history", paid.ID, "--at", "3"}, source...)...); status != command.ExitFailure || !strings.Contains(stderr, "no such revision") {
		t.Errorf("history --at 3 exits %d and says %q", status, stderr)
	}
	future := func() {
		t.Helper()
		if status, _, stderr := apptest.Invoke(t, append([]string{"history", paid.ID, "--at", "1 Jan 2099 00:00:00 UTC"}, source...)...); status != command.ExitFailure || !strings.Contains(stderr, "is in the future") {
			t.Errorf("history at a future time exits %d and says %q", status, stderr)
		}
	}
	future()
	if first := history("--at", "1"); strings.Contains(first, "payment.authorized") || !strings.Contains(first, "\n1 event up to 1. Last hash: ") {
		t.Errorf("history --at 1 prints\n%s", first)
	}
	p.Stop()
	source = []string{"--data", dir}
	future()
	for i, stopped := range []string{history(), history("--json"), history("--raw", "--diff", "--full")} {
		if stopped != running[i] {
			t.Errorf("the stopped folder tells another history:\n%s\n%s", stopped, running[i])
		}
	}
}

// computeChain computes the hashes of the text of history --raw up to its last line.
func computeChain(t *testing.T, text string, events int) {
	t.Helper()
	link, found := make([]byte, 32), 0
	for _, m := range regexp.MustCompile(`(?m)^     previous (\S+)\n     raw      (\S+)\n     hash     (\S+)$`).FindAllStringSubmatch(text, -1) {
		raw, err := base64.StdEncoding.DecodeString(m[2])
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(append(append([]byte{}, link...), raw...))
		if m[1] != hex.EncodeToString(link) || m[3] != hex.EncodeToString(sum[:]) {
			t.Errorf("computed %x after %x, printed\n%s", sum, link, m[0])
		}
		link, found = sum[:], found+1
	}
	if found != events || !strings.HasSuffix(text, fmt.Sprintf("Last hash: %x\n", link)) {
		t.Errorf("%d hashes, computed %x:\n%s", found, link, text)
	}
}
