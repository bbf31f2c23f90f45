package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkNodes measures payments over HTTP, each created and captured, through one, two and three API nodes over one cluster of three
// NATS servers: payments a second, times, CPU of each kind of process, and what a payment leaves on the disks. A node is a process: on one
// machine they share its processors. SCALING.md computes from these figures.
//
//	go test ./deploy/localcluster -run - -bench Nodes -benchtime 3000x
func BenchmarkNodes(b *testing.B) {
	programs := *faultPrograms
	if programs == "" {
		programs = built(b)
	}
	for nodes := 1; nodes <= apiNodes; nodes++ {
		c, err := newCluster(b.TempDir(), programs, nodes, io.Discard)
		if err != nil {
			b.Fatal(err)
		}
		if err = c.start(b.Context()); err == nil {
			l := newLoad(b, c, 1)
			l.http.Timeout, l.http.Transport = time.Minute, &http.Transport{MaxIdleConnsPerHost: benchClients}
			l.payMany(b, make([]time.Duration, 2*benchClients)) // connections and caches
			b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) { benchNodes(b, c, l) })
		}
		if err := errors.Join(err, c.close()); err != nil {
			b.Fatal(err)
		}
	}
}

// benchClients is the number of payments at once.
const benchClients = 48

func benchNodes(b *testing.B, c *cluster, l *load) {
	before, sizes, began := cpu(b, c), disk(b, c), time.Now()
	times := make([]time.Duration, b.N)
	b.ResetTimer()
	l.payMany(b, times)
	b.StopTimer()
	took, n := time.Since(began).Seconds(), float64(b.N)
	slices.Sort(times)
	b.ReportMetric(n/took, "payments/s")
	b.ReportMetric(float64(times[len(times)/2])/1e6, "create-p50-ms")
	b.ReportMetric(float64(times[len(times)*99/100])/1e6, "create-p99-ms")
	for kind, used := range cpu(b, c) {
		b.ReportMetric((used-before[kind]).Seconds()*1000/n, kind+"-CPU-ms/payment")
	}
	for kind, size := range disk(b, c) {
		b.ReportMetric(float64(size-sizes[kind])/n, kind+"-B/payment")
	}
}

// payMany makes a payment for each element of times, on all API nodes, and sets the times of the creations.
func (l *load) payMany(b *testing.B, times []time.Duration) {
	var next atomic.Int64
	var all sync.WaitGroup
	for client := range benchClients {
		all.Go(func() {
			for n := int(next.Add(1)) - 1; n < len(times); n = int(next.Add(1)) - 1 {
				times[n] = l.pay(b, client%len(l.urls))
			}
		})
	}
	all.Wait()
}

// pay creates a payment and captures it. It returns the time of the creation.
func (l *load) pay(b *testing.B, node int) time.Duration {
	l.mu.Lock()
	l.made++
	order := l.made
	l.mu.Unlock()
	began := time.Now()
	body := fmt.Sprintf(`{"paymentMethodToken":%q,"amount":2500,"currencyCode":"EUR","orderId":"order-%d","customerId":"customer-1"}`, l.token, order)
	status, text, err := l.send(node, http.MethodPost, "/payments", http.Header{"X-Idempotency-Key": {fmt.Sprintf("pay-%d", order)}}, body)
	took := time.Since(began)
	_, id, _ := bytes.Cut(text, []byte(`"id":"`))
	id, _, _ = bytes.Cut(id, []byte(`"`))
	if err == nil && status == http.StatusOK {
		status, text, err = l.send(node, http.MethodPost, "/payments/"+string(id)+"/capture", nil, "")
	}
	if err != nil || status != http.StatusOK {
		b.Errorf("%d %s %v", status, text, err)
	}
	return took
}

// cpu returns the CPU time of the cluster's processes by kind: api, nats, simulator.
func cpu(b *testing.B, c *cluster) map[string]time.Duration {
	b.Helper()
	const tick = 10 * time.Millisecond // of /proc, on every Linux
	used := map[string]time.Duration{}
	for _, n := range c.nodes {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.child.pid()))
		if err != nil {
			b.Fatal(err)
		}
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+2:]))
		kind, _, _ := strings.Cut(n.name, "-")
		for _, field := range fields[11:13] { // utime and stime
			ticks, err := strconv.Atoi(field)
			if err != nil {
				b.Fatal(err)
			}
			used[kind] += time.Duration(ticks) * tick
		}
	}
	return used
}

// disk returns the bytes of files: of the log on one NATS server, and of one API node.
func disk(b *testing.B, c *cluster) map[string]int64 {
	b.Helper()
	sizes := map[string]int64{}
	for kind, dir := range map[string]string{"log": filepath.Join(c.nats[0].dir, "store", "jetstream", "LEDGER"), "api": filepath.Join(c.dir, c.apis[0].name)} {
		err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil //nolint:nilerror // files come and go
			}
			if info, err := d.Info(); err == nil {
				sizes[kind] += info.Size()
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return sizes
}
