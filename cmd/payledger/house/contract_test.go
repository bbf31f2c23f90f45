package house_test

import (
	"regexp"
	"strings"
	"testing"
)

// pointer matches a reference to the contract: §5.2, D13, D14.3, I2.
var pointer = regexp.MustCompile(`§[0-9]+(?:\.[0-9]+)?|\b[DI][0-9]{1,2}(?:\.[0-9]{1,2})?\b`)

// heading matches the heading of a rule of the contract.
var heading = regexp.MustCompile(`(?m)^#{2,4} (§[0-9]+(?:\.[0-9]+)?|[DI][0-9]{1,2})\b`)

// numbered matches the beginning of a numbered part of a rule: D14.3.
var numbered = regexp.MustCompile(`(?m)^- \*\*(D[0-9]{1,2}\.[0-9]{1,2})\*\* `)

// notYet are the rules that no code points at, each with the reason.
var notYet = map[string]string{
	"§2":   "its parts are pointed at",
	"§3":   "its parts are pointed at",
	"§2.7": "errors are pointed at as D3",
}

func TestContract(t *testing.T) {
	check(t)
	rules, used := map[string]bool{}, map[string]string{}
	for _, m := range heading.FindAllStringSubmatch(tree(t)["httpapi/CONTRACT.md"], -1) {
		rules[m[1]] = true
	}
	if len(rules) < 45 {
		t.Fatalf("CONTRACT.md has headings for %d rules only", len(rules))
	}
	parts := map[string]bool{}
	for _, m := range numbered.FindAllStringSubmatch(tree(t)["httpapi/CONTRACT.md"], -1) {
		if parts[m[1]] {
			t.Errorf("CONTRACT.md has %s twice", m[1])
		}
		parts[m[1]] = true
	}
	for _, s := range sources(t) {
		if s.dir() == house {
			continue
		}
		for _, group := range s.file.Comments {
			text := group.Text()
			if !mayPoint(text) {
				continue
			}
			for _, p := range pointer.FindAllString(text, -1) {
				used[p] = s.path
			}
		}
	}
	for p, path := range used {
		if whole, _, part := strings.Cut(p, "."); part && strings.HasPrefix(p, "D") {
			used[whole] = path
			if !parts[p] {
				t.Errorf("%s points at %s, which CONTRACT.md does not have", path, p)
			}
		} else if !resolves(rules, p) {
			t.Errorf("%s points at %s, which CONTRACT.md does not have", path, p)
		}
	}
	for rule := range rules {
		path, pointed := used[rule]
		if !pointed && notYet[rule] == "" {
			t.Errorf("nothing points at %s", rule)
		}
		if pointed && notYet[rule] != "" {
			t.Errorf("%s points at %s: take it off the list of rules without a reference", path, rule)
		}
	}
	for rule := range notYet {
		if !rules[rule] {
			t.Errorf("%s is awaited, but CONTRACT.md does not have it", rule)
		}
	}
}

// resolves reports whether the contract has a rule, or parts of it.
func resolves(rules map[string]bool, rule string) bool {
	for r := range rules {
		if r == rule || strings.HasPrefix(r, rule+".") {
			return true
		}
	}
	return false
}

// mayPoint reports whether a text has the first two characters of a pointer.
func mayPoint(text string) bool {
	for i := range len(text) - 1 {
		if c, next := text[i], text[i+1]; c == "§"[0] || (c == 'D' || c == 'I') && '0' <= next && next <= '9' {
			return true
		}
	}
	return false
}
