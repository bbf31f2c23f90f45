package condition_test

import (
	"fmt"
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
		"ands":            fill("true", "&&1==1", ""),
		"empty lists":     fill("[", "[],", "1]==[]"),
		"sums of ands":    fill(strings.Repeat("1==1&&", 50)+"1", "+1", "==1"),
		"orders of ands":  fill(strings.Repeat("1==1&&", 50)+"true", "&&1<2", ""),
		"list of ands":    fill(strings.Repeat("1==1&&", 50)+"1 in [", "1,", "1]"),
		"fields of ands":  fill(strings.Repeat("1==1&&", 100)+"payment", ".a", "==1"),
		"indexes of ands": fill(strings.Repeat("1==1&&", 50)+"true", "&&[1][0]==1", ""),
		"maps of ands":    fill(strings.Repeat("1==1&&", 50)+"{1:1", ",1:1", "}=={}"),
		"macros of ands":  fill(strings.Repeat("1==1&&", 50)+"true", "&&[1].all(a,true)", ""),
		"choices":         fill("true", "&&(true?true:true)", ""),
	}
}

// TestCostOfCompiling: no condition takes much memory to compile, whatever it is (D22.14).
func TestCostOfCompiling(t *testing.T) {
	c := compiler(t)
	c.Compile("true") // the parser prepares its tables once
	most := uint64(0)
	all := costly()
	for piece := range strings.FieldsSeq(`1==1&& 1<2&&1==1&& [1][0]==1&& [1].all(a,a==1)&& 1in[1,1,1]&& (true?1:1)==1&&`) { // near the limit of the weight
		for n := 50; n <= (workflow.MaxCondition-4)/len(piece); n += 50 {
			all[fmt.Sprint(n, " × ", piece)] = strings.Repeat(piece, n) + "true"
		}
	}
	for name, text := range all {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, faults := c.Compile(text)
		runtime.ReadMemStats(&after)
		length := 0
		for _, f := range faults {
			length += len(f.String())
		}
		took := after.TotalAlloc - before.TotalAlloc
		most = max(most, took)
		if took > 5<<20 || length > 8<<10 {
			t.Errorf("%s: %d bytes of memory, %d bytes of faults", name, took, length)
		}
	}
	t.Logf("at most %d bytes", most)
}

// TestHeavyConditions: conditions as people write them, however long, are not too much work to
// check; a condition of comparisons without end is.
func TestHeavyConditions(t *testing.T) {
	c := compiler(t)
	long := func(piece string) string {
		return piece + strings.Repeat(" || "+piece, (workflow.MaxCondition-len(piece))/(len(piece)+4))
	}
	for _, text := range []string{
		long("payment.amount == 1"), long("payment.amount >= 1000"), long(`payment.currencyCode == "EUR"`), long(`payment.orderId.startsWith("a")`),
		long(`payment.currencyCode in ["EUR", "USD", "GBP"] && payment.amount > 10000`), long(`has(payment.customerId) && payment.amount % 10 != 0`),
		`payment.currencyCode in ["EUR"` + strings.Repeat(`,"EUR"`, 320) + "]", long("payment.transactions.exists(t, t.amount == 1)"),
	} {
		if _, faults := c.Compile(text); len(faults) > 0 {
			t.Errorf("%.60s…: %v", text, faults)
		}
	}
	_, faults := c.Compile(costly()["ands"])
	if len(faults) != 1 || faults[0].Line != 1 || faults[0].Column < 600 || !strings.Contains(faults[0].Message, "too many comparisons") {
		t.Errorf("many comparisons: %v", faults)
	}
	if _, faults := c.Stored(costly()["ands"]); len(faults) > 0 { // an earlier build accepted it
		t.Errorf("a stored condition: %v", faults)
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
