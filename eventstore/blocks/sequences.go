package blocks

import "math/bits"

// sequences is a set of sequences: a bit each, in pages of 2,048.
type sequences map[uint64]*[pageBits / 64]uint64

const pageBits = 2048

func (s sequences) add(seq uint64) {
	page := s[seq/pageBits]
	if page == nil {
		page = new([pageBits / 64]uint64)
		s[seq/pageBits] = page
	}
	page[seq%pageBits/64] |= 1 << (seq % 64)
}

func (s sequences) remove(seq uint64) {
	if page := s[seq/pageBits]; page != nil {
		page[seq%pageBits/64] &^= 1 << (seq % 64)
	}
}

func (s sequences) has(seq uint64) bool {
	page := s[seq/pageBits]
	return page != nil && page[seq%pageBits/64]&(1<<(seq%64)) != 0
}

func (s sequences) count() (n uint64) {
	for _, page := range s {
		n += ones(page)
	}
	return n
}

func ones(page *[pageBits / 64]uint64) (n uint64) {
	for _, word := range page {
		n += uint64(bits.OnesCount64(word))
	}
	return n
}

// lowest returns the lowest sequence, 0 if there is none.
func (s sequences) lowest() (lowest uint64) {
	for number, page := range s {
		if lowest != 0 && number > lowest/pageBits || ones(page) == 0 {
			continue
		}
		for seq := number * pageBits; ; seq++ {
			if s.has(seq) {
				lowest = seq
				break
			}
		}
	}
	return lowest
}

// from counts the sequences from seq on.
func (s sequences) from(seq uint64) (n uint64) {
	for number, page := range s {
		if number > seq/pageBits {
			n += ones(page)
		}
	}
	for end := (seq/pageBits + 1) * pageBits; seq < end; seq++ {
		if s.has(seq) {
			n++
		}
	}
	return n
}
