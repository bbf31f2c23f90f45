// Package projections keeps the read models of one node.
//
// What it is: a runner that folds the log into one SQLite file (Run), and reads of that file. The
// file is disposable: it holds nothing that the log does not. A file that is damaged or of another
// version is rebuilt from the log. Package paymentjson renders a payment (§2.1–§2.4, D6, D17);
// package history replays one for an auditor.
//
// # Rules
//
//   - Rows and positions are written in one transaction, so that a crash never counts an event
//     twice or not at all. An event at or below its shard's position changes nothing.
//   - Before Run adds anything, it compares the file with the log: the log must not be shorter than
//     the file's positions, and the newest applied event of each shard must still be the same.
//   - A poison event (unknown type or aggregate, newer schema, unreadable body, gap) stops the
//     projection. Everything before the event is applied, nothing is skipped, and Run's error and
//     Healthy name the event. A newer build continues from there. An unreadable state is no poison
//     if the same batch has a newer state of the aggregate: no row depends on it.
//   - A row holds columns and no state: the fields that lists filter and sort by, the aggregate's
//     id, and the revision that the row shows. Its only personal data is the keyed hash of the
//     e-mail address, which an erasure of the person takes out of the row, whichever of the two
//     events is applied first. secure_delete overwrites replaced data in the file. The write-ahead
//     log keeps old pages until it is copied back, at 32 MiB or at Close.
//   - Packages statistics, auditlog and transactions own tables of this file. The statistics depend
//     on the rows of payments and sessions; rows of the audit log and of transaction ids depend on
//     single events, and a row is written in the batch that has the event.
//   - A shard's events have numbers without a gap, and addresses (Recorded.Seq) that only grow. An
//     event without the next number is a gap. WaitFor waits for addresses.
//
// # Consistency
//
// Payment and Dispute are linearizable: each reads the aggregate's newest event from the store and
// returns its state, with every append that was acknowledged before the call. Settings and
// AccountByKey return every change that was acknowledged before the call: it was acknowledged when
// all nodes had applied it, so they read this node's store, under its lease (eventstore.Leased).
// All of them work while the views stand still. AccountByKey uses the views only to find the
// account of a key.
//
// WaitFor returns when the read model shows an event. The notifier calls Shown before it sends a
// webhook (D17): a webhook of a payment or a dispute may leave before the read model has the event,
// because GET reads the store, and lists wait for the events that the node knows. With a wait for
// the read model each webhook held one of the endpoint's slots for it. CaughtUp waits for the log's
// end as of the call; KeepUp, for readyz (I1), as of the newest beat. In a cluster they ask the
// other nodes, and append nothing. SessionAccount waits for the end of the session's shard if the
// session has no row: every node finds a session as soon as its creation was acknowledged.
// PaymentAccount looks an unknown payment up in the store, under each account; above maxOwners
// accounts it waits like SessionAccount. OpenOperations, ExpiredActions, WaitingInboxes,
// DueAttempts, Account and Accounts show the applied events and do not wait.
//
// ListPayments waits for every event that this node knows to be in the log (Store.Appended): a list
// has everything that this node acknowledged before the call. Events of other nodes follow when
// they arrive. The rows select the payments of a page, and the store has their newest states. A
// payment whose newest state no longer fits the filter is left out, and the next payments take its
// place: every payment of a list fits the list's own filter. A payment that begins to fit while the
// list is read may be missing. Lists of disputes, vaulted instruments and open runs do the same.
//
// With Config.NoRows there is no file. The accounts come from the tip store at the start, and from
// the log after that; positions move past every event without a look at it. Payment, Dispute,
// Settings and AccountByKey are as above. SessionAccount looks under each account, as
// PaymentAccount does. Everything that needs a row fails with ErrNoRows.
//
// No waiter polls: a commit closes the channel of the shard's waiters.
//
// # What it must not know
//
// HTTP, webhooks, how commands decide, NATS, msgpack. SQL is known here and in the subpackages
// only.
//
// # Design notes
//
//   - A batch is folded per aggregate, and each row is written once. Only the newest state of an
//     aggregate in a batch is decoded, or none if this process made the event. If a newest state is
//     unreadable, the batch is folded again with every state decoded, and stops before the first
//     unreadable event.
//   - Rows used to hold the state as well. Without it the row of a payment with three events takes
//     198 bytes instead of 2,054, and 454 instead of 2,310 with its indexes (TestRowSize), and GET
//     needs no view. In return a page of 100 payments costs 100 look-ups, 8 at a time: 3.5 ms if
//     the store has none of them in memory (BenchmarkPage).
//   - Measured on two cores (BenchmarkApply: a session and three events per payment), per event: 36
//     µs in batches of 1, 18 µs of 4, 15 µs of 16, 12 µs of 64 and more, or 80,000 events/s.
//     Batches are therefore at least 2 ms apart, and up to 100 ms while no caller waits and no
//     batch was full. At 3,000 events/s a batch then has 6 events or more and costs half of single
//     events. A waiting read waits at most 2 ms longer.
//   - Pending operations are a partial index over payments, not a table: the index holds only open
//     operations. It is ordered by slot, the request's time modulo five minutes (package pending),
//     so that the next look-up follows from it without a write per look-up. A column with the next
//     look-up's time would be written 3,300 times a second for a million operations.
//   - Columns are the fields that GET /payments filters and sorts by (D11). Other fields are read
//     from the store. A list first walks an index: that of the order, the e-mail hash or the
//     customer, else that of all payments, each ordered by creation. The walk reads at most 500
//     rows, enough for filters that many payments fit and for customers with few.
//   - The rest is searched in blocks (blocks.go): a thousand payments each, column by column, four
//     bytes a payment. A code is an amount, the hash of a text, or the number of a kind: the
//     combination of account, status, processor, merchant id, currency and payment method type, of
//     which there are some hundreds. A column of a block fills one page of the file, so that two
//     filters on 1,000,000 payments read at most 8 MB. Different values may have the same code:
//     rows are read where all codes fit, and the rows decide. No combination of filters reads more.
//     An index for each filter could not bound pairs of filters: two large sets of rows that share
//     no payment have to be read to their ends.
//   - The newest one to two thousand payments are in no block and are read as rows. Most changes
//     come soon after the payment and cost no block; a later change writes one page. Blocks take 24
//     bytes a payment; the index by status that they replace took 50 and changed with every status.
//     Payments enter blocks in the order of their rows, so that the times of blocks may overlap: a
//     list continues until no block ahead has a payment before those of the page. Measured on two
//     idle cores, a page of 1,000,000 payments (TestManyPayments): 1.1 ms in the median and 23 ms
//     at most by one filter, 1.8 ms and 32 ms by two, and 2.0 s by reading all rows. The time grows
//     by 0.01 µs per payment and field.
//   - payments is a rowid table with an index on the random ids: rows are appended instead of
//     spread. synchronous=NORMAL: a power failure loses the newest transactions, never a part of
//     one.
//   - The cards to destroy are found from the log, not from a view: a row per token would double a
//     payment's writes for a query that runs once an hour.
//   - A rebuild is a second model on another file, applied from zero (Rebuild, package sqlitefile:
//     generations). When it has everything that the first one shows, it is exchanged between two
//     batches: until then it follows the log in rounds, so that the first one stands still for the
//     last few events only. Reads under way end on the first model, which is closed after the last
//     of them. While a batch is written, the next one is read and folded, 4,096 events at most:
//     85,000 events/s, where the same rows alone are written at 95,000 rows/s (BenchmarkRebuild).
//     Tests show that its rows equal those of a model that was kept up to date, and that reads
//     during a rebuild miss nothing.
package projections
