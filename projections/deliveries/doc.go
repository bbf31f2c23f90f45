// Package deliveries is the index of the attempt log: the deliveries with their state, in the order
// in which they were planned (D18, D20).
//
// The index is one SQLite file beside the views, with a row per delivery. Package notifier reads
// the stream of deliveries and applies rows. The package also has the values of the management
// API's answers about deliveries and replays.
//
// # Rules
//
//   - The file is disposable: the stream has the same data, except for rows of dropped deliveries.
//     A new file replaces a damaged file and a file of another version; a file of another stream is
//     emptied. Both lose those rows.
//   - One transaction writes the rows and the mark, which is the last applied record. An applied
//     record, read again, changes nothing.
//   - Records gather for up to 100 ms and share a transaction, unless a caller waits for the index
//     or hastens it (Gather).
//   - A delivery's time of planning and its id never change, so pages stay stable while deliveries
//     are added.
//   - Deliveries are counted by account, endpoint and hour of planning, and by day (counts): by the
//     status that they have now, and by the time from planning to the first successful answer. The
//     counts change in the transaction that changes the rows, and are a function of the rows, also
//     after a rebuild. CheckCounts compares both. A quantile is at most 12.5 % above the true
//     value, and never below it (package durations).
//   - The success rate is succeeded / (succeeded + retrying + exhausted): a delivery whose last
//     attempt failed has not succeeded, whatever follows. Waiting and cancelled ones do not count.
//   - No row holds a body, a URL or a secret. Attempts are read from the stream.
//
// # What it must not know
//
// HTTP, how webhooks are sent, msgpack, the log.
//
// # Design notes
//
//   - A batch is reduced per delivery first: only the last of several records is written. So the
//     record of a delivery that is sent soon costs one row and no change of the indexes, and
//     transactions are few: under load the index took 9 % of the service's CPU time without Gather,
//     5 % with it.
//   - Seven indexes: the id; the account with the time of planning, alone and after status,
//     endpoint or subject; the deliveries with a failed attempt; and the open deliveries of all
//     accounts, for operators. A list follows one index, so a page costs its length without
//     sorting; filters on other columns read rows until the page is full. Status comes before
//     endpoint, unless the filter includes SUCCEEDED, the status of most deliveries. The index of
//     failures has both, and only deliveries that failed once cost an entry in it.
//   - Measured on two cores (BenchmarkApply, a new delivery and its outcome in turn): 14 µs a
//     record in batches of 512, or 70,000 records/s; 24 µs in batches of 16.
//   - The counts of an hour, or of a day, are one row with all endpoints of the account, so that a
//     batch changes two rows and 366 days are 366 rows. The newest 4,096 to 8,192 rows' counted
//     values are in memory, so that the outcome of a delivery that is sent soon needs no read. The
//     counts cost 3 µs of CPU time a record, or 6 %, in batches of 512, and less than can be
//     measured in batches of 16 (BenchmarkApply, user and system time of three runs each, in turn
//     with runs without the counts, on two busy cores).
//   - A rebuild takes about as long as plain upserts of the same records (notifier,
//     BenchmarkRebuildIndex: 20,000 records).
package deliveries
