package stored

// Sequences is a set of sequences: a bit each, in pages of 2,048. A page without a sequence is
// dropped.
type Sequences map[uint64]*[pageBits / 64]uint64

const pageBits = 2048

// Add adds a sequence.
func (s Sequences) Add(seq uint64) {
	page := s[seq/pageBits]
	if page == nil {
		page = new([pageBits / 64]uint64)
		s[seq/pageBits] = page
	}
	page[seq%pageBits/64] |= 1 << (seq % 64)
}

// Remove removes a sequence, which may not be in the set.
func (s Sequences) Remove(seq uint64) {
	page := s[seq/pageBits]
	if page == nil {
		return
	}
	if page[seq%pageBits/64] &^= 1 << (seq % 64); *page == [pageBits / 64]uint64{} {
		delete(s, seq/pageBits)
	}
}

// Has reports whether the set has a sequence.
func (s Sequences) Has(seq uint64) bool {
	page := s[seq/pageBits]
	return page != nil && page[seq%pageBits/64]&(1<<(seq%64)) != 0
}

// Lowest returns the lowest sequence, 0 if there is none.
func (s Sequences) Lowest() (lowest uint64) {
	for number := range s {
		if lowest != 0 && number > lowest/pageBits {
			continue
		}
		for seq := number * pageBits; ; seq++ {
			if s.Has(seq) {
				lowest = seq
				break
			}
		}
	}
	return lowest
}
