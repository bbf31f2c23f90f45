//go:build system

package kills

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"payledger/cmd/payledger/apptest"
	"payledger/domain/childtest"
)

// TestCheckpointsFollow: checkpoints --follow prints each new checkpoint as one line, without a
// gap, also across a restart of the server, and ends with status 0 when it is interrupted (I1). A
// log that does not have the last checkpoint any more is a fault.
func TestCheckpointsFollow(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := apptest.ServeProcess(t, "--data", data)
	key := p.Credentials.APIKey
	address := strings.TrimPrefix(p.Ready.API, "http://")
	follow := childtest.Tied(exec.Command(os.Args[0], "checkpoints", "--follow", "--url", p.Ready.API, "--api-key", key))
	follow.Env = append(os.Environ(), apptest.AsProgram+"=1")
	out, err := follow.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var notes bytes.Buffer
	follow.Stderr = &notes
	if err := follow.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = follow.Process.Kill() }) // it may be gone already
	lines, number := bufio.NewReader(out), 0
	killedLate := func() *time.Timer { // a line or an end that does not come
		return time.AfterFunc(apptest.SettleDeadline, func() { _ = follow.Process.Kill() })
	}
	covers := func(events int) {
		t.Helper()
		late := killedLate()
		defer late.Stop()
		for size := 0; size < events; {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatalf("checkpoints --follow ended, or printed no checkpoint of %d events within %s: the last one is %d of %d events: %v", events, apptest.SettleDeadline, number, size, err)
			}
			var one struct {
				Number, Size int
				Root, Note   string
			}
			if err := json.Unmarshal([]byte(line), &one); err != nil || one.Number != number+1 || one.Root == "" || !strings.Contains(one.Note, one.Root) {
				t.Fatalf("after checkpoint %d comes %s %v", number, line, err)
			}
			number, size = one.Number, one.Size
		}
	}
	payments := 0
	written := func() int {
		t.Helper()
		m := apptest.NewMerchant(p.Ready.API, key)
		paid, err := m.Pay(m.Token(t, "order-1", 1000, "4111111111111111"), "")
		if err != nil || paid.Status != 200 {
			t.Fatal(paid.Status, err)
		}
		payments++
		var shown struct{ Data []struct{ Position int } }
		apptest.Until(t, apptest.StartTimeout, "the payment has a position", func() (bool, string) {
			got := m.Must(t, "GET", "/events?types=payment.authorized", m.Headers(), nil)
			got.Decode(t, &shown)
			return len(shown.Data) == payments, string(got.Body)
		})
		return shown.Data[payments-1].Position
	}
	covers(written())
	p.Stop()
	older := filepath.Join(t.TempDir(), "older")
	if err := os.CopyFS(older, os.DirFS(data)); err != nil {
		t.Fatal(err)
	}
	p = apptest.ServeProcess(t, "--data", data, "--listen", address)
	covers(written())
	p.Stop()
	p = apptest.ServeProcess(t, "--data", data, "--listen", address)
	covers(written())
	if err := follow.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	late := killedLate()
	defer late.Stop()
	if _, err := io.Copy(io.Discard, lines); err != nil {
		t.Error(err)
	}
	if err := follow.Wait(); err != nil {
		t.Errorf("an interrupted checkpoints --follow: %v, %s", err, &notes)
	}
	if text := notes.String(); strings.Count(text, "\n") > 2 || text != "" && !strings.Contains(text, "going on behind checkpoint ") {
		t.Errorf("checkpoints --follow says %q", text)
	}
	p.Stop()

	for dir, status := range map[string]int{data: 0, older: 1} {
		code, _, notes := apptest.Invoke(t, "checkpoints", "--data", dir, "--after", strconv.Itoa(number))
		if code != status || (code == 1) != strings.Contains(notes, fmt.Sprintf("the log has no checkpoint %d: it is another log, or an older state", number)) {
			t.Errorf("checkpoints after %d of %s: status %d, %s", number, dir, code, notes)
		}
	}
}
