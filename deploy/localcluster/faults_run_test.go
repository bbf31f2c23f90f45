//go:build system

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/domain/childtest"
	"payledger/domain/seedtest"
)

var (
	faultTime     = flag.Duration("clusterfaults", 15*time.Second, "how long TestFaults breaks the cluster")
	faultProgress = flag.String("progress", "", "file for the progress and the summary of TestFaults")
	faultPrograms = flag.String("faultprograms", "", "folder with payledger, built with the tag clockoffset, and nats-server (default: TestFaults builds them)")
	faultAddress  = flag.String("faultaddress", loopback, "loopback address of the cluster: runs beside each other have one each")
	faultPause    = flag.Duration("faultpause", 20*time.Millisecond, "pause of each of TestFaults' six clients between two requests")
	faultData     = flag.String("faultdata", "", "folder in which TestFaults keeps the cluster (default: a temporary folder)")
)

// trial is a run of TestFaults: a cluster, its clients, and the faults so far.
type trial struct {
	t        *testing.T
	c        *cluster
	load     *load
	random   *rand.Rand
	seed     uint64
	began    time.Time
	progress io.Writer
	bag      []faultKind // the kinds that come before any of them comes again
	faults   []fault
}

// fault is one fault that ended.
type fault struct {
	kind     string
	leader   bool          // a NATS server that led streams was gone or cut off
	from, to time.Duration // until every API node took a change again
}

// TestFaults breaks a cluster of real processes in random order, while clients create, capture,
// refund, cancel, read and list payments. At the end the answers fit one order of the requests,
// every acknowledged change is in the ledger once, every server's copy of the log is whole and the
// same, and the processors' books equal the ledger.
//
//	PAYLEDGER_TEST_SEED=1 go test -tags system ./deploy/localcluster -run TestFaults -timeout 90m -clusterfaults 30m -progress FILE
func TestFaults(t *testing.T) {
	r := newTrial(t)
	r.load.start()
	for until := time.Now().Add(*faultTime); time.Now().Before(until) && !t.Failed(); {
		r.strike(r.next())
	}
	r.load.stop()
	r.say("the load ends: %s", r.load.counted())
	ended := time.Now()
	found := r.check()
	result := "passed"
	if t.Failed() {
		result = "FAILED"
	}
	summary := fmt.Sprintf("%s; the check took %.0f s\n%s", result, time.Since(ended).Seconds(), r.summary(found))
	r.say("%s", summary)
	t.Log(summary)
}

// apiNodes is the number of API nodes of a trial.
const apiNodes = 3

func newTrial(t *testing.T) *trial {
	t.Helper()
	r := &trial{t: t, seed: seedtest.Seed(t), began: time.Now(), progress: io.Discard}
	r.random = rand.New(rand.NewPCG(r.seed, 0))
	if *faultProgress != "" {
		file, err := os.OpenFile(*faultProgress, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.Close() })
		r.progress = file
	}
	r.say("seed %d, %s", r.seed, *faultTime)
	programs, data := *faultPrograms, *faultData
	if programs == "" {
		programs = built(t)
	}
	if data == "" {
		data = t.TempDir()
	}
	var err error
	if r.c, err = newCluster(data, programs, *faultAddress, apiNodes, &lines{r}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.close(); err != nil {
			t.Error(err)
		}
	})
	if err := r.c.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.load = newLoad(t, r.c, r.seed)
	return r
}

// built builds the programs of a cluster. Their clocks can be set.
func built(t testing.TB) (folder string) {
	t.Helper()
	folder = t.TempDir()
	build := childtest.Tied(exec.Command("go", "build", "-buildvcs=false", "-tags", "clockoffset", "-o", folder+"/", "payledger/cmd/payledger", "github.com/nats-io/nats-server/v2"))
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, text)
	}
	return folder
}

// close ends the cluster; a second close does nothing.
func (r *trial) close() (err error) {
	if r.c != nil {
		_, err = r.c.healAll(context.Background())
		if stopped := r.c.close(); stopped != nil {
			err = stopped
		}
		r.c = nil
	}
	return err
}

// lines writes the cluster's messages into the progress.
type lines struct{ r *trial }

func (l *lines) Write(text []byte) (int, error) {
	l.r.say("%s", strings.TrimSpace(string(text)))
	return len(text), nil
}

// say adds a line to the progress.
func (r *trial) say(format string, args ...any) {
	fmt.Fprintf(r.progress, "%8.1f s  "+format+"\n", append([]any{time.Since(r.began).Seconds()}, args...)...)
}

// summary returns the result of the trial as text.
func (r *trial) summary(found findings) string {
	kinds, longest := map[string]int{}, map[string]time.Duration{}
	var death time.Duration
	var deadly string
	for _, f := range r.faults {
		wait := r.load.longestWait(f)
		kinds[f.kind]++
		longest[f.kind] = max(longest[f.kind], wait)
		if f.leader && wait > death {
			death, deadly = wait, f.kind
		}
	}
	var text strings.Builder
	fmt.Fprintf(&text, "seed %d: %d faults in %s\n", r.seed, len(r.faults), *faultTime)
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		fmt.Fprintf(&text, "  %4d  %-42s  longest wait of a client %5.1f s\n", kinds[kind], kind, longest[kind].Seconds())
	}
	fmt.Fprintf(&text, "%s\n", r.load.counted())
	fmt.Fprintf(&text, "longest unavailability after a leader's death: %s (%s)\n", death.Round(time.Millisecond), deadly)
	linearizable := "yes"
	switch {
	case found.disordered > 0:
		linearizable = "no"
	case found.undecided > 0:
		linearizable = "undecided"
	}
	fmt.Fprintf(&text, "%d payments, %d operations of clients in the ledger; lost %d, doubled %d, linearizable: %s (%d payments are not, %d undecided; %d with an answer that shows a later change, too)\n%s",
		found.payments, found.recorded, found.lost, found.doubled, linearizable, found.disordered, found.undecided, found.newer, found.replicas)
	return text.String()
}
