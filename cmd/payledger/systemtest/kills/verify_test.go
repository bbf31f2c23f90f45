//go:build system

package kills

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/ledger"
	"payledger/domain"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/projections"
	"payledger/projections/deliveries"
)

// paid makes some payments and returns their ids.
func paid(t *testing.T, api, key string, n int) (ids []string) {
	t.Helper()
	m := apptest.NewMerchant(api, key)
	for i := range n {
		got, err := m.Pay(m.Token(t, fmt.Sprintf("order-%d", i), 1000, "4111111111111111"), fmt.Sprintf("key-%d", i))
		if err != nil || got.Status != 200 {
			t.Fatalf("pay: %v %d %s", err, got.Status, got.Body)
		}
		var made apptest.PaymentAnswer
		got.Decode(t, &made)
		ids = append(ids, made.ID)
	}
	return ids
}

// files returns the names and contents of all files of a folder.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		all[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// same checks that no file of a folder was changed, made or removed.
func same(t *testing.T, before, after map[string]string) {
	t.Helper()
	for path, content := range after {
		if was, there := before[path]; !there || was != content {
			t.Errorf("%s was changed", path)
		}
	}
	if len(before) != len(after) {
		t.Errorf("%d files became %d", len(before), len(after))
	}
}

// TestVerifyCommand: verify beside the running service, in its folder after a kill and after an
// orderly stop (I1).
func TestVerifyCommand(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	data := t.TempDir()
	whole := func(when string) {
		t.Helper()
		status, out, stderr := apptest.Invoke(t, "verify", "--data", data)
		if status != 0 || !strings.HasPrefix(out, "the log is whole: ") || !strings.Contains(out, ", the tip store, the views and ") || strings.Contains(out, "note") {
			t.Errorf("%s: verify exits %d: %s%s", when, status, out, stderr)
		}
	}
	p := apptest.ServeProcess(t, "--data", data, "--webhook-allow-cidr", "127.0.0.0/8")
	m := apptest.NewMerchant(p.Ready.API, p.Credentials.APIKey)
	if got, err := m.Call("POST", "/management/webhook-endpoints", m.Headers(), map[string]any{
		"url": "http://127.0.0.1:1/hooks", "eventTypes": []string{"PAYMENT.STATUS"},
	}); err != nil || got.Status != 200 {
		t.Fatalf("an endpoint: %v %d %s", err, got.Status, got.Body)
	}
	ids := paid(t, p.Ready.API, p.Credentials.APIKey, 12)
	apptest.Until(t, time.Minute, "deliveries are planned", func() (bool, string) {
		got, err := m.Call("GET", "/management/webhook-deliveries", m.Headers(), nil)
		return err == nil && bytes.Count(got.Body, []byte("\"id\"")) >= 12, string(got.Body)
	})
	whole("running")
	if status, out, stderr := apptest.Invoke(t, "verify", "--data", data, "--payment", ids[3]); status != 0 || !strings.Contains(out, ids[3]+" is whole: 2 events") {
		t.Errorf("one payment: %d %s%s", status, out, stderr)
	}
	if status, out, stderr := apptest.Invoke(t, "verify", "--data", data, "--payment", "unknown"); status != 1 || out != "" || !strings.Contains(stderr, "there is no payment unknown") {
		t.Errorf("an unknown payment: %d %s%s", status, out, stderr)
	}
	p.Kill()
	before := files(t, data)
	whole("killed")
	same(t, before, files(t, data))
	p = apptest.ServeProcess(t, "--data", data)
	whole("running again")
	if err := os.Remove(filepath.Join(data, "control.sock")); err != nil {
		t.Fatal(err)
	}
	if status, _, stderr := apptest.Invoke(t, "verify", "--data", data); status != 1 || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "is in use, and no service listens") {
		t.Errorf("without its socket: %d %s", status, stderr)
	}
	p.Stop()
	before = files(t, data)
	whole("stopped")
	same(t, before, files(t, data))
	if status, _, stderr := apptest.Invoke(t, "verify", "--data", filepath.Join(data, "views")); status != 1 || !strings.Contains(stderr, "holds no ledger") {
		t.Errorf("another folder: %d %s", status, stderr)
	}
	for name, wrong := range map[string][3]string{
		"hash":     {projections.FileName, "UPDATE positions SET hash = randomblob(32) WHERE shard = 1", "the position of shard 1 in the views has another number or hash"},
		"delivery": {deliveries.FileName, "UPDATE deliveries SET status = 'SUCCEEDED', status_code = 200", "as status of deliveries"},
		"deleted":  {deliveries.FileName, "DELETE FROM deliveries WHERE rowid = 3", "the views have no row of it in deliveries"},
		"mark":     {deliveries.FileName, "UPDATE mark SET hash = randomblob(32)", "its mark is no record of the log"},
		"column":   {projections.FileName, "INSERT INTO block_columns VALUES (1, zeroblob(4000))", "the blocks of the views that filtered lists search are wrong"},
		"counts":   {projections.FileName, "UPDATE statistics SET counts = x'026701020e'", "the statistics of the views are wrong: the counts of account"},
		"group":    {projections.FileName, "DELETE FROM statistics", "the statistics of the views are wrong: the counts of account"},
		"audit":    {projections.FileName, "DELETE FROM audit WHERE type = 'account.endpoint_created'", "the views have no row of account.endpoint_created in audit"},
		"actor":    {projections.FileName, "UPDATE audit SET actor = 'user:somebody' WHERE type = 'account.endpoint_created'", "in audit, the log"},
		"entry":    {projections.FileName, "INSERT INTO audit SELECT account, at, 'x', shard, seq, type, actor, subject FROM audit LIMIT 1", "the views have 1 rows of audit that the log does not have"},
		"charged":  {projections.FileName, "DELETE FROM transactions", "by one of its processor's transaction ids"},
		"dropped":  {projections.FileName, "DROP INDEX payments_email; UPDATE accounts SET id = id", "its tables and indexes are other ones"},
	} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(data)); err != nil {
			t.Fatal(err)
		}
		execute(t, filepath.Join(dir, ledger.ViewsFolder, wrong[0]), wrong[1])
		if status, out, stderr := apptest.Invoke(t, "verify", "--data", dir); status != 1 || out != "" || !strings.Contains(stderr, wrong[2]) {
			t.Errorf("%s: %d %s%s", name, status, out, stderr)
		}
	}
	wrongRow(t, data, ids[5])
	status, out, stderr := apptest.Invoke(t, "verify", "--data", data)
	if status != 1 || out != "" || !strings.Contains(stderr, ids[5]) || !strings.Contains(stderr, "the views have 1001 as amount of payments, the log 1000") {
		t.Errorf("a wrong row: %d %s%s", status, out, stderr)
	}
	if status, out, stderr := apptest.Invoke(t, "verify", "--data", data, "--all"); status != 1 || strings.Count(out, "\n") != 2 || !strings.Contains(out, "the statistics of the views are wrong") || !strings.Contains(stderr, "2 faults;") { // the counts are of the row as it was
		t.Errorf("all faults: %d %s%s", status, out, stderr)
	}
}

// TestVerifyMissing: verify reports every stream that is gone, also without the tip store; its
// advice for views makes them whole (I1).
func TestVerifyMissing(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	base := t.TempDir()
	p := apptest.ServeProcess(t, "--data", base)
	ids := paid(t, p.Ready.API, p.Credentials.APIKey, 3)
	p.Stop()
	apptest.ServeProcess(t, "--data", base).Stop() // it is ready once the views have all events
	events := filepath.Join(base, ledger.EventsFolder)
	shard := domain.Shard(ids[0], engine.DefaultShards)
	streams := map[string]string{}
	for path := range files(t, events) {
		for _, name := range []string{"CHECKPOINTS_1", "SECRETS_1", "DELIVERIES_1", fmt.Sprintf("LEDGER_%d_1", shard)} {
			if dir, _, found := strings.Cut(path, "/"+name+"/"); found {
				streams[name], _ = filepath.Rel(base, filepath.Join(dir, name))
			}
		}
	}
	if len(streams) != 4 {
		t.Fatalf("the folder has the streams %v", streams)
	}
	for name, stream := range streams {
		for _, tips := range []bool{true, false} {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(base)); err != nil {
				t.Fatal(err)
			}
			gone := []string{stream}
			if !tips {
				gone = append(gone, filepath.Join(ledger.EventsFolder, "tips"))
			}
			for _, folder := range gone {
				if err := os.RemoveAll(filepath.Join(dir, folder)); err != nil {
					t.Fatal(err)
				}
			}
			of := strings.TrimSuffix(name, "_1")
			status, out, stderr := apptest.Invoke(t, "verify", "--data", dir)
			named := strings.Contains(stderr, of) || !tips && (strings.Contains(stderr, fmt.Sprint("shard ", shard)) || strings.Contains(stderr, fmt.Sprintf("it covers %d shards; the log has %d", engine.DefaultShards, engine.DefaultShards-1)))
			if status != 1 || out != "" || !named {
				t.Errorf("without %s, tip store %v: verify exits %d: %s%s", name, tips, status, out, stderr)
			}
		}
	}
	if err := os.RemoveAll(filepath.Join(events, "tips")); err != nil {
		t.Fatal(err)
	}
	if status, out, stderr := apptest.Invoke(t, "verify", "--data", base); status != 0 || !strings.Contains(out, "note: there is no tip store") {
		t.Errorf("without a tip store: verify exits %d: %s%s", status, out, stderr)
	}
	wrongRow(t, base, ids[0])
	if status, out, stderr := apptest.Invoke(t, "verify", "--data", base); status != 1 || !strings.Contains(stderr, "remove views/views.sqlite*") {
		t.Errorf("a wrong row: verify exits %d: %s%s", status, out, stderr)
	}
	views, err := filepath.Glob(filepath.Join(base, "views", "views.sqlite*"))
	if err != nil || len(views) == 0 {
		t.Fatal(views, err)
	}
	for _, path := range views {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	apptest.ServeProcess(t, "--data", base).Stop()
	if status, out, stderr := apptest.Invoke(t, "verify", "--data", base); status != 0 || strings.Contains(out, "note") {
		t.Errorf("after the advice: verify exits %d: %s%s", status, out, stderr)
	}
}

// wrongRow changes the amount of a payment in the views.
func wrongRow(t *testing.T, data, id string) {
	t.Helper()
	execute(t, filepath.Join(data, ledger.ViewsFolder, projections.FileName), `UPDATE payments SET amount = amount + 1 WHERE id = ?`, id)
}

// execute changes a file of views of a stopped service.
func execute(t *testing.T, path, statement string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	result, err := db.ExecContext(context.Background(), statement, args...)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		t.Errorf("%s: %d rows, %v", statement, n, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestVerifyFindsFlipBesideService: a bit that flips in a block of a running service is found over
// the socket, with its stream (I1).
func TestVerifyFindsFlipBesideService(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := apptest.ServeProcess(t, "--data", data)
	ids := paid(t, p.Ready.API, p.Credentials.APIKey, 6)
	p.Stop() // the groups of this run are not in memory any more
	p = apptest.ServeProcess(t, "--data", data)
	stream := fmt.Sprintf("LEDGER_%d_1", domain.Shard(ids[0], engine.DefaultShards))
	blocks, err := filepath.Glob(filepath.Join(data, ledger.EventsFolder, "jetstream", "*", "streams", stream, "msgs", "*.blk"))
	if err != nil || len(blocks) == 0 {
		t.Fatal(blocks, err)
	}
	f, err := os.OpenFile(blocks[0], os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	var b [1]byte
	if _, err = f.ReadAt(b[:], 400); err == nil {
		b[0] ^= 4
		_, err = f.WriteAt(b[:], 400)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"verify", "--data", data}, {"verify", "--data", data, "--all"}} {
		if status, out, stderr := apptest.Invoke(t, args...); status != 1 || !strings.Contains(out+stderr, stream+" at sequence ") {
			t.Errorf("%v: %d %s%s", args, status, out, stderr)
		}
	}
	p.Kill()
}
