package house_test

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	maxFile         = 400
	maxTestFile     = 800
	maxFunction     = 70
	maxTestFunction = 120  // its table counts
	maxRules        = 2500 // lines of code in one folder of domain
	maxFolder       = 20   // Go files, tests aside
)

// exemption matches an exemption with its reason: on the package line for a file, on the func line
// for a function.
var exemption = regexp.MustCompile(`//house:exempt \S+`)

// exempt reports whether a line has an exemption.
func (s source) exempt(line int) bool {
	return exemption.MatchString(strings.Split(s.text, "\n")[line-1])
}

func TestFileSize(t *testing.T) {
	check(t, maxFile, maxTestFile)
	for _, s := range sources(t) {
		limit := maxFile
		if s.isTest() {
			limit = maxTestFile
		}
		if n := strings.Count(s.text, "\n"); n > limit && !s.generated() && !s.exempt(s.set.Position(s.file.Package).Line) {
			t.Errorf("%s has %d lines; %d are the limit", s.path, n, limit)
		}
	}
}

func TestFunctionSize(t *testing.T) {
	check(t, maxFunction, maxTestFunction)
	for _, s := range sources(t) {
		limit := maxFunction
		if s.isTest() {
			limit = maxTestFunction
		}
		for _, d := range s.file.Decls {
			f, is := d.(*ast.FuncDecl)
			if !is || s.generated() {
				continue
			}
			first, last := s.set.Position(f.Pos()).Line, s.set.Position(f.End()).Line
			if n := last - first + 1; n > limit && !s.exempt(first) {
				t.Errorf("%s:%d: %s has %d lines; %d are the limit", s.path, first, f.Name.Name, n, limit)
			}
		}
	}
}

func TestRulesSize(t *testing.T) {
	check(t, maxRules)
	lines := map[string]int{}
	for _, s := range sources(t) {
		if s.top() == "domain" && !s.isTest() && !s.generated() {
			lines[s.dir()] += s.codeLines()
		}
	}
	for dir, n := range lines {
		if n > maxRules {
			t.Errorf("%s has %d lines of code; %d are the limit", dir, n, maxRules)
		}
	}
	if len(lines) < 10 {
		t.Errorf("only %d folders of domain were found", len(lines))
	}
}

// codeLines counts the lines that are neither empty nor comments.
func (s source) codeLines() (n int) {
	for row := range strings.Lines(s.text) {
		if text := strings.TrimSpace(row); text != "" && !strings.HasPrefix(text, "//") {
			n++
		}
	}
	return n
}

func TestFolderSize(t *testing.T) {
	check(t, maxFolder)
	files := map[string]int{}
	for _, s := range sources(t) {
		if !s.isTest() && s.top() != "domain" {
			files[s.dir()]++
		}
	}
	for dir, n := range files {
		if n > maxFolder {
			t.Errorf("%s has %d Go files; %d are the limit", dir, n, maxFolder)
		}
	}
}

const (
	maxResults = 2   // values that a function returns, its error and a last bool aside
	maxComment = 100 // columns of a comment line; a tab counts as four
)

// TestResults checks that a caller sees at the call what the results mean.
func TestResults(t *testing.T) {
	check(t, maxResults)
	for _, s := range sources(t) {
		if s.forTests() || s.generated() {
			continue
		}
		for _, d := range s.file.Decls {
			f, is := d.(*ast.FuncDecl)
			if !is || f.Type.Results == nil {
				continue
			}
			var types []string
			for _, field := range f.Type.Results.List {
				name := ""
				if of, is := field.Type.(*ast.Ident); is {
					name = of.Name
				}
				for range max(1, len(field.Names)) {
					types = append(types, name)
				}
			}
			if last := len(types) - 1; types[last] == "error" {
				types = types[:last]
			}
			values := len(types)
			if values > 0 && types[values-1] == "bool" {
				values--
			}
			twice := false
			for i := 1; i < len(types); i++ {
				twice = twice || types[i] == "bool" && types[i-1] == "bool"
			}
			if values > maxResults || twice {
				t.Errorf("%s: %s returns %d values: give them a type with names", s.at(f.Pos()), f.Name.Name, len(types))
			}
		}
	}
}

// TestComments checks the width of comments. Tables and commands, which stand behind a tab, may be
// wider, and so may a word alone.
func TestComments(t *testing.T) {
	check(t, maxComment)
	for _, s := range sources(t) {
		if s.generated() || strings.Contains(s.path, "/testdata/") {
			continue
		}
		for i, line := range strings.Split(s.text, "\n") {
			text := strings.TrimLeft(line, "\t")
			comment, is := strings.CutPrefix(text, "// ")
			if width := utf8.RuneCountInString(text) + 4*(len(line)-len(text)); is && width > maxComment && strings.Contains(strings.TrimSpace(comment), " ") {
				t.Errorf("%s:%d: %d columns", s.path, i+1, width)
			}
		}
	}
}
