// Package compare compares the read model with the log, row by row: each row must equal the row that the log gives (I1). It does not compare the compressed columns that speed up filters.
//
// The caller gives it the newest event of each aggregate, with the state after it, as package verify hands them on. Each table is
// compared in batches. Rows of no aggregate show in the number of rows.
//
// A running service goes on writing. So a row that differs is read again after the view has shown the aggregate's newest event,
// until a row and a newest event belong together. The file of a stopped service shows the events up to its positions: End
// returns them.
//
// What it must not know: HTTP, files of the log, how rows are made (package projections).
package compare
