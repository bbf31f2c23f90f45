// Package export writes the log as tables for analysts: events, payments, transactions, refunds,
// disputes, webhook deliveries and double-entry postings, as CSV, JSON lines, Parquet or SQLite
// (I1). The guide tables.md at /docs, which is generated, describes the columns.
//
// Rules:
//
//   - The inputs are the feed of events in the order of positions (I2), and for the table of
//     deliveries the records of deliveries in the order of their places: attempts are no events. An
//     export has no personal data, because neither input has any.
//   - The folder of an export remembers the position up to which it was exported. A further export
//     appends the events behind it, each event once, even after a crash at any moment: see Folder.
//   - The books remember the hash of their last event and the record of their last delivery. A
//     ledger that has others there lost what the files have, or is another one: nothing is
//     appended.
//   - The tables of payments, transactions, refunds and disputes show the newest state. Files of
//     several exports may show a payment several times: the rows with its highest position count.
//   - Deliveries have no position: they also change without an event. The books remember the place
//     up to which they were read, and a further export has the deliveries that changed behind it.
//     Deliveries are read before events, so that their events are exported, too, unless an event of
//     the last second has no position yet: then the next export has it. Retention drops records of
//     deliveries: only earlier exports have these.
//   - A window of time limits events and entries. The other tables have the payments and disputes
//     with an event in it, as they were at its end, and the deliveries that were planned, tried or
//     ended in it; a record that another node takes a delivery over changes nothing. The balances
//     of all other events are folded, too, but not shown: also of those behind it, because the
//     times of events rise only roughly. So the entries of two windows that adjoin are those of
//     one window.
//   - entries are the differences between an aggregate's row before and after an event, so that
//     their sums equal the rows, in each currency. If a dispute's currency changes (D16), its
//     former amount is posted back in its own currency.
//   - Memory is constant: rows are folded in a SQLite file, a batch of events at a time. Only the
//     writer of a Parquet file keeps the list of row groups that ends the file: about 0.1 bytes an
//     event.
//
// It must not know: the log's format, HTTP, terminals.
//
// Design notes. The rows come from the public Payment JSON, not from states: a running service and
// a stopped folder give the same tables, and analysts can check every value against the API. The
// SQLite file beside the files of a folder holds payments' balances; without it, an incremental
// export would have to read each payment's former state from the log.
//
// The source reads on its own goroutine, at most 1,500 events ahead of the rows. An event takes 30
// to 40 µs of processor time in every format, the reading of the log included (40,000 events).
package export
