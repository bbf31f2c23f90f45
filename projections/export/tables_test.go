package export_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"payledger/projections/export"
)

var update = flag.Bool("update", false, "write the guide of the tables anew")

func microseconds(n int64) string {
	return time.UnixMicro(n).UTC().Format("2006-01-02T15:04:05.000000Z")
}

// guide is a page of /docs.
const guide = "../../httpapi/docs/guides/tables.md"

// TestTables checks that the guide tables.md agrees with the row types, and that every column has a
// description.
func TestTables(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Tables of an export\n\nWhat each column means in the files that payledger export writes.\n\n" +
		"Amounts are minor units: 1050 EUR with exponent 2 is 10.50 EUR. Times are UTC. [For analysts](analysts.md) shows the command, and queries.\n")
	for _, table := range export.Tables() {
		fmt.Fprintf(&b, "\n## %s\n\n%s Primary key: `%s`.\n\n| column | type | meaning |\n|---|---|---|\n", table.Name, table.Doc, strings.Join(table.Keys, "`, `"))
		for _, c := range table.Columns {
			if c.Doc == "" {
				t.Errorf("%s.%s has no meaning", table.Name, c.Name)
			}
			kind := string(c.Kind)
			if c.Optional {
				kind += ", may be null"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.Name, kind, c.Doc)
		}
	}
	if *update {
		if err := os.WriteFile(guide, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	found, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	if string(found) != b.String() {
		t.Error("tables.md is not what the row types say: go test ./projections/export -update")
	}
}
