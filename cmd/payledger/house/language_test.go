package house_test

import (
	"regexp"
	"strings"
	"testing"
)

// riddles are turns of phrase that a reader must read twice, each with a plain alternative. A text
// that matches has one of the words, in lower case.
var riddles = []struct {
	words   []string
	pattern *regexp.Regexp
	instead string
}{
	{[]string{"whoever"}, regexp.MustCompile(`(?i)\bwhoever\b`), "name the reader, the caller, the client"},
	{[]string{"told", "asked", "heard"}, regexp.MustCompile(`(?i)\b(is|are|was|were|be|been|being|gets?) (told|asked|heard)\b`), "say who sends or requests it"},
	{[]string{"hear"}, regexp.MustCompile(`(?i)\b(hears?|heard) of\b`), "receives, learns"},
	{[]string{"that which"}, regexp.MustCompile(`(?i)\bthat which\b`), "name the thing"},
	{[]string{"tell"}, regexp.MustCompile(`(?i)\btells? (whether|if|what|which|that|how)\b`), "reports whether, returns"},
	{[]string{"says "}, regexp.MustCompile(`(?i)\bsays (whether|if|what|which|how)\b`), "reports whether, returns"},
	{[]string{"what"}, regexp.MustCompile(`(?:^|[.:;] )What\b[^?.]*\.`), "name the subject of the sentence"},
	{[]string{"one that", "one who", "one which", "ones that", "ones who", "ones which"}, regexp.MustCompile(`(?:^|[.:;] )(?:One|Ones) (?:that|who|whose|which)\b`), "name the subject of the sentence"},
	{[]string{"back"}, regexp.MustCompile(`(?i)\bbehind (our|the service's) back\b`), "out of band"},
	{[]string{"no more of it", "has come to", "must be told"}, regexp.MustCompile(`(?i)\bno more of it\b|\bhas come to\b|\bmust be told\b`), "say it directly"},
}

func TestLanguage(t *testing.T) {
	check(t)
	for _, s := range sources(t) {
		if s.generated() || s.dir() == house && s.isTest() {
			continue
		}
		for _, group := range s.file.Comments {
			text := group.Text()
			lower := strings.ToLower(text)
			for _, r := range riddles {
				if !hasOne(lower, r.words...) {
					continue
				}
				if found := r.pattern.FindString(text); found != "" {
					t.Errorf("%s: %q: %s", s.at(group.Pos()), found, r.instead)
				}
			}
		}
	}
}
