// Package deliveries is the index of the attempt log: which webhooks there are, where each stands, and in which order
// they were planned (D18, D20).
//
// What it is: one SQLite file beside the views with a row for each delivery, made from the records of the stream of
// deliveries (package notifier reads them and hands on rows); and the plain values that the management's answers
// about deliveries and replays are made of.
//
// # Rules
//
//   - The file is disposable: it holds nothing that the stream does not, but for rows of deliveries that the stream has
//     dropped. A damaged file, one of another version, and one that was made from another stream are made anew, without those.
//   - Rows and the place in the stream are written in one transaction; a record at or below the place changes nothing.
//   - A delivery's time of planning and its id never change, so pages stay as they are while deliveries are added.
//   - No row holds a body, a URL or a secret: the attempts themselves are read from the stream.
//
// # What it must not know
//
// HTTP, how webhooks are sent, msgpack, the log.
//
// # Design notes
//
//   - A batch is folded per delivery first: of several records of a delivery the last one is written.
//   - Six indexes: the id; account with time of planning alone, by status, by endpoint and by what the delivery tells
//     about; and the open ones of all accounts, which operators watch. A list walks along one of them, so nothing is sorted and a page costs its length; filters
//     on other columns read rows until the page is full. Statuses lead before the endpoint, unless SUCCEEDED, which
//     most deliveries are, is asked for.
//   - Measured on two cores (BenchmarkApply, a new delivery and its outcome in turn): 14 µs a record in batches of 512, or
//     70,000 records/s; 24 µs in batches of 16.
package deliveries
