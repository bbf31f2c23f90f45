//go:build system

package main

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// passedRounds is the number of rounds of each kind of request. They take turns, so that other
// programs on the machine slow all of them alike.
const passedRounds = 8

// BenchmarkPassed measures a list at a node with views, and the same list at a node without views,
// which passes the request on: times, and the CPU of each process. One client sends one request
// after the other, b.N of each kind.
//
//	go test -tags system ./deploy/localcluster -run - -bench Passed -benchtime 800x
func BenchmarkPassed(b *testing.B) {
	programs := *faultPrograms
	if programs == "" {
		programs = built(b)
	}
	c, err := newDirectCluster(b.TempDir(), programs, 2, io.Discard)
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := c.close(); err != nil {
			b.Error(err)
		}
	}()
	c.apis[1].env = []string{"PAYLEDGER_ROLE=api"}
	if err := c.start(b.Context()); err != nil {
		b.Fatal(err)
	}
	l := newLoad(b, c, 1)
	l.http.Timeout, l.http.Transport = time.Minute, &http.Transport{MaxIdleConnsPerHost: benchClients}
	l.payMany(b, make([]time.Duration, 4*benchClients))
	for _, payments := range []int{1, 100} {
		b.Run(fmt.Sprintf("payments=%d", payments), func(b *testing.B) { benchPassed(b, c, l, fmt.Sprintf("/payments?limit=%d", payments)) })
	}
}

func benchPassed(b *testing.B, c *cluster, l *load, path string) {
	type kind struct {
		name  string
		times []time.Duration
		spent map[string]time.Duration
		bytes int
	}
	kinds := []kind{{name: "at a node with views"}, {name: "passed on"}}
	for i := range kinds {
		kinds[i].spent = map[string]time.Duration{}
	}
	load := machineLoad(b)
	b.ResetTimer()
	for round := range passedRounds * len(kinds) {
		node := round % len(kinds)
		k, before := &kinds[node], cpu(b, c)
		for range (b.N + passedRounds - 1) / passedRounds {
			began := time.Now()
			status, text, err := l.send(node, http.MethodGet, path, nil, "")
			k.times, k.bytes = append(k.times, time.Since(began)), len(text)
			if err != nil || status != http.StatusOK {
				b.Fatalf("%d %s %v", status, text, err)
			}
		}
		for name, used := range cpu(b, c) {
			group, _, _ := strings.Cut(name, "-")
			if name == c.apis[node].name {
				group = "answers"
			} else if group == "api" {
				group = "other node"
			}
			k.spent[group] += used - before[name]
		}
	}
	table := "| list | p50 | p99 | CPU of the node that answers the client | other node | NATS servers | client |\n" + strings.Repeat("|---", 7) + "|\n"
	for _, k := range kinds {
		slices.Sort(k.times)
		n := float64(len(k.times))
		p50, p99 := k.times[len(k.times)/2], k.times[len(k.times)*99/100]
		b.ReportMetric(float64(p50.Microseconds()), strings.ReplaceAll(k.name, " ", "-")+"-p50-µs")
		table += fmt.Sprintf("| %s, %d bytes | %d µs | %d µs ", k.name, k.bytes, p50.Microseconds(), p99.Microseconds())
		for _, group := range []string{"answers", "other node", "nats", "client"} {
			table += fmt.Sprintf("| %.0f µs ", k.spent[group].Seconds()*1e6/n)
		}
		table += "|\n"
	}
	b.Logf("load of the machine before: %s\n%s", load, table)
}
