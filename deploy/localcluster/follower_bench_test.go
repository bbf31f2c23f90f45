//go:build system

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"payledger/domain/childtest"
)

// followSeconds is the time of a profile.
const followSeconds = 20

// parts are the parts of the work on an event, each with the functions below which it is done. A
// sample counts for the first part that fits.
var parts = []struct{ name, functions string }{
	{"workflows", `payledger/eventstore/commands/workflows\.`},
	{"row of a delivery", `payledger/projections/deliveries\.|notifier\.\(\*AttemptLog\)`},
	{"planner", `payledger/notifier[./]`},
	{"tree", `payledger/eventstore/(checkpoint|checkpointlog|prover|proof)\.`},
	{"state", `DecodeState|eventstore\.StateAt|projections\.decode`},
	{"row", `payledger/projections(/[a-z]+)?\.|modernc.org/sqlite`},
	{"tip", `eventstore/tipstore[./]|cockroachdb/pebble|eventstore\.\(\*Store\)\.writeTips|eventstore\.\(\*Store\)\.flush`},
	{"hash", `sha256`},
	{"parse", `eventstore/format\.|eventstore/codec\.|klauspost/compress`},
	{"owner", `eventstore\.\(\*shard\)\.(takeRequest|drive|sendNext|handOver|takeAnswer)`},
	{"receive", `nats\.go|eventstore\.\(\*shard\)|internal/poll|net\.\(`},
	{"garbage", `runtime\.(gcBgMarkWorker|bgsweep|bgscavenge|gcAssistAlloc|mallocgc)`},
	{"rest", `.`},
}

// BenchmarkFollower measures the CPU that a node takes for each event that another node wrote, by
// part of the work. One node gets all requests: payments that are created and captured, with a
// webhook endpoint. The profile is that of a second one, which owns no shard and gets no request.
//
//	go test -tags system ./deploy/localcluster -run - -bench Follower -benchtime 1x
func BenchmarkFollower(b *testing.B) {
	programs := *faultPrograms
	if programs == "" {
		programs = built(b)
	}
	for _, role := range []string{"views", "api"} {
		b.Run("role="+role, func(b *testing.B) { benchFollower(b, programs, role) })
	}
}

func benchFollower(b *testing.B, programs, role string) {
	c, err := newDirectCluster(b.TempDir(), programs, 2, io.Discard)
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := c.close(); err != nil {
			b.Error(err)
		}
	}()
	c.apis[1].env = []string{"PAYLEDGER_ROLE=" + role, "PAYLEDGER_PPROF=true"}
	if err := c.start(b.Context()); err != nil {
		b.Fatal(err)
	}
	l := newLoad(b, c, 1)
	l.urls = l.urls[:1]
	l.http.Timeout, l.http.Transport = time.Minute, &http.Transport{MaxIdleConnsPerHost: benchClients}
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer receiver.Close()
	if status, text, err := l.send(0, http.MethodPost, "/management/webhook-endpoints", nil, fmt.Sprintf(`{"url":%q}`, receiver.URL)); err != nil || status != http.StatusOK {
		b.Fatalf("%d %s %v", status, text, err)
	}
	l.payMany(b, make([]time.Duration, 4*benchClients)) // connections and caches
	load := machineLoad(b)
	events, spent := logEvents(b, c.apis[1]), cpu(b, c)[c.apis[1].name]
	file := filepath.Join(b.TempDir(), "profile")
	profiled := make(chan error, 1)
	go func() { profiled <- fetchProfile(c.apis[1], file) }()
	for done := false; !done; {
		select {
		case err = <-profiled:
			done = true
		default:
			l.payMany(b, make([]time.Duration, benchClients))
		}
	}
	if err != nil {
		b.Fatal(err)
	}
	n := float64(logEvents(b, c.apis[1]) - events)
	used := cpu(b, c)[c.apis[1].name] - spent
	b.ReportMetric(used.Seconds()*1e6/n, "CPU-µs/event")
	b.ReportMetric(n/followSeconds, "events/s")
	names, values := "|", "|"
	before, sum := "", 0.0
	for _, part := range parts {
		share := shareOf(b, file, part.functions, before)
		us := share * used.Seconds() * 1e6 / n
		sum += us
		names, values = names+" "+part.name+" |", values+fmt.Sprintf(" %.1f |", us)
		before += "|" + part.functions
	}
	b.Logf("role %s, %.0f events, %.1f µs of CPU for each; load of the machine before: %s; µs of the parts, %.1f in all:\n%s\n%s", role, n, used.Seconds()*1e6/n, load, sum, names, values)
}

// logEvents returns the number of events in the log that a node knows.
func logEvents(b *testing.B, a *apiNode) int64 {
	b.Helper()
	response, err := http.Get(a.admin + "/metrics")
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	m := regexp.MustCompile(`(?m)^payledger_log_events ([0-9.e+]+)$`).FindSubmatch(text)
	if err != nil || m == nil {
		b.Fatalf("no events in %s: %v", text, err)
	}
	events, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		b.Fatal(err)
	}
	return int64(events)
}

func fetchProfile(a *apiNode, file string) error {
	response, err := http.Get(fmt.Sprintf("%s/debug/pprof/profile?seconds=%d", a.admin, followSeconds))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("profile: %s %s", response.Status, text)
	}
	return errors.Join(err, os.WriteFile(file, text, 0o600))
}

// shareOf returns the share of the samples that are below functions, and below none of others.
func shareOf(b *testing.B, file, functions, others string) float64 {
	b.Helper()
	args := []string{"tool", "pprof", "-top", "-nodefraction=0", "-edgefraction=0", "-focus", functions}
	if others != "" {
		args = append(args, "-ignore", strings.TrimPrefix(others, "|"))
	}
	text, err := childtest.Tied(exec.Command("go", append(args, file)...)).CombinedOutput()
	if err != nil && !bytes.Contains(text, []byte("matched no samples")) && !bytes.Contains(text, []byte("no samples")) {
		b.Fatalf("%v\n%s", err, text)
	}
	m := regexp.MustCompile(`Showing nodes accounting for [^,]+, ([0-9.e-]+)% of`).FindSubmatch(text)
	if m == nil {
		return 0
	}
	percent, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		b.Fatal(err)
	}
	return percent / 100
}
