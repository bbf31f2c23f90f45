package house_test

import (
	"regexp"
	"testing"
)

// riddles are turns of phrase that a reader must read twice, each with a plain alternative.
var riddles = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`(?i)\bwhoever\b`), "name the reader, the caller, the client"},
	{regexp.MustCompile(`(?i)\b(is|are|was|were|be|been|being|gets?) (told|asked|heard)\b`), "say who sends or requests it"},
	{regexp.MustCompile(`(?i)\b(hears?|heard) of\b`), "receives, learns"},
	{regexp.MustCompile(`(?i)\bthat which\b`), "name the thing"},
	{regexp.MustCompile(`(?i)\btells? (whether|if|what|which|that|how)\b`), "reports whether, returns"},
	{regexp.MustCompile(`(?i)\bsays (whether|if|what|which|how)\b`), "reports whether, returns"},
	{regexp.MustCompile(`(?:^|[.:;] )What\b[^?.]*\.`), "name the subject of the sentence"},
	{regexp.MustCompile(`(?:^|[.:;] )(?:One|Ones) (?:that|who|whose|which)\b`), "name the subject of the sentence"},
	{regexp.MustCompile(`(?i)\bbehind (our|the service's) back\b`), "out of band"},
	{regexp.MustCompile(`(?i)\bno more of it\b|\bhas come to\b|\bmust be told\b`), "say it directly"},
}

func TestLanguage(t *testing.T) {
	check(t)
	for _, s := range sources(t) {
		if s.generated() || s.dir() == house && s.isTest() {
			continue
		}
		for _, group := range s.file.Comments {
			text := group.Text()
			for _, r := range riddles {
				if found := r.pattern.FindString(text); found != "" {
					t.Errorf("%s: %q: %s", s.at(group.Pos()), found, r.instead)
				}
			}
		}
	}
}
