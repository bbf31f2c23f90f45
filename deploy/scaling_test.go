package deploy_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var writeScaling = flag.Bool("writescaling", false, "write the tables of SCALING.md anew")

// measured are the figures of SCALING.md. The tables of the document are made from them, and the
// figures are nowhere else.
var measured = inputs{
	events: figure{"events of a payment", 8, "", bytesCommand},

	api:  figure{"CPU of the API nodes for a payment, with one node", 0.587, "ms", nodesCommand},
	nats: figure{"CPU of three NATS servers for a payment, with one API node", 0.413, "ms", nodesCommand},

	log:         figure{"log, on each NATS server, for a payment", 6_400, "B", bytesCommand},
	deliveries:  figure{"deliveries, on each NATS server, for a payment", 929, "B", bytesCommand},
	secrets:     figure{"secrets, on each NATS server, for a payment", 468, "B", bytesCommand},
	checkpoints: figure{"checkpoints, on each NATS server, for a payment", 2, "B", bytesCommand},
	tips:        figure{"tip store, on each API node, for a payment", 6_100, "B", bytesCommand},
	views:       figure{"views, on each API node, for a payment", 700, "B", growthCommand},

	tipRate:  figure{"an API node makes its tip store from the log", 27_000, "events/s", growthCommand},
	viewRate: figure{"an API node makes its views from the log, of 8,000,000 events", 42_893, "events/s", "go test ./projections -run - -bench 'Rebuild$' -benchtime 1x -benchlog DIR"},
	commit:   figure{"an empty group on three replicas is acknowledged, with one reader", 3.8, "ms", latestCommand},
	idle:     figure{"a closed segment as an idle stream with three replicas", 0.08 / 108, "cores", "the design's measurement of 108 streams, 8 % of a core"},
	verify:   figure{"`verify`", 63_792, "events/s", "go test ./eventstore/verify -run - -bench 'Verify$' -benchtime 1x -benchlog DIR"},
	backup:   figure{"`backup`", 34_800, "events/s", "go test ./eventstore/backup -run - -bench Backup -benchtime 1x"},
}

// simulated are the figures of a service with 10,000,000 aggregates. The model does not use them.
var simulated = []figure{
	{"log of 10,000,000 aggregates, small orders, written many at once, for a payment", 2_120, "B", simulationCommand},
	{"resident memory of an API node with 10,000,000 aggregates, under load", 486, "MiB", simulationCommand},
	{"at most, while it makes all views", 994, "MiB", simulationCommand},
	{"its start after SIGTERM", 0.87, "s", simulationCommand},
	{"its start after kill -9", 1.22, "s", simulationCommand},
}

const (
	bytesCommand      = "go test -tags system ./cmd/payledger/systemtest/load -run TestBytes -v -weighed 2000"
	simulationCommand = "go test -tags system ./cmd/payledger/systemtest/load -run TestGrowth -v -grown 2500000 -timeout 3h"
	nodesCommand      = "go test -tags system ./deploy/localcluster -run - -bench Nodes -benchtime 3000x"
	growthCommand     = "go test -tags system ./cmd/payledger/systemtest/load -run TestGrowth -v -grown 100000 -timeout 3h"
	latestCommand     = "go test ./eventstore/engine -run - -bench Latest"
)

// rates are the payments/s of the document.
var rates = []float64{10, 1_000, 50_000}

// tables returns the document's two tables.
func tables(in inputs) string {
	var b strings.Builder
	b.WriteString("| figure | value | command |\n|---|---|---|\n")
	for _, f := range append(in.all(), simulated...) {
		command := f.command
		if strings.HasPrefix(command, "go test") {
			command = "`" + command + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", f.what, f, command)
	}
	b.WriteString("\n| need")
	for _, rate := range rates {
		fmt.Fprintf(&b, " | %s payments/s", grouped(int64(rate)))
	}
	b.WriteString(" |\n|---|---|---|---|\n")
	for _, r := range in.rows() {
		b.WriteString("| " + r.label)
		for _, rate := range rates {
			b.WriteString(" | " + r.text(in.at(rate)))
		}
		b.WriteString(" |\n")
	}
	return b.String()
}

// TestScaling: the tables of SCALING.md are those of the model and the measured figures.
func TestScaling(t *testing.T) {
	text, err := os.ReadFile("SCALING.md")
	if err != nil {
		t.Fatal(err)
	}
	begin, rest, found := strings.Cut(string(text), "<!-- tables: TestScaling writes them -->\n")
	there, end, closed := strings.Cut(rest, "<!-- end of the tables -->\n")
	if !found || !closed {
		t.Fatal("SCALING.md has no place for the tables")
	}
	want := tables(measured)
	if *writeScaling {
		text := begin + "<!-- tables: TestScaling writes them -->\n" + want + "<!-- end of the tables -->\n" + end
		if err := os.WriteFile("SCALING.md", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if there != want {
		t.Errorf("go test ./deploy -run TestScaling -writescaling writes the tables of SCALING.md anew; want\n%s", want)
	}
}

// TestScalingModel compares the model with an example that was computed by hand.
func TestScalingModel(t *testing.T) {
	in := measured
	for f, value := range map[*figure]float64{
		&in.events: 10, &in.api: 4, &in.nats: 6, &in.log: 8000, &in.deliveries: 1000, &in.secrets: 500, &in.checkpoints: 500,
		&in.tips: 3000, &in.views: 1000, &in.tipRate: 40_000, &in.viewRate: 60_000, &in.commit: 5, &in.idle: 0.001, &in.verify: 50_000, &in.backup: 25_000,
	} {
		f.value = value
	}
	// A node applies 40,000 × 0.5 events/s, that is 2,000 payments/s in a cell. 5,000 payments/s
	// are three cells of 1,666.7.
	n := in.at(5_000)
	for what, pair := range map[string][2]float64{
		"cells":         {float64(n.cells), 3},
		"servers":       {float64(n.servers), 9},
		"server cores":  {n.serverCores, 1666.667 * 2 / 1000},
		"nodes":         {float64(n.nodes), 3 * (1 + 1)},                          // 6.67 cores of requests, of 8 - 0.69
		"node cores":    {n.nodeCores, 16666.67/24_000 + 1666.667*4/1000/2},       // applying, and half of the requests
		"shard":         {in.shardEvents(), 1e4 / 800 * 200},                      // events of 800 bytes, 200 groups a second
		"shards":        {float64(n.shards), 3 * math.Ceil(16666.67/(2500*0.5))},  // 14 in each cell
		"server, month": {n.server.after(month), 1666.667 * 10_000 * 30 * 86_400}, // bytes
		"server, year":  {n.server.after(year), 1666.667 * (9_000*365 + 1_000*90) * 86_400},
		"node, year":    {n.node.after(year), 1666.667 * 4_000 * 365 * 86_400},
		"segments":      {n.segments, 1666.667 * 8000 * 86_400 / (128 * 1024 * 1024)}, // a day
		"cells of 10/s": {float64(in.at(10).cells), 1},
		"nodes of 10/s": {float64(in.at(10).nodes), 2},
	} {
		if math.Abs(pair[0]-pair[1]) > 1e-4*pair[1] {
			t.Errorf("%s: %g, by hand %g", what, pair[0], pair[1])
		}
	}
	if limit, what := in.cellLimit(); limit != 2000 || !strings.Contains(what, "API node") {
		t.Errorf("a cell takes %g payments/s: %s", limit, what)
	}
	in.nats.value = 60 // 20 ms on each server
	if limit, what := in.cellLimit(); limit != 400 || !strings.Contains(what, "NATS") {
		t.Errorf("with slow servers a cell takes %g payments/s: %s", limit, what)
	}
	for got, want := range map[string]string{
		size(1.5e12): "1.5 TB", size(999.96e9): "1 TB", count(12_345): "12,345", count(2.592e9): "2,590 million", count(4e5): "400,000", count(25.92e6): "25.9 million",
		duration(90): "90 s", duration(3 * 3600): "3 h", duration(86_400 * 3): "3 days", duration(600): "10 min",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// ownFlag matches the flags of go test.
var ownFlag = regexp.MustCompile(`^(run|bench|benchtime|timeout|tags|v)$`)

// measuring finds the test or the benchmark of a command, without the first word of its name.
var measuring = regexp.MustCompile(`-(?:run Test|bench '?)(\w+)`)

// TestScalingCommands: the commands that measure the figures name tests, benchmarks and flags that
// exist.
func TestScalingCommands(t *testing.T) {
	for _, f := range append(measured.all(), simulated...) {
		words := strings.Fields(f.command)
		if f.value <= 0 {
			t.Errorf("%s was not measured", f.what)
		}
		if words[0] != "go" {
			continue
		}
		folder := slices.IndexFunc(words, func(word string) bool { return strings.HasPrefix(word, "./") })
		if folder < 0 {
			t.Errorf("%s: no package", f.command)
			continue
		}
		files, err := filepath.Glob(filepath.Join("..", words[folder], "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		name := measuring.FindStringSubmatch(f.command)
		if name == nil {
			t.Errorf("%s: no test and no benchmark", f.command)
			continue
		}
		var source strings.Builder
		tagged := false
		for _, file := range append(files, "../eventstore/benchlog/benchlog.go") {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			source.Write(text)
			tagged = tagged || strings.HasPrefix(string(text), "//go:build system\n") && strings.Contains(string(text), name[1]+"(")
		}
		if said := strings.Contains(f.command, " -tags system "); said != tagged {
			t.Errorf("%s: its test has the tag: %v", f.command, tagged)
		}
		for i, word := range words[1:] {
			before, name := words[i], strings.Trim(word, "'$")
			switch {
			case len(word) > 1 && word[0] == '-':
				flag := word[1:]
				if !ownFlag.MatchString(flag) && !strings.Contains(source.String(), fmt.Sprintf("%q", flag)) {
					t.Errorf("%s: no flag %s", f.command, word)
				}
			case before == "-bench" && !strings.Contains(source.String(), "func Benchmark"+name+"("):
				t.Errorf("%s: no benchmark %s", f.command, name)
			case before == "-run" && name != "-" && !strings.Contains(source.String(), "func "+name+"("):
				t.Errorf("%s: no test %s", f.command, name)
			}
		}
	}
}
