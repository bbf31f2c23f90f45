package servicetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"payledger/cmd/payledger/apptest"
)

// TestVerifyBackupCommand: verify --data reads the folder of backup --out, without the keys and the
// master key. It names the parts that it cannot check, and exits with 1 at damage (I1).
func TestVerifyBackupCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, out, keys := filepath.Join(dir, "data"), filepath.Join(dir, "out"), filepath.Join(dir, "keys")
	app, stop := apptest.StartToStop(t, apptest.TestOptions(data))
	m := apptest.NewMerchant(app.API.URL, app.Credentials.APIKey)
	if _, err := m.Pay(m.Token(t, "order-1001", 2500, "4111111111111111"), ""); err != nil {
		t.Fatal(err)
	}
	if status, _, text := apptest.Invoke(t, "backup", "--data", data, "--out", out, "--keys-out", keys); status != 0 {
		t.Fatalf("backup: %d, %s", status, text)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(data); err != nil { // with its master key
		t.Fatal(err)
	}
	status, text, fault := apptest.Invoke(t, "verify", "--data", out)
	if status != 0 || !strings.HasPrefix(text, "the log is whole: ") || !strings.Contains(text, "note: this is a back-up: the keys are in the folder of --keys-out") {
		t.Errorf("verify of the back-up: %d, %s%s", status, text, fault)
	}
	if strings.Contains(text, "a start makes") || !strings.Contains(text, "a back-up has none") {
		t.Errorf("the note about the tip store is %s", text)
	}
	var largest string // of the files: that of the log
	size := int64(0)
	err := filepath.Walk(out, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() && info.Size() > size {
			largest, size = path, info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	flipped, err := os.ReadFile(largest)
	if err == nil {
		flipped[len(flipped)/2] ^= 1
		err = os.WriteFile(largest, flipped, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if status, text, fault := apptest.Invoke(t, "verify", "--data", out); status != 1 || strings.Contains(text, "is whole") {
		t.Errorf("verify of a back-up with a changed byte in %s: %d, %s%s", largest, status, text, fault)
	}
	if status, _, fault := apptest.Invoke(t, "verify", "--data", keys); status != 1 || !strings.Contains(fault, "holds no ledger and no back-up") {
		t.Errorf("verify of the folder of keys: %d, %s", status, fault)
	}
}
