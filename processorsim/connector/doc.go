// Package connector is a kit for connectors: programs that speak the processor protocol
// (processorsim/PROTOCOL.md) to the ledger, and a vendor's own API to the vendor. A connector is a
// Vendor, five methods, and this package does the rest: the server, idempotency keys, look-ups,
// fences, notifications, disputes, lists. So a vendor without keys, look-ups or fences is safe,
// too. Package program has the main function, and an example of a whole connector.
//
// # The life of an operation
//
//	POST …/operations
//	   │
//	   ├── the declaration excludes it, or the vendor refuses it by itself (Refuser) ─► DONE
//	   ▼
//	 SENT ── recorded first: from now on the vendor may have it
//	   │ Vendor.Send under Order.Key
//	   ├── a result ──────────────► DONE: recorded, then answered
//	   ├── ErrNothing ────────────► IDLE: certainly nothing was done; it may be sent again, or fenced
//	   └── any other error, kill ─► SENT: unknown. A repeat, a look-up or a fence resolves it:
//	                                 · needs no card, and the vendor's key lives: Vendor.Send again
//	                                 · else Vendor.Find: a result ► DONE; Nothing ► IDLE, and the
//	                                   next Vendor.Send has another Order.Key; an error ► SENT;
//	                                   Undo ► UNDO
//	 UNDO ── recorded first: from now on the vendor may undo it, and a success is no result
//	   │ Vendor.Find with Order.Undo, again and again; messages of the vendor
//	   ├── FAILED, DECLINED ──────► DONE
//	   └── Nothing ───────────────► IDLE, and the next Vendor.Send has another Order.Key
//
//	state      a repeat             look-up               fence
//	no record  —                    UNSEEN                recorded, FENCED
//	SENT       as above             RUNNING if unresolved as look-up
//	UNDO       as above             RUNNING if unresolved as look-up
//	IDLE       Vendor.Send          UNSEEN                recorded, FENCED
//	DONE       its answer           KNOWN                 KNOWN
//	fenced     FAILED, fenced       FENCED                FENCED
//
// An answer PENDING or ACTION_REQUIRED has a result later: from a message of the vendor
// (Vendor.Events), or from Vendor.Find if a look-up comes and no message has come. A complete or a
// void ends the authorization that waits for its customer. A vendor that tells a failure after a
// success sets Event.Overturns: the ledger gets a notification, look-ups and lists say FAILED until
// the vendor tells a later success, and a repeat has the first answer. The vendor's times of the
// results count, and not the order of the messages, for an operation whose first answer was a
// success. After a first answer PENDING or ACTION_REQUIRED, a failure that overturns counts
// whenever it comes.
//
// # Vendors that answer by messages
//
// A vendor that only says "received" answers PENDING, with the transaction of its receipt. The
// message may come before the receipt is recorded, so a message must name the operation by
// something that it had from the connector: Order.Tag, beside the payment's id, fits in every
// vendor's reference. A message that names only a transaction is refused while an operation of its
// kind has an unknown outcome: the vendor sends it again.
//
// A vendor without look-ups cannot find an authorization whose outcome is unknown and whose card is
// gone. If it can undo one that it may have, or may get ("time-out reversal", "technical cancel"),
// Find says Undo, as soon as no request can be on its way any more.
//
// # For the author of a connector
//
//   - Declare what the vendor cannot do: the kit refuses it (Vendor.Declaration). A Vendor that is
//     a Refuser refuses single orders, before the request is recorded.
//   - Send must answer a repeat of Order.Key as the first, or Find must find the first. If neither
//     is possible, the vendor must be able to undo.
//   - A message states the amount as the vendor does: Result.Amount, in the minor units of
//     ISO 4217. If the vendor's messages have none, set Result.AsOrdered; a store of amounts is not
//     needed.
//   - A request can arrive after its connection was cut. Find says Nothing only when Order.Tried is
//     longer ago than the vendor, and the network, can hold a request back.
//   - An error is "not known". Wrap ErrNothing only if the vendor certainly did nothing.
//
// # Rules
//
//   - The request is durable before the vendor gets it, the result before anybody sees it. A crash
//     between two lines leaves SENT, which is resolved and never guessed.
//   - One attempt of a key runs at a time. It goes on when the ledger's connection is cut.
//   - A result must fit its request: the same currency, the requested amount, a transaction, which
//     never changes. A result that does not fit is none: the operation stays SENT, or PENDING, and
//     the log has a warning.
//   - An answer states the operation, payment, amount and currency that it is about. So a ledger
//     that was restored from a back-up, and uses a key again, does not take the answer for that of
//     another operation.
//   - A message that an Idle operation was done all the same counts, also under an earlier
//     Order.Key, unless its key is fenced: a repeat is then no second one. The log has an error.
//   - A notification is repeated until the ledger takes it, also after a restart: in the first
//     minute as the protocol has it, then in rounds whose pause grows to an hour.
//   - Cards are not stored. An authorization whose outcome is not known is sent again only when the
//     ledger repeats it with its card.
//   - A new Order.Key is used only after the vendor said that it did nothing under the old one, and
//     never will.
//
// The package must not know: a vendor.
package connector
