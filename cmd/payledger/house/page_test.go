package house_test

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rule is one rule of the page: the comment of doc.go.
type rule struct {
	test, title, text, reason, remedy string
}

var (
	// ruleHeading matches the heading of a rule: the test that checks it, and its title.
	ruleHeading = regexp.MustCompile(`^(Test\w+): (.+)$`)
	// digits matches a number.
	digits = regexp.MustCompile(`[0-9]+`)
)

// page returns the rules in the order of doc.go. Each has three paragraphs: the rule, "Reason:" and
// "What to do:".
func page(t *testing.T) []rule {
	t.Helper()
	i := slices.IndexFunc(sources(t), func(s source) bool { return s.path == house+"/doc.go" })
	if i < 0 {
		t.Fatal("doc.go was not found")
	}
	var rules []rule
	for _, section := range strings.Split(sources(t)[i].file.Doc.Text(), "\n# ")[1:] {
		heading, body, _ := strings.Cut(section, "\n")
		m := ruleHeading.FindStringSubmatch(heading)
		if m == nil {
			t.Fatalf("doc.go: the heading %q does not begin with the test of the rule", heading)
		}
		var paragraphs []string
		for _, p := range strings.Split(strings.TrimSpace(body), "\n\n") {
			paragraphs = append(paragraphs, strings.ReplaceAll(p, "\n", " "))
		}
		r := rule{test: m[1], title: m[2]}
		complete := len(paragraphs) == 3
		if complete {
			var reason, remedy bool
			r.text = paragraphs[0]
			r.reason, reason = strings.CutPrefix(paragraphs[1], "Reason: ")
			r.remedy, remedy = strings.CutPrefix(paragraphs[2], "What to do: ")
			complete = reason && remedy
		}
		if !complete {
			t.Fatalf("doc.go: %s does not have the three paragraphs of a rule", r.test)
		}
		rules = append(rules, r)
	}
	return rules
}

// check begins the test of a rule. If the test fails, it ends with the rule, its reason and what to
// do, as the page has them. The page must name the limits.
func check(t *testing.T, limits ...int) {
	t.Helper()
	rules := page(t)
	i := slices.IndexFunc(rules, func(r rule) bool { return r.test == t.Name() })
	if i < 0 {
		t.Fatalf("doc.go has no rule for %s", t.Name())
	}
	r := rules[i]
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("The rule: %s\nReason: %s\nWhat to do: %s", r.text, r.reason, r.remedy)
		}
	})
	for _, limit := range limits {
		if named := digits.FindAllString(strings.ReplaceAll(r.text, ",", ""), -1); !slices.Contains(named, fmt.Sprint(limit)) {
			t.Errorf("doc.go does not name the limit %d of %s", limit, t.Name())
		}
	}
}

// TestPage compares the page with the tests of this folder.
func TestPage(t *testing.T) {
	check(t)
	listed := map[string]bool{}
	for _, r := range page(t) {
		if listed[r.test] {
			t.Errorf("doc.go has two rules for %s", r.test)
		}
		listed[r.test] = true
	}
	for _, s := range sources(t) {
		if s.dir() != house {
			continue
		}
		if !s.isTest() && path.Base(s.path) != "doc.go" {
			t.Errorf("%s is no test", s.path)
		}
		for _, d := range s.file.Decls {
			f, is := d.(*ast.FuncDecl)
			if !is || !strings.HasPrefix(f.Name.Name, "Test") {
				continue
			}
			if !listed[f.Name.Name] {
				t.Errorf("%s: doc.go has no rule for %s", s.at(f.Pos()), f.Name.Name)
			}
			delete(listed, f.Name.Name)
			if !beginsWithCheck(f) {
				t.Errorf("%s: %s does not begin with check, so its failure gives no reason", s.at(f.Pos()), f.Name.Name)
			}
		}
	}
	for name := range listed {
		t.Errorf("doc.go names %s, which does not exist", name)
	}
}

// beginsWithCheck reports whether the first statement of a test calls check.
func beginsWithCheck(f *ast.FuncDecl) bool {
	if len(f.Body.List) == 0 {
		return false
	}
	first, is := f.Body.List[0].(*ast.ExprStmt)
	if !is {
		return false
	}
	call, is := first.X.(*ast.CallExpr)
	if !is {
		return false
	}
	name, is := call.Fun.(*ast.Ident)
	return is && name.Name == "check"
}
