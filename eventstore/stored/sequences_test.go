package stored

import "testing"

func TestSequences(t *testing.T) {
	s := Sequences{}
	if s.Lowest() != 0 {
		t.Error("the empty set")
	}
	for _, seq := range []uint64{70, 63, 64, 5000, 1 << 40} {
		s.Add(seq)
	}
	s.Remove(63)
	s.Remove(9999)
	if s.Lowest() != 64 || s.Has(63) || !s.Has(70) || !s.Has(1<<40) {
		t.Errorf("%d: %v", s.Lowest(), s)
	}
}
