package domain

import (
	_ "embed"
	"slices"
	"strings"
)

// enumsText has a line for each enumeration of the contract: its name and its values.
// TestEnumsAreGenerated makes it from testdata/enums.json.
//
//go:embed enums.txt
var enumsText string

var enums = loadEnums(enumsText)

func loadEnums(text string) map[string][]string {
	all := map[string][]string{}
	for line := range strings.Lines(text) {
		name, values, _ := strings.Cut(line, ":")
		all[name] = strings.Fields(values)
	}
	return all
}

// Enum returns the values of an enumeration of the contract, in its order; nil for an unknown name.
func Enum(name string) []string { return slices.Clone(enums[name]) }
