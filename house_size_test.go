package payledger_test

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"
)

// Sizes, as a ratchet.
const (
	maxFile     = 400
	maxTestFile = 800
	maxFunction = 70
	maxTable    = 120  // a test's function: its table counts
	maxDomain   = 6300 // lines of code in all of domain; comments, empty lines, tests and generated files aside
)

// exemption matches an exemption with its reason: on the package line for a file, on the func line for a function.
var exemption = regexp.MustCompile(`//house:exempt \S+`)

func TestSizes(t *testing.T) {
	domainLines := 0
	for _, s := range sources(t) {
		if s.generated() {
			continue
		}
		rows := strings.Split(s.text, "\n")
		exempt := func(line int) bool { return exemption.MatchString(rows[line-1]) }
		lines, file, function := len(rows)-1, maxFile, maxFunction
		if s.isTest() {
			file, function = maxTestFile, maxTable
		} else if s.top() == "domain" {
			domainLines += codeLines(rows)
		}
		if lines > file && !exempt(s.set.Position(s.file.Package).Line) {
			t.Errorf("%s has %d lines; %d are the limit", s.path, lines, file)
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			first, last := s.set.Position(f.Pos()).Line, s.set.Position(f.End()).Line
			if n := last - first + 1; n > function && !exempt(first) {
				t.Errorf("%s:%d: %s has %d lines; %d are the limit", s.path, first, f.Name.Name, n, function)
			}
		}
	}
	if domainLines > maxDomain {
		t.Errorf("domain has %d lines; past %d, rules are leaking in", domainLines, maxDomain)
	}
}

// codeLines counts the lines that are neither empty nor comments.
func codeLines(rows []string) (n int) {
	for _, row := range rows {
		if text := strings.TrimSpace(row); text != "" && !strings.HasPrefix(text, "//") {
			n++
		}
	}
	return n
}
