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
	all, err := v.s.db.Tables()
	if err != nil {
		return nil // a part may be empty
	}
	var files []Table
	total := uint64(0)
	for _, file := range all {
		if bytes.HasPrefix(file.Smallest, prefix) {
			files = append(files, file)
			total += file.Size
		}
	}
	slices.SortFunc(files, func(a, b Table) int { return bytes.Compare(a.Smallest, b.Smallest) })
	before := uint64(0)
	for i, file := range files {
		if before >= total/2 && i > 0 {
			return slices.Clone(file.Smallest)
		}
		before += file.Size
	}
	return nil
}
