// Package listing has the pages of lists in the order of time, and the places at which pages begin.
//
// It must not know: which data a list has, where the data are read, how a place becomes a cursor.
package listing
