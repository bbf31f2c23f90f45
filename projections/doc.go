// Package projections keeps the read models of one node.
//
// What it is: a runner that folds the log into one SQLite file (Run), and reads of that file. The file is disposable: it
// holds nothing that the log does not. A file that is damaged or of another version is rebuilt from the log. Package
// paymentjson renders a payment (§2.1–§2.4, D6, D17); package history replays one for an auditor.
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
//   - A row holds columns and no state: what lists filter and sort by, the aggregate's id, and the revision
//     that the row shows. Of personal data it holds the keyed hash of the e-mail address and nothing else.
//     secure_delete overwrites what an update replaces in the file; the write-ahead log keeps old pages until
//     it is copied back, at 32 MiB or at Close.
//   - A shard's events have numbers without a gap, and addresses (Recorded.Seq) that only grow. An event that
//     does not have the next number is a gap; waiters wait for addresses.
//
// # Consistency
//
// Payment, Dispute, Settings and AccountByKey are linearizable and need no view (AccountByKey needs it to know whose a key is): each reads the aggregate's newest event at the
// store (Latest), which shows every append acknowledged before the call, and answers the state in it. Views that
// stand still do not hold them up.
//
// WaitFor gives others the same: whoever knows an event's shard and sequence waits until this node shows
// it. The notifier does so before a webhook leaves (D17), so that no webhook runs ahead of the lists. CaughtUp
// waits for the log's end as it was at the call: for readyz (I1). SessionAccount waits for the end of the
// session's shard when it does not find the session; a session is therefore found on the node that
// created it, and on others, as soon as its creation was acknowledged. PaymentAccount needs no view: it asks the store for each
// account's payment, so that a processor that tells about a new payment waits for nothing. Pending, Account and
// Accounts show what is applied and do not wait.
//
// ListDisputes is as ListPayments: of disputes that were opened. One of which only what is impossible was told has no
// row. OpenOperations, ExpiredActions, WaitingInboxes and DueAttempts show what is applied, for package pending;
// notifications of payments that are not known are left aside until they have waited long enough.
//
// ListPayments waits for every place that this node knows to be in the log (Store.Appended), which memory
// tells: what a call on this node has answered is in the list. What other nodes append comes within the time
// that events need to get here. The rows say which payments a page has, the store what each of them is now. A
// payment that no longer fits the filter when it is read is left out, and the page is filled with those behind
// it: every payment of a list fits the list's own filter. One that comes to fit while the list is read may be
// missing, as it may when the list is read just before. Lists of disputes, vaulted instruments and open runs
// do the same.
//
// Nobody polls: a commit closes the channel that waiters of that shard hold.
//
// # What it must not know
//
// HTTP, webhooks, how commands decide, NATS, msgpack. It is the only package that knows SQL.
//
// # Design notes
//
//   - A batch is folded per aggregate first and each row is written once. The state is decoded once for the
//     columns, or not at all where this process made the event.
//   - Rows had the state in them as well. Without it the row of a payment with three events takes 198 bytes
//     instead of 2,054, and 454 instead of 2,310 with its indexes (TestRowSize), an update writes no large
//     value, and GET needs no view. A page of 100 payments costs 100 look-ups in return, 8 at a time: 3.5 ms
//     where the store remembers none of them (BenchmarkPage).
//   - Measured on two cores (BenchmarkApply: decoding, rows, positions and commit, a session and three
//     events per payment), per event: 36 µs in batches of 1, 18 µs of 4, 15 µs of 16, 12 µs of 64 and
//     more, or 80,000 events/s. So batches are at least 2 ms apart, and up to 100 ms as long as nobody
//     waits for one of their events and none was full: at 3,000 events/s a batch has 6 events or more and
//     costs half of what single events would, or less. A read that waits, waits 2 ms longer at most.
//   - Pending operations are a partial index over payments, not a table: a payment is one row written
//     once per batch, and the index holds only what is open. It is ordered by turn, the request's time modulo five
//     minutes (package pending): what is due next follows from it without a write per question. A column with the
//     next question's time would be written with every question, 3,300 times a second for a million operations.
//   - Columns are those that GET /payments filters and sorts by (D11); what is only answered (metadata,
//     dates) is read from the store. A list goes along an index first: that of the order, the e-mail hash or the customer,
//     else that of all payments, each ordered by creation. It reads 500 rows at most. That is enough for filters that many
//     payments fit, and for customers with few payments.
//   - Whatever is left is found in blocks (blocks.go): a thousand payments each, column by column, four bytes a payment. A
//     code is an amount, the hash of a text, or the number of a kind: the combination of account, status, processor,
//     merchant id, currency and payment method type, of which there are some hundreds. One page of the file holds a column
//     of a block, so that two filters on 1,000,000 payments read 8 MB at most. Rows are read only where all codes fit. They
//     decide: a code may let more pass. No filter, and no combination of filters, reads more, however the values meet; an
//     index for each filter could not do that for pairs: two large runs that share no payment have to be read to their ends.
//   - The newest payments, one thousand to two, are in no block and are read as rows. Most changes come soon after the
//     payment and cost no block; a later one writes one page. Blocks take 24 bytes a payment; the index by status,
//     which they replace, took 50 and changed with every status. Payments come into blocks in the order of their rows, so
//     the times of blocks may overlap: a list goes on until no block ahead has a payment before those of the page.
//     Measured on two idle cores, a page of 1,000,000 payments (TestFilters): 1.1 ms in the median and 23 ms at most by one
//     filter, 1.8 ms and 32 ms by two; 2.0 s when all rows were read. The time grows with the payments: a hundredth of a
//     microsecond for each payment and field.
//   - payments is a rowid table with an index on the random ids: rows are appended instead of spread.
//     synchronous=NORMAL: a power failure loses the newest transactions, never a part of one.
//   - The cards that may be destroyed are found from the log, not from a view: a row per token would double
//     the writes of a payment for a question that is asked once an hour.
//   - A rebuild is a second model on another file, applied from zero; a test shows that its rows are those
//     of one that was kept up to date.
package projections
