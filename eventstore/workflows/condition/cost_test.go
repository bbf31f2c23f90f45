package condition_test

import (
	"runtime"
	"strings"
	"testing"

	"payledger/domain/workflow"
)

// costly are conditions that were made to cost the compiler as much as possible.
func costly() map[string]string {
	fill := func(before, piece, after string) string {
		return before + strings.Repeat(piece, (workflow.MaxCondition-len(before)-len(after))/len(piece)) + after
	}
	return map[string]string{
		"brackets":        fill("", "(", ""),
		"lists":           fill("", "[", ""),
		"balanced":        strings.Repeat("(", 900) + "1" + strings.Repeat(")", 900),
		"unknown names":   fill("true", "||abc", ""),
		"signs":           fill("", "!", "true"),
		"no operators":    fill("", "a ", ""),
		"strange signs":   fill("", "§", ""),
		"ternaries":       fill("", "a?b:", "c"),
		"open ternaries":  fill("", "a?", "c"),
		"quotes":          fill("", "'", ""),
		"maps":            fill("", "{1:", ""),
		"sums":            fill("1", "+1", "==1"),
		"mixed sums":      fill("1", "+''", ""),
		"comparisons":     fill("1", "==1", ""),
		"calls":           fill("", "f(", ""),
		"members":         fill("payment", ".a", ""),
		"macros":          fill("true", "||[1].all(a,a==1)", ""),
		"nested macros":   fill("", "[1].all(a,", ""),
		"regular":         fill("'a'.matches('", "(a*)*", "')"),
		"a list of lists": fill("[", "[1],", "1]"),
		"list elements":   fill("[", "1,", "1]==[]"),
		"timestamps":      fill("true", "||timestamp('x')==a", ""),
	}
}

// TestCostOfCompiling: no condition takes much memory to compile, whatever it is (D22.14).
func TestCostOfCompiling(t *testing.T) {
	c := compiler(t)
	c.Compile("true") // the parser prepares its tables once
	for name, text := range costly() {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, faults := c.Compile(text)
		runtime.ReadMemStats(&after)
		length := 0
		for _, f := range faults {
			length += len(f.String())
		}
		took := after.TotalAlloc - before.TotalAlloc
		t.Logf("%s: %d bytes, %d faults of %d bytes", name, took, len(faults), length)
		if took > 16<<20 || length > 8<<10 {
			t.Errorf("%s: %d bytes of memory, %d bytes of faults", name, took, length)
		}
	}
}

func BenchmarkCostOfCompiling(b *testing.B) {
	c := compiler(b)
	for name, text := range costly() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.Compile(text)
			}
		})
	}
}
