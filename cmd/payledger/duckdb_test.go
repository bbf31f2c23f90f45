package main

import (
	"os/exec"
	"strings"
	"testing"

	"payledger/httpapi/docs/docstest"
)

// duckViews returns the guide's statements that make one view of each table's files.
func duckViews(t testing.TB) string {
	t.Helper()
	views, is := strings.CutPrefix(docstest.Block(t, docstest.Guides+"analysts.md", "sql"), "-- DuckDB\n")
	if !is {
		t.Fatal("the guide has no statements for DuckDB")
	}
	return views
}

// duckAnswers returns the answers of DuckDB, one line of JSON for each query, from the files of an exported folder; false where
// DuckDB cannot be built.
func duckAnswers(t testing.TB, dir string, queries []string) (answers []string, there bool) {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		return nil, toolMissing(t, "gcc is not installed")
	}
	built, there := buildClient(t, "duckdb")
	if !there {
		return nil, false
	}
	program := exec.CommandContext(t.Context(), built, duckViews(t), dir)
	program.Stdin = strings.NewReader(strings.Join(queries, "\n"))
	var said strings.Builder
	program.Stderr = &said
	out, err := program.Output()
	if err != nil {
		t.Fatalf("DuckDB: %v: %s", err, said.String())
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n"), true
}
