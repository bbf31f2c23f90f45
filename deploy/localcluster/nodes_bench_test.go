//go:build system

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
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

// BenchmarkNodes measures payments over HTTP, each created and captured, through one, two and three
// API nodes over one cluster of three NATS servers: payments a second, times, CPU of each process,
// and what a payment leaves on the disks. A node is a process: on one machine they share its
// processors. It prints a table, from which SCALING.md computes. The CPU of the client includes the
// links of the cluster.
//
//	go test -tags system ./deploy/localcluster -run - -bench Nodes -benchtime 3000x
func BenchmarkNodes(b *testing.B) {
	programs := *faultPrograms
	if programs == "" {
		programs = built(b)
	}
	table := fmt.Sprintf("CPU in ms a payment, by process in the order of their names; load of the machine before: %s\n\n"+
		"| API nodes | payments/s | create p50 | p99 | API nodes | NATS servers | simulator | client | log of a server | data of a node |\n|%s\n",
		machineLoad(b), strings.Repeat("---|", 10))
	for nodes := 1; nodes <= apiNodes; nodes++ {
		var row string
		c, err := newCluster(b.TempDir(), programs, loopback, nodes, io.Discard)
		if err != nil {
			b.Fatal(err)
		}
		if err = c.start(b.Context()); err == nil {
			l := newLoad(b, c, 1)
			l.http.Timeout, l.http.Transport = time.Minute, &http.Transport{MaxIdleConnsPerHost: benchClients}
			l.payMany(b, make([]time.Duration, 2*benchClients)) // connections and caches
			b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) { row = benchNodes(b, c, l) })
		}
		if err := errors.Join(err, c.close()); err != nil {
			b.Fatal(err)
		}
		table += fmt.Sprintf("| %d %s\n", nodes, row)
	}
	b.Logf("%s\nload of the machine after: %s", table, machineLoad(b))
}

// machineLoad returns the numbers of running processes over 1, 5 and 15 minutes.
func machineLoad(b *testing.B) string {
	b.Helper()
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		b.Fatal(err)
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}

// benchClients is the number of payments at once.
const benchClients = 48

// benchNodes returns a row of the table, which is right for the last b.N.
func benchNodes(b *testing.B, c *cluster, l *load) (row string) {
	spent, sizes, began := cpu(b, c), disk(b, c), time.Now()
	times := make([]time.Duration, b.N)
	b.ResetTimer()
	l.payMany(b, times)
	b.StopTimer()
	took, n := time.Since(began).Seconds(), float64(b.N)
	slices.Sort(times)
	b.ReportMetric(n/took, "payments/s")
	p50, p99 := times[len(times)/2], times[len(times)*99/100]
	b.ReportMetric(float64(p50)/1e6, "create-p50-ms")
	b.ReportMetric(float64(p99)/1e6, "create-p99-ms")
	row = fmt.Sprintf("| %.1f | %d ms | %d ms ", n/took, p50.Milliseconds(), p99.Milliseconds())
	used := cpu(b, c)
	for _, kind := range []string{"api", "nats", "simulator", "client"} {
		var each []string
		var all float64
		for _, name := range slices.Sorted(maps.Keys(used)) {
			if before, _, _ := strings.Cut(name, "-"); before == kind {
				ms := (used[name] - spent[name]).Seconds() * 1000 / n
				all, each = all+ms, append(each, fmt.Sprintf("%.2f", ms))
			}
		}
		b.ReportMetric(all, kind+"-CPU-ms/payment")
		row += fmt.Sprintf("| %.2f ", all)
		if len(each) > 1 {
			row += "(" + strings.Join(each, " + ") + ") "
		}
	}
	after := disk(b, c)
	for _, kind := range []string{"log", "api"} {
		size := float64(after[kind]-sizes[kind]) / n
		b.ReportMetric(size, kind+"-B/payment")
		row += fmt.Sprintf("| %.0f B ", size)
	}
	return row + "|"
}

// payMany makes a payment for each element of times, on all API nodes, and sets the times of the
// creations.
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

// cpu returns the CPU time of the cluster's processes by name, and of this process as client.
func cpu(b *testing.B, c *cluster) map[string]time.Duration {
	b.Helper()
	const tick = 10 * time.Millisecond // of /proc, on every Linux
	used := map[string]time.Duration{}
	pids := map[string]int{"client": os.Getpid()}
	for _, n := range c.nodes {
		pids[n.name] = n.child.pid()
	}
	for name, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			b.Fatal(err)
		}
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+2:]))
		for _, field := range fields[11:13] { // utime and stime
			ticks, err := strconv.Atoi(field)
			if err != nil {
				b.Fatal(err)
			}
			used[name] += time.Duration(ticks) * tick
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
