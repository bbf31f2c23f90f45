package house_test

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// forbidden lists words that must not appear, each with the reason. A text without any of the
// needles cannot match.
var forbidden = []struct {
	needles []string
	pattern *regexp.Regexp
	reason  string
}{
	{[]string{"time.Sleep("}, regexp.MustCompile(`time\.Sleep\(`), "wait for a signal"},
	{[]string{".Skip"}, regexp.MustCompile(`\b(t|b|f|tb)\.Skip(f|Now)?\(`), "a test that does not run shows nothing"},
	{[]string{"TODO", "FIXME", "XXX"}, regexp.MustCompile(`\b(TODO|FIXME|XXX)\b([^"]|$)`), "finish it or leave it out"}, // "XXX" is also a currency
	{[]string{"/work/", "/tmp/", "/root/", "/home/"}, regexp.MustCompile(`(^|[\s"'(=])/(work|tmp|root|home)/[a-zA-Z]`), "a path of some machine"},
	{[]string{"golang.org", "npmjs", "debian"}, regexp.MustCompile(`(proxy|sum)\.golang\.org|registry\.npmjs|deb\.debian`), "a registry's host"},
	{
		[]string{"DESIGN", "STYLE", "service.md", "supplement.md"}, regexp.MustCompile(`\b(DESIGN|STYLE)\b|\b(service|supplement)\.md\b`),
		"a document that is not in the repository; say it, or point at CONTRACT.md",
	},
	{[]string{"assert "}, regexp.MustCompile(`(?m)^(//)?[ \t]*assert [^\n]*(==|!=|<|>|\()`), "python3 -O leaves asserts out: raise an error"},
}

func TestForbiddenWords(t *testing.T) {
	check(t)
	kinds := []string{".go", ".py", ".md", ".yaml", ".yml", ".sh", ".mod", ".json", ".service", ".conf", ""}
	for file, text := range tree(t) {
		if !slices.Contains(kinds, path.Ext(file)) || strings.Contains(file, "testdata/") && path.Ext(file) != ".py" || file == house+"/words_test.go" {
			continue
		}
		for _, f := range forbidden {
			if !slices.ContainsFunc(f.needles, func(n string) bool { return strings.Contains(text, n) }) {
				continue
			}
			if at := f.pattern.FindStringIndex(text); at != nil {
				t.Errorf("%s:%d: %q: %s", file, 1+strings.Count(text[:at[1]], "\n"), text[at[0]:at[1]], f.reason)
			}
		}
	}
}
