// Package projections keeps the read models of one node and renders the Payment JSON.
//
// What it is: a pure function from a payment's state to the Payment JSON (RenderPayment; §2.1–§2.4, D6,
// D17); a runner that folds the log into one SQLite file (Run); and reads of that file. The file is
// disposable: it holds nothing that the log does not, and one that is damaged or of another version is
// made anew from the log. Subpackage history replays one payment for an auditor.
//
// # Rules
//
//   - Rows and positions are written in one transaction, so an event counts once whatever crashes between.
//     An event at or below its shard's position changes nothing.
//   - The log is not trusted blindly: before anything is added, it must be at least as long as what was
//     read from it, and the newest applied event of each shard must still be the one that was applied.
//   - A poison event (unknown type or aggregate, newer schema, unreadable body, gap) stops the projection
//     in front of it. Everything before it is applied; Run's error and Healthy name the event; nothing is
//     skipped. A newer build goes on from there.
//   - A row holds personal data only sealed, as the event does. secure_delete overwrites what an update
//     replaces in the file; the write-ahead log keeps old pages until it is copied back, at 32 MiB or at
//     Close.
//
// # Consistency
//
// Payment is linearizable on a single node: it asks the store for the payment's newest event, which shows
// every append acknowledged before the question, waits until the read model has that place in the log, and
// reads the row, which can only be newer. Two reads one after the other never go back. In a cluster the
// store's answer may come from a replica that lags or was cut off; the step that finds the newest place
// (Payment's call of Store.Load) is the one to be replaced by a barrier there.
//
// WaitFor gives others the same: whoever knows an event's shard and sequence waits until this node shows
// it. The notifier does so before a webhook leaves (D17), so that no webhook runs ahead of GET. CaughtUp
// waits for the log's end as it was at the call: for readyz (I1). SessionAccount waits for the end of the
// session's shard when it does not find the session; a session is therefore found on the node that
// created it, and on others, as soon as its creation was acknowledged. Pending, Account, AccountByKey and
// Accounts show what is applied and do not wait.
//
// ListDisputes is as ListPayments, and Dispute as Payment: of a dispute that was opened. One of which only what is
// impossible was told has no row. WaitingInboxes shows what is applied, for whoever looks after notifications that wait;
// those of payments that are not known are left aside until they have waited long enough.
//
// ListPayments waits for every place that this node knows to be in the log (Store.Appended), which memory
// tells: what a call on this node has answered is in the list. What other nodes append comes within the time
// that events need to get here.
//
// Nobody polls: a commit closes the channel that waiters of that shard hold.
//
// # What it must not know
//
// HTTP, webhooks, how commands decide, NATS, msgpack. It is the only package that knows SQL.
//
// # Design notes
//
//   - A batch is folded per aggregate first and each row is written once. The state's bytes are cut out of
//     the event's body and stored as they are; they are decoded once for the columns, never encoded.
//   - Measured on two cores (BenchmarkApply: decoding, rows, positions and commit, a session and three
//     events per payment), per event: 36 µs in batches of 1, 18 µs of 4, 15 µs of 16, 12 µs of 64 and
//     more, or 80,000 events/s. So batches are at least 2 ms apart, and up to 100 ms as long as nobody
//     waits for one of their events and none was full: at 3,000 events/s a batch has 6 events or more and
//     costs half of what single events would, or less. A read that waits, waits 2 ms longer at most.
//   - Pending operations are a partial index over payments, not a table: a payment is one row written
//     once per batch, and the index holds only what is open.
//   - Columns are those that GET /payments filters and sorts by (D11); what is only answered (metadata,
//     dates) is in the state. Five indexes serve it, each ordered by creation: all, status, order, customer,
//     e-mail hash. ListPayments names the one that it walks along, the most selective first, since the
//     planner has no statistics; the values of a filter are walks of their own that are merged, so nothing
//     is sorted and a page costs its length. Of 200,000 payments of one account a page of 100 takes 1.5 ms,
//     14 µs a row for reading and decoding its state, and an order's payments 0.05 ms (BenchmarkList).
//     Filters on other columns alone read the rows until the page is full: 0.23 s when hardly any fits.
//     The indexes cost 13 µs per event in batches of 1, 3.3 µs of 16 and 2.5 µs of 64 (31, 16 and 13 %),
//     which is why there are no more.
//   - payments is a rowid table with an index on the random ids: rows of 1 KB are appended instead of
//     spread. synchronous=NORMAL: a power failure loses the newest transactions, never a part of one.
//   - The cards that may be destroyed are found from the log, not from a view: a row per token would double
//     the writes of a payment for a question that is asked once an hour.
//   - A rebuild is a second model on another file, applied from zero; a test shows that its rows are those
//     of one that was kept up to date.
package projections
