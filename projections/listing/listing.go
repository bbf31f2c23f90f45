package listing

import "time"

// Place is a place in a list, next to the element with this time and id, and a direction. The time
// never changes, so that a place stays valid while elements are added.
type Place struct {
	At    time.Time
	ID    string
	Newer bool // towards newer elements, else towards older ones; lists of payments only
	Here  bool // the element at the place belongs to the page; lists of payments only
}

// Page is one page of a list, newest first; Next is nil at its end.
type Page[T any] struct {
	Data []T
	Next *Place
}

// PageOf returns the page of at most limit of the elements found. If there are more, another page
// follows.
func PageOf[T any](found []T, limit int, place func(T) *Place) (page Page[T]) {
	page.Data = found[:min(limit, len(found))]
	if len(found) > limit {
		page.Next = place(found[limit-1])
	}
	return page
}
