package main

import (
	"errors"
	"net"
	"os"
	"strings"
	"testing"
)

// TestMeasureUsage: a wrong command line is status 2 and one line that names every fault.
func TestMeasureUsage(t *testing.T) {
	for says, args := range map[string][]string{
		"--nodes must be between 1 and 9":                      {"--nodes", "1,10"},
		"--nodes must be between 1 and 9, or of":               {"--nodes", "0+2"},
		"no number of nodes, such as 3 or 1+2":                 {"--nodes", "1+x"},
		"--connections must be between 1 and 1024":             {"--connections", "0"},
		"--duration must be between 1s and 1h; --rounds must":  {"--duration", "999ms", "--rounds", "0"},
		"--pool must be between 1 and 1000":                    {"--pool", "1001"},
		"--idle must be between 1s and 1h; --runs must be bet": {"--idle", "0s", "--runs", "101"},
		"--bogus": {"--bogus"},
		"extra":   {"extra"},
	} {
		var out, complaint strings.Builder
		status := measure(append([]string{"--programs", t.TempDir()}, args...), &out, &complaint)
		if status != exitUsage || strings.Count(complaint.String(), "\n") != 1 || !strings.Contains(complaint.String(), says) || out.Len() > 0 {
			t.Errorf("%v exits %d and says %q, %q", args, status, complaint.String(), out.String())
		}
	}
	var help, complaint strings.Builder
	if status := measure([]string{"--help"}, &help, &complaint); status != 0 || complaint.Len() > 0 {
		t.Errorf("--help exits %d: %s", status, complaint.String())
	}
	benchmarks, err := os.ReadFile("../BENCHMARKS.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"--data", "--nodes", "--connections", "--duration", "--rounds", "--pool", "--idle", "--runs"} {
		if !strings.Contains(help.String(), flag) || !strings.Contains(string(benchmarks), flag) {
			t.Errorf("%s is missing in --help or in BENCHMARKS.md", flag)
		}
	}
}

// sample returns a table of two columns whose rates are multiplied.
func sample(by float64) *table {
	t := &table{title: "Run 1 of 1", machine: "2 × CPU", before: "0.1 0.2 0.3", after: "1.1 1.2 1.3"}
	for n := 1; n <= 2; n++ {
		t.nodes = append(t.nodes, mix{1, n - 1})
		t.fsyncs = append(t.fsyncs, 0.2*float64(n))
		t.add(figure{row: "create", unit: "%.2f", value: by / float64(n), detail: "5 ÷ 10/s"})
		t.add(figure{row: "idle", unit: "%.1f/s", zero: true})
	}
	return t
}

// TestTable: a table has a column for each number of API nodes, and a figure that is missing or has
// errors shows it.
func TestTable(t *testing.T) {
	s := sample(0.5)
	expected := `Run 1 of 1: 2 × CPU; an fsync takes 0.30 ms; load before 0.1 0.2 0.3, after 1.1 1.2 1.3

| | 1 API node | 2 API nodes, 1 with views |
|---|---|---|
| create | 0.50 (5 ÷ 10/s) | 0.25 (5 ÷ 10/s) |
| idle | 0.0/s | 0.0/s |
`
	if text := s.markdown(); text != expected || len(s.failures()) > 0 {
		t.Errorf("%s\nexpected:\n%s", text, expected)
	}
	all := medians([]*table{sample(3), sample(1), sample(2)})
	if text := all.markdown(); !strings.Contains(text, "| create | 2.00 (1.00 to 3.00) | 1.00 (0.50 to 1.50) |\n| idle | 0.0/s (0.0/s to 0.0/s) | 0.0/s (0.0/s to 0.0/s) |") {
		t.Errorf("medians: %s", text)
	}
	s.add(figure{row: "GET", unit: "%.0f/s"})
	s.add(figure{row: "GET", unit: "%.0f/s", value: 7, err: errors.New("1 request failed")})
	text := s.markdown()
	for _, part := range []string{
		"| GET | failed | 7/s, with errors |", "GET, API nodes: 1: nothing was measured", "GET, API nodes: 1+1: 1 request failed",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("%q lacks %q", text, part)
		}
	}
	if failed := medians([]*table{sample(1), s, sample(2)}).failures(); len(s.failures()) != 2 || len(failed) != 0 {
		t.Errorf("%v, %v", s.failures(), failed) // the first run has no such row
	}
}

// TestDirect: the servers of a measured cluster know each other's own addresses, on loopback.
func TestDirect(t *testing.T) {
	c, err := newDirectCluster(t.TempDir(), t.TempDir(), 1, &strings.Builder{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	for i, n := range c.nats {
		file, err := c.natsConfig(n, "127.0.0.1:-1")
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for j, other := range c.nats {
			routed, listens := strings.Contains(string(text), "@"+other.route+`"`), strings.Contains(string(text), `listen: "`+other.route+`"`)
			if routed != (i != j) || listens != (i == j) {
				t.Errorf("%s and %s: %s", n.name, other.name, text)
			}
		}
		if host, _, err := net.SplitHostPort(n.route); err != nil || host != loopback {
			t.Errorf("%s has the routes at %s", n.name, n.route)
		}
	}
	c.nats[0].at = "127.0.0.1:4222"
	if at := c.nats[0].clientOf(c.apis[0]); at != "127.0.0.1:4222" {
		t.Errorf("an API node connects to %s", at)
	}
}
