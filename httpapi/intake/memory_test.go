package intake

import "testing"

// TestBudget: an owner may hold as much as it leaves to others, whatever they hold, and released
// memory is available again.
func TestBudget(t *testing.T) {
	b := NewBudget(100)
	for _, step := range []struct {
		who  string
		n    int64
		fits bool
	}{
		{"one", 50, true}, {"one", 1, false}, {"other", 26, false}, {"other", 25, true}, {"other", 1, false}, {"one", 1, false}, {"third", 12, true},
	} {
		if b.Take(step.who, step.n) != step.fits {
			t.Fatalf("%s takes %d: %v, %d left", step.who, step.n, !step.fits, b.left)
		}
	}
	b.Give("one", 50)
	if !b.Take("third", 19) {
		t.Error("what was given back cannot be taken")
	}
	b.Owe("third", 200)
	if b.Take("fourth", 1) {
		t.Error("an overdrawn budget has room")
	}
	b.Give("third", 231)
	b.Give("other", 25)
	if b.left != 100 || len(b.by) != 0 {
		t.Errorf("%d are left, %v remembered", b.left, b.by)
	}
	var none *Budget
	if !none.Take("one", 1<<40) {
		t.Error("no budget has a bound")
	}
	none.Owe("one", 1)
	none.Give("one", 1<<40)
}
