package apptest

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// BackupFolders are the folders of a test's back-up.
type BackupFolders struct{ Data, Out, Keys, Restored string }

// NewBackupFolders returns folders below a temporary one.
func NewBackupFolders(t *testing.T) BackupFolders {
	t.Helper()
	dir := t.TempDir()
	return BackupFolders{filepath.Join(dir, "data"), filepath.Join(dir, "out"), filepath.Join(dir, "keys"), filepath.Join(dir, "restored")}
}

// BackUp runs backup, which must succeed, and returns its sentence.
func (f BackupFolders) BackUp(t *testing.T) string {
	t.Helper()
	status, out, stderr := Invoke(t, "backup", "--data", f.Data, "--out", f.Out, "--keys-out", f.Keys)
	if status != 0 || stderr != "" || !strings.HasPrefix(out, "run ") {
		t.Fatalf("backup exits %d: %s%s", status, out, stderr)
	}
	return out
}

// Restore runs restore.
func (f BackupFolders) Restore(t *testing.T, more ...string) (status int, out, stderr string) {
	t.Helper()
	args := []string{"restore", "--from", f.Out, "--keys", f.Keys, "--data", f.Restored}
	if len(more) == 0 {
		more = []string{"--master-key-file", filepath.Join(f.Data, "master.key")}
	}
	return Invoke(t, append(args, more...)...)
}

// Refused checks that restore fails with one line, and makes no folder.
func (f BackupFolders) Refused(t *testing.T, says string, more ...string) {
	t.Helper()
	status, out, stderr := f.Restore(t, more...)
	if status == 0 || out != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, says) {
		t.Errorf("restore exits %d: %s%s; want %q", status, out, stderr, says)
	}
	for _, left := range []string{f.Restored, f.Restored + ".restoring"} {
		if _, err := os.Stat(left); !os.IsNotExist(err) {
			t.Errorf("%s was made: %v", left, err)
		}
	}
}

// Answers returns the API's answers about payments: the payment and its history.
func (m *Merchant) Answers(t *testing.T, ids []string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, id := range ids {
		for _, path := range []string{"/payments/" + id, "/payments/" + id + "/events"} {
			all[path] = string(m.Must(t, "GET", path, m.Headers(), nil).Body)
		}
	}
	return all
}

// WebhookCounter counts webhooks by delivery.
type WebhookCounter struct {
	mu   sync.Mutex
	Came map[string]int
}

func (c *WebhookCounter) ServeHTTP(_ http.ResponseWriter, q *http.Request) {
	var body struct{ EventID, EventType string }
	if json.NewDecoder(q.Body).Decode(&body) == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.Came[body.EventType+" "+body.EventID]++
	}
}

// Counts returns the number of different webhooks, and of all.
func (c *WebhookCounter) Counts() (distinct, all int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.Came {
		all += n
	}
	return len(c.Came), all
}

// AwaitDelivered waits until the webhook of a payment has its outcome.
func (m *Merchant) AwaitDelivered(t *testing.T, id string) {
	t.Helper()
	Until(t, time.Minute, "the outcome of a webhook", func() (bool, string) {
		got := m.Must(t, "GET", "/management/webhook-deliveries?paymentId="+id, m.Headers(), nil)
		return strings.Contains(string(got.Body), `"SUCCEEDED"`), string(got.Body)
	})
}

// TryPay makes a payment, and returns its id.
func (m *Merchant) TryPay(t *testing.T, order string) string {
	token, ok := m.TryToken(order, 1000, "4111111111111111")
	if !ok {
		t.Error("no token")
		return ""
	}
	got, err := m.Pay(token, order)
	var made PaymentAnswer
	if err != nil || got.Status != 200 || json.Unmarshal(got.Body, &made) != nil {
		t.Errorf("pay: %v %s", err, got.Body)
		return ""
	}
	return made.ID
}

// Paid starts the restored service with the master key of the old folder, and checks its payments:
// they exist, with the wanted answers if there are any. Then it makes one more payment, and waits
// for its webhook.
func (f BackupFolders) Paid(t *testing.T, key string, ids []string, wanted map[string]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(f.Data, "master.key"))
	if err == nil {
		err = os.WriteFile(filepath.Join(f.Restored, "master.key"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	p := ServeProcess(t, "--data", f.Restored, "--webhook-allow-cidr", "127.0.0.0/8", "--log-level", "error")
	defer p.Stop()
	m := NewMerchant(p.Ready.API, key)
	got := m.Answers(t, ids)
	for path, want := range wanted {
		if got[path] != want {
			t.Errorf("%s was %.3000s\nand is %.3000s", path, want, got[path])
		}
		if strings.Contains(path, ids[len(ids)-2]) && len(Shown(got[path])) > 0 {
			t.Errorf("%s shows %v", path, Shown(got[path]))
		}
	}
	if wanted == nil {
		return
	}
	id := m.TryPay(t, "after-the-restore")
	m.AwaitDelivered(t, id)
	if status, out, stderr := Invoke(t, "verify", "--data", f.Restored); status != 0 || strings.Contains(out, "note") {
		t.Errorf("verify exits %d: %s%s", status, out, stderr)
	}
}
