// Package compare compares the read model and the index of deliveries with the log, row by row:
// each row must equal the row that the log gives, in values and types (I1). It also compares the
// blocks that filtered lists search with the rows, the positions with their events, and each file
// with its schema.
//
// The caller adds the newest event of each aggregate, with the state after the event, as package
// verify reports them. Each table is compared in batches. A row without an aggregate is found
// because the number of rows is wrong.
//
// A running service continues to write. So a row that differs is read again after the view has
// applied the aggregate's newest event, until the row and the event match. The file of a stopped
// service shows the events up to its positions, which End returns.
//
// The index of deliveries has rows of dropped deliveries, which are no longer in the log. These
// rows are not compared; a note contains their number.
//
// The package must not know: HTTP, files of the log, how rows are made (package projections).
package compare
