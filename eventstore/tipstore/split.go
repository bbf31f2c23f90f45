package tipstore

import (
	"bytes"
	"slices"
)

// Middle returns a key that divides the keys with a prefix into two parts of about the same size,
// or nil if they stand in one file.
func (v View) Middle(prefix []byte) []byte {
	if v.s == nil {
		return nil
	}
	all, err := v.s.db.tables()
	if err != nil {
		return nil // a part may be empty
	}
	var files []table
	total := uint64(0)
	for _, file := range all {
		if bytes.HasPrefix(file.smallest, prefix) {
			files = append(files, file)
			total += file.size
		}
	}
	slices.SortFunc(files, func(a, b table) int { return bytes.Compare(a.smallest, b.smallest) })
	before := uint64(0)
	for i, file := range files {
		if before >= total/2 && i > 0 {
			return slices.Clone(file.smallest)
		}
		before += file.size
	}
	return nil
}
