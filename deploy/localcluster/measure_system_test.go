//go:build system

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"payledger/domain/childtest"
)

// TestMeasure measures one API node beside PostgreSQL, a second for each figure: no figure is
// missing, is zero or has errors, and no process and no folder stays.
func TestMeasure(t *testing.T) {
	installed, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(installed) == 0 {
		if os.Getenv("CI") != "" {
			t.Fatal("PostgreSQL is missing")
		}
		t.Log("NOT RUN: PostgreSQL is missing")
		return
	}
	programs, data := t.TempDir(), t.TempDir()
	build := func(folder string, args ...string) {
		command := childtest.Tied(exec.Command("go", append([]string{"build", "-buildvcs=false"}, args...)...))
		command.Dir, command.Env = folder, append(os.Environ(), "GOWORK=off")
		if text, err := command.CombinedOutput(); err != nil {
			t.Fatalf("go build: %v\n%s", err, text)
		}
	}
	build(".", "-o", programs+"/", "payledger/cmd/payledger", "github.com/nats-io/nats-server/v2")
	build("../yardstick", "-o", filepath.Join(programs, "yardstick"), ".")
	var out, said strings.Builder
	status := measure([]string{
		"--programs", programs, "--data", data, "--nodes", "1", "--connections", "2,8", "--duration", "1s", "--rounds", "1", "--idle", "2s",
	}, &out, &said)
	if status != 0 {
		t.Fatalf("exits %d\n%s\n%s", status, said.String(), out.String())
	}
	t.Logf("%s\n%s", said.String(), out.String())
	checkMeasured(t, out.String())
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, process := range processes {
		if text, err := os.ReadFile(process); err == nil && strings.Contains(string(text), data) {
			t.Errorf("this process runs: %q", text)
		}
	}
	if left, err := os.ReadDir(data); err != nil || len(left) > 0 {
		t.Errorf("the data folder has %v, %v", left, err)
	}
}

// checkMeasured checks the table of one API node and two numbers of connections.
func checkMeasured(t *testing.T, out string) {
	t.Helper()
	bounds := map[string][2]float64{ // a figure is above the first and not above the second
		"create ÷ yardstick, 2 connections":                             {0, 100},
		"create ÷ yardstick, 8 connections":                             {0, 100},
		"p99 of a create, 8 connections":                                {0, 60_000},
		"CPU of all API nodes a payment, 8 connections":                 {0, 1000},
		"CPU of the three NATS servers a payment, 8 connections":        {0, 1000},
		"CPU of the yardstick and PostgreSQL a payment, 8 connections":  {0, 1000},
		"GET /payments/{id}, 8 connections":                             {0, 1e6},
		"groups of a create and its capture, all shards":                {3.9, 100},
		"CPU of all API nodes a create with one webhook, 8 connections": {0, 1000},
		"messages of the log of an idle cluster":                        {-1, 1000},
		"messages of its other streams (records of the nodes)":          {-1, 1000},
	}
	seen := 0
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]+) \| ([0-9.]+)([^|]*) \|$`).FindAllStringSubmatch(out, -1) {
		limits, known := bounds[row[1]]
		value, err := strconv.ParseFloat(row[2], 64)
		if !known || err != nil || value <= limits[0] || value > limits[1] || strings.Contains(row[3], "errors") {
			t.Errorf("implausible: %s", row[0])
		}
		seen++
	}
	if seen != len(bounds) || strings.Contains(out, "failed") || !slices.Contains(strings.Split(out, "\n"), "| | 1 API node |") {
		t.Errorf("%d of %d figures:\n%s", seen, len(bounds), out)
	}
}
