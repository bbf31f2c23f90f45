package tipstore

import (
	"bytes"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

// Middle returns a key that divides the keys with a prefix into two parts of about the same size, or nil if they stand in one file.
func (v View) Middle(prefix []byte) []byte {
	if v.s == nil {
		return nil
	}
	levels, err := v.s.db.SSTables()
	if err != nil {
		return nil // a part may be empty
	}
	var files []pebble.SSTableInfo
	total := uint64(0)
	for _, level := range levels {
		for _, file := range level {
			if bytes.HasPrefix(file.Smallest.UserKey, prefix) {
				files = append(files, file)
				total += file.Size
			}
		}
	}
	slices.SortFunc(files, func(a, b pebble.SSTableInfo) int { return bytes.Compare(a.Smallest.UserKey, b.Smallest.UserKey) })
	before := uint64(0)
	for i, file := range files {
		if before >= total/2 && i > 0 {
			return slices.Clone(file.Smallest.UserKey)
		}
		before += file.Size
	}
	return nil
}
