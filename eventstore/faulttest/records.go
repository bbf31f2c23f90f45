package faulttest

import "encoding/binary"

// Records returns where the records of a message block begin, by their lengths (package blocks has
// the layout); the last element is where the last whole one ends.
func Records(block []byte) []int64 {
	at, places := 0, []int64{0}
	for len(block)-at >= 4 {
		length := int(binary.LittleEndian.Uint32(block[at:]) &^ (1 << 31))
		if length < 30 || length > len(block)-at {
			break
		}
		at += length
		places = append(places, int64(at))
	}
	return places
}
