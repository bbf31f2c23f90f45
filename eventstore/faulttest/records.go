package faulttest

import "encoding/binary"

// Records returns where the records of a message block begin, by their lengths (package blocks has
// the layout); the last element is where the last whole one ends.
func Records(block []byte) []int64 {
	end, places := 0, []int64{0}
	for len(block)-end >= 4 {
		length := int(binary.LittleEndian.Uint32(block[end:]) &^ (1 << 31))
		if length < 30 || length > len(block)-end {
			break
		}
		end += length
		places = append(places, int64(end))
	}
	return places
}
