package blocks

import (
	"slices"
	"testing"
)

// TestListAgain: a list that lacks a file between others is made again, because the server may have
// made it meanwhile. A file that is missing twice is missing.
func TestListAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lists [][]int
		from  int // the first block to be read
		after int // the last block that was read; 0: none
		want  []int
		made  int // lists
	}{
		"whole":                       {lists: [][]int{{1, 2, 3}}, want: []int{1, 2, 3}, made: 1},
		"the first ones are gone":     {lists: [][]int{{4, 5}}, want: []int{4, 5}, made: 1},
		"one was made meanwhile":      {lists: [][]int{{1, 3}, {1, 2, 3}}, want: []int{1, 2, 3}, made: 2},
		"two were made meanwhile":     {lists: [][]int{{1, 3}, {1, 2, 3, 5}, {1, 2, 3, 4, 5}}, want: []int{1, 2, 3, 4, 5}, made: 3},
		"one is missing":              {lists: [][]int{{1, 3}, {1, 3, 4}}, want: []int{1, 3, 4}, made: 2},
		"the next one comes later":    {lists: [][]int{{1, 2, 4}, {1, 2, 3, 4}}, after: 2, want: []int{3, 4}, made: 2},
		"the next one is missing":     {lists: [][]int{{1, 2, 4}}, after: 2, want: []int{4}, made: 2},
		"nothing is left":             {lists: [][]int{{1, 2}}, after: 2, made: 1},
		"from a block":                {lists: [][]int{{5, 6, 8}, {5, 6, 7, 8}}, from: 6, want: []int{6, 7, 8}, made: 2},
		"no file of those to be read": {lists: [][]int{{1}}, from: 3, made: 1},
	} {
		made := 0
		v := &verifier{from: c.from, files: func(string) (files []File, _ error) {
			for _, n := range c.lists[min(made, len(c.lists)-1)] {
				files = append(files, File{Number: n})
			}
			made++
			return files, nil
		}}
		if c.after > 0 {
			v.report.Blocks = []Result{{Block: c.after}}
		}
		files, err := v.list()
		var got []int
		for _, f := range files {
			got = append(got, f.Number)
		}
		if err != nil || !slices.Equal(got, c.want) || made != c.made {
			t.Errorf("%s: %v after %d lists, %v; want %v after %d", name, got, made, err, c.want, c.made)
		}
	}
}
