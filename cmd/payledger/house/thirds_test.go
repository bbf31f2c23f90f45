package house_test

import (
	"path"
	"strings"
	"testing"
)

func TestThirds(t *testing.T) {
	check(t)
	_, thirds, found := strings.Cut(tree(t)[".ci/run"], "\nthirds=(\n")
	thirds, _, ended := strings.Cut(thirds, "\n)\n")
	if !found || !ended {
		t.Fatal(".ci/run has no thirds")
	}
	listed := map[string]bool{}
	for _, folder := range strings.Fields(strings.ReplaceAll(thirds, `"`, " ")) {
		listed[path.Clean(folder)] = true
	}
	seen := 0
	for _, s := range sources(t) {
		tagged := strings.HasPrefix(s.text, "//go:build system")
		if !s.isTest() || !tagged && !strings.Contains(s.text, "seedtest.Sampled()") || s.dir() == house {
			continue // a helper has its whole size in the tests of the packages that use it
		}
		seen++
		if !listed[s.dir()] {
			t.Errorf("%s has tests that need the tag system for their whole size: .ci/run must have its folder in a third", s.path)
		}
	}
	if seen < 50 {
		t.Errorf("only %d files of whole-system tests were found", seen)
	}
}
