package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// duckViews returns the README's statements that make one view of each table's files.
func duckViews(t testing.TB) string {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, views, found := strings.Cut(string(readme), "```sql\n-- DuckDB\n")
	if !found {
		t.Fatal("the README has no statements for DuckDB")
	}
	views, _, _ = strings.Cut(views, "```")
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
