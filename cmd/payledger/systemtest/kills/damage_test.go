//go:build system

package kills

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/ledger"
)

// TestFlipInARunningService flips a bit in a file of a running service. Reads of the damaged place
// answer 503, never "not found". readyz is red without internals, the admin address names stream
// and sequence, a metric and a log line report the damage, and the next start is refused without a
// changed byte.
func TestFlipInARunningService(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := apptest.ServeProcess(t, "--data", data)
	key := p.Credentials.APIKey
	m := apptest.NewMerchant(p.Ready.API, key)
	var paid []string
	for n := range 12 {
		got, err := m.Pay(m.Token(t, fmt.Sprintf("order-%d", n), 1000, "4111111111111111"), fmt.Sprintf("key-%d", n))
		if err != nil || got.Status != 200 {
			t.Fatalf("pay: %v %d %s", err, got.Status, got.Body)
		}
		var made apptest.PaymentAnswer
		got.Decode(t, &made)
		paid = append(paid, made.ID)
	}
	p.Stop() // the newest events would not be read from files
	p = apptest.ServeProcess(t, "--data", data)
	m = apptest.NewMerchant(p.Ready.API, key)
	files, err := filepath.Glob(filepath.Join(data, ledger.EventsFolder, "jetstream", "*", "streams", "LEDGER_*", "msgs", "*.blk"))
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range files {
		flipAll(t, file)
	}
	if response, err := http.Post(p.Ready.Admin+"/scrub", "", nil); err != nil || response.StatusCode != 503 {
		t.Errorf("scrub: %v %v", err, response)
	} else {
		response.Body.Close()
	}
	unavailable := 0
	for every, tries := 11*time.Second, 3; tries > 0 && unavailable == 0; tries-- {
		for n, id := range paid {
			if n%3 != tries%3 { // each pass reads other payments: the log caches groups that it has read
				continue
			}
			for _, path := range []string{"/payments/" + id, "/payments/" + id + "/events"} {
				got, err := m.Call("GET", path, m.Headers(), nil)
				if err != nil || got.Status != 200 && (got.Status != 503 || !bytes.Contains(got.Body, []byte("ServiceUnavailable"))) {
					t.Fatalf("read: %v %d %s\n%s", err, got.Status, got.Body, p.Log)
				}
				if got.Status == 503 {
					unavailable++
				}
			}
		}
		if testing.Short() {
			break
		}
		if unavailable == 0 { // the server has its blocks in memory, and drops a block after ten seconds without a read
			<-time.After(every)
		}
	}
	if unavailable == 0 && !testing.Short() {
		t.Error("no read has met the damage")
	}
	if got, err := m.Pay("token-of-nobody", "late"); err != nil || got.Status == 200 {
		t.Errorf("a payment in a damaged log: %v %d %s", err, got.Status, got.Body)
	}
	got, err := m.Call("GET", "/readyz", nil, nil)
	if err != nil || got.Status != 503 || bytes.Contains(got.Body, []byte("LEDGER")) || !bytes.Contains(got.Body, []byte("damaged")) {
		t.Errorf("readyz: %v %d %s", err, got.Status, got.Body)
	}
	admin := apptest.GetText(t, p.Ready.Admin+"/readyz", 503)
	if !strings.Contains(admin, "LEDGER_") || !strings.Contains(admin, "at sequence ") {
		t.Errorf("readyz of the admin address: %s", admin)
	}
	if text := apptest.GetText(t, p.Ready.Admin+"/metrics", 200); !strings.Contains(text, "payledger_log_healthy 0") || strings.Contains(text, "payledger_log_damaged_shards 0") {
		t.Error("the metrics do not say it")
	}
	p.Kill()
	if text := p.Log.String(); !strings.Contains(text, "the log is damaged: this shard takes no more appends") {
		t.Errorf("the log does not say it: %s", text)
	}
}

// flipAll flips a bit in every 200 bytes of a file, in place.
func flipAll(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	for at := int64(100); at < info.Size(); at += 200 {
		var b [1]byte
		if _, err := f.ReadAt(b[:], at); err != nil {
			t.Fatal(err)
		}
		b[0] ^= 4
		if _, err := f.WriteAt(b[:], at); err != nil {
			t.Fatal(err)
		}
	}
}
