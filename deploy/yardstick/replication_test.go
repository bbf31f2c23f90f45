package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestReplicas: every standby must stream, and count for a commit.
func TestReplicas(t *testing.T) {
	first, second := replica{"standby_1", "streaming", "quorum"}, replica{"standby_2", "streaming", "quorum"}
	for _, c := range []struct {
		name  string
		found []replica
		good  bool
	}{
		{"both", []replica{first, second}, true},
		{"one is missing", []replica{first}, false},
		{"one twice", []replica{first, first}, false},
		{"one is asynchronous", []replica{first, {"standby_2", "streaming", "async"}}, false},
		{"one catches up", []replica{first, {"standby_2", "catchup", "quorum"}}, false},
		{"a copy is made", []replica{first, second, {"pg_basebackup", "backup", "async"}}, true},
		{"nothing", nil, false},
	} {
		if err := checkReplicas(c.found, 2); (err == nil) != c.good {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if names := standbyNames(2); names != "ANY 1 (standby_1, standby_2)" {
		t.Errorf("synchronous_standby_names %s", names)
	}
}

// TestStandbys: a commit waits for a standby, and yardstick ends when a standby ends. Nothing of
// the standbys stays.
func TestStandbys(t *testing.T) {
	if !hasPostgres(t) {
		return
	}
	data := t.TempDir()
	s, err := parse([]string{"--data", data, "--standbys", "2", "--pool", "4"})
	if err != nil {
		t.Fatal(err)
	}
	database, err := startPostgres(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	db, err := pgx.Connect(t.Context(), database.dsn())
	if err != nil {
		t.Fatal(err)
	}
	for setting, expected := range map[string]string{
		"fsync": "on", "synchronous_commit": "on", "synchronous_standby_names": "ANY 1 (standby_1, standby_2)", "listen_addresses": loopback,
	} {
		var found string
		if err := db.QueryRow(t.Context(), "show "+setting).Scan(&found); err != nil || found != expected {
			t.Errorf("%s is %q, %v; expected %q", setting, found, err, expected)
		}
	}
	if _, err := database.used(t.Context(), db); err != nil {
		t.Error(err)
	}
	if _, err := pgx.Connect(t.Context(), strings.Replace(database.dsn(), "host="+database.socket, "host="+loopback, 1)); err == nil {
		t.Error("the superuser may connect by TCP")
	}
	if err := db.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := database.stop(); err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(data, "standby_?")); err != nil || len(left) > 0 {
		t.Errorf("these folders stay: %v, %v", left, err)
	}

	v := start(t, data, "--standbys", "2") // the same folder, with new standbys
	if status, text := v.call(t, "POST", "/payments", body); status != 200 {
		t.Errorf("created: %d %s", status, text)
	}
	checkMetrics(t, v)
	pids, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	ended := 0
	for _, path := range pids {
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), "-D\x00"+filepath.Join(data, "standby_2")) {
			continue
		}
		stat, err := os.ReadFile(filepath.Join(filepath.Dir(path), "stat"))
		if err != nil {
			continue
		}
		if syscall.Kill(parseStat(stat).pid, syscall.SIGINT) == nil {
			ended++
		}
	}
	if ended != 1 {
		t.Fatalf("%d standbys were found", ended)
	}
	if err := v.wait(); err == nil || !strings.Contains(err.Error(), "ended by itself (standby_2)") {
		t.Errorf("after the end of a standby: %v", err)
	}
}
