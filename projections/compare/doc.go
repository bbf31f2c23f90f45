// Package compare compares the read model and the index of deliveries with the log, row by row: each row must equal the row that the
// log gives, in values and types (I1). It also compares the blocks that filtered lists search with the rows, the positions with their
// events, and each file with its schema.
//
// The caller gives it the newest event of each aggregate, with the state after it, as package verify hands them on. Each table is
// compared in batches. Rows of no aggregate show in the number of rows.
//
// A running service goes on writing. So a row that differs is read again after the view has shown the aggregate's newest event,
// until a row and a newest event belong together. The file of a stopped service shows the events up to its positions: End
// returns them.
//
// The index of deliveries has rows of dropped deliveries, which the log does not have any more. They are not compared; a note says
// how many they are.
//
// What it must not know: HTTP, files of the log, how rows are made (package projections).
package compare
