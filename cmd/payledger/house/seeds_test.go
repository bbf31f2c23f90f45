package house_test

import (
	"regexp"
	"strings"
	"testing"
)

// otherSeeds finds seeds that a test does not have from package seedtest.
var otherSeeds = regexp.MustCompile(`rapid\.Check\(|(?i)seed\w*\s*:?=[^\n]*time\.Now\(`)

func TestSeeds(t *testing.T) {
	check(t)
	users := 0
	for name, text := range tree(t) {
		if !strings.HasSuffix(name, "_test.go") || name == house+"/seeds_test.go" {
			continue
		}
		if hasOne(text, "rapid.Check(", "time.Now(") {
			for _, found := range otherSeeds.FindAllString(text, -1) {
				t.Errorf("%s: %s: use package seedtest", name, found)
			}
		}
		if strings.Contains(text, "seedtest.") {
			users++
		}
	}
	if users < 20 {
		t.Errorf("%d tests use package seedtest; they were not found", users)
	}
}
