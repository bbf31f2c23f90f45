// Package commands is the common part of the application, which stands in the folders below it. The
// application carries out what callers ask, calls processors, and continues what a crash or the
// passing of time leaves:
//
//	callers (httpapi, cmd)       views (projections)
//	  │ commands                   │ what is due
//	  ▼                            ▼
//	services ◄──── continues ──── recovery ──► pending        reconcile ──► processors' books
//	  │      ▲                                                    │
//	  │      └─── starts payments ── workflows ──► causes         │
//	  ├──► processors                    ▲         (also of       │
//	  ▼                                  │          notifier)     ▼
//	─ Load, Execute ────────────── Subscribe ──────────────── History ─ the store: package eventstore
//
// It imports the store; no package of the store imports it (a test checks it). A service loads an
// aggregate, lets the domain decide, and appends the event. The services, in the order of their
// imports:
//
//   - accounts: the account with its keys, secrets, settings, webhook endpoints and workflows.
//   - users: the sign-in of dashboard users, their sessions, passwords and second factors.
//   - sessions: client sessions.
//   - instruments: tokens, and customers' vaulted cards.
//   - payments: payments and their operations at processors.
//   - approvals: payment attempts, which a merchant approves.
//   - notifications: messages that processors send by themselves, and disputes.
//   - erasures: erasures of customers and guests.
//   - service: all of them but users, started and stopped together.
//   - commandstest: the kit of their tests. It starts all services on a real log with the
//     simulator.
//
// The others:
//
//   - causes: the webhooks that an event causes. So the notifier and workflows have the same
//     causes.
//   - workflows: starts runs of workflows on these causes, and carries out their actions.
//   - pending: finds operations that are due in the views, and passes them to the services.
//   - recovery: runs pending and the other background work of a node.
//   - reconcile: compares the log with a processor's books.
//
// A caller's request gets metadata that a full store refuses (Request). The consequences of a
// recorded request have no such limit (Follow). A caller that waits leaves its place in the limit
// of concurrent requests (Place, D1).
//
// The package must not know: the services, processors' answers, HTTP, JSON, scopes (httpapi checks
// them before it calls).
//
// # One payment, and a power failure after each step
//
// The steps have the order of package payments. "Durable" means a PubAck after the disk's sync.
//
//  1. Session and instrument were loaded and checked. Failure: nothing was recorded; a repeat
//     starts anew. SECRETS may have an unused key for personal data.
//  2. instrument.used is durable: the token belongs to this payment id, which was derived from the
//     idempotency key or the token (D9). Failure: no payment exists, nothing was sent. A repeat
//     derives the same id, finds its own claim and continues; any other payment with this token is
//     refused. Without a repeat the card becomes unreadable when the session's client token
//     expires. For a payment from the customer's browser, session.payment_started comes first: a
//     session names at most one live payment. Failure between the two: a repeat continues. A
//     payment with another card replaces the missing one, after payment.key_claimed took the place
//     of its first event, so that no process can make it (D12).
//  3. payment.created is durable: the payment exists, with its request for authorization under the
//     key "<id>.1". Failure, even with its PubAck lost: package pending finds a request without an
//     outcome, and looks the key up at the processor. If the processor never received the key, the
//     service sends the request again under it while callers could still wait; later it fences the
//     key at the processor, and records the failure (D8). A repeat with the same idempotency key
//     gets IdempotencyKeyAlreadyExists with this payment.
//  4. The processor was called. Failure before, during or after: as after step 3. If the processor
//     has the operation, it repeats its first answer for the key, so the money is held once.
//  5. payment.authorized (or declined, failed, pending) is durable: the outcome is a fact, webhooks
//     may go out. Failure: the recovery finds the outcome and does nothing. If two nodes recover at
//     once, the compare-and-swap accepts one outcome, and the other node reads it. A time-out that
//     was recorded before stays in the history.
//  6. The payment no longer needs the card: the card's value is overwritten, or the key of its
//     minute is destroyed within minutes. Failure: the encrypted card is still on the disk; the
//     next cleaning destroys it.
//
// # One approval, and a power failure after each step
//
//  1. The attempt and its session were loaded, and the resulting payment was checked. Failure: the
//     attempt waits.
//  2. attempt.approved is durable, with the revision of the approved session. It decides: a later
//     abort is refused, and a later approval gets the same answer. Failure: the next start, or a
//     repeat, makes the payment from that revision, without later changes of the session. The
//     payment's id is derived from the attempt's, so there is one payment.
//  3. instrument.used, payment.created and the next steps: as above.
//  4. attempt.completed is durable: the answer to the customer has the payment's id. Failure: the
//     next start finds the payment, and records only this event.
//
// A payment that is refused for good is ruled out first: payment.key_claimed takes the place of its
// first event, unless the payment was made after all. Then attempt.refused ends the attempt.
// Failure between the two: the next start records only attempt.refused.
//
// An attempt is durable before its session names it; after a crash between the two it cannot be
// approved. An abort has the same steps: attempt.aborted, instrument.invalidated,
// attempt.completed.
//
// # One vaulting, and a power failure after each step
//
//  1. With verify: instrument.verification_requested is durable, and the processor is called under
//     the key "<reference>.<revision>". The reference is derived from the token. Failure: nothing
//     is vaulted; a repeat looks the key up at the processor. The verification moves no money.
//  2. instrument.vaulted is durable. If a payment vaults the card, payment.authorized is durable
//     before. Failure: the entered card with its CVV is still there. The cleaner (package recovery)
//     completes the vaulting before it destroys the entered card, expired or not.
//  3. The card's copy without its CVV is durable in SECRETS. Failure: the cleaner destroys the
//     entered card.
//
// # One capture, and a power failure after each step
//
// Voids, refunds, adjustments and completions have the same steps.
//
//  1. The payment was loaded, and the capture was decided on its state. Failure: nothing was
//     recorded.
//  2. With an idempotency key: payment.key_claimed is durable at an id that is derived from the
//     key, and names the payment (D9). Failure: a repeat finds the claim and continues; no other
//     payment can use the key. The key counts as used when the payment's own state has it.
//  3. payment.capture_requested is durable. If another event came first, the capture is decided
//     again on the newest state. The amount is reserved, and no other operation starts before this
//     one has an answer. Failure, even with its PubAck lost: package pending finds the operation
//     without an outcome, and completes it under the key "<id>.<revision>", as in step 3 of a
//     payment. A repeat gets IdempotencyKeyAlreadyExists. A capture that the ledger's own rules
//     refuse ends here, as payment.capture_refused: no processor is called.
//  4. The processor was called. Failure: as after step 3; the processor takes the money once,
//     however often the call is repeated.
//  5. payment.captured (or _failed, _pending) is durable. Failure: nothing is left to do. A pending
//     capture gets its outcome from a look-up or from a notification: the first one counts, the
//     second changes nothing. If an answer requires a further operation (at the next processor, an
//     intended void, an automatic capture), the same event requests it: no failure can come between
//     the two records. If the answer to that append is lost, package payments looks the payment up,
//     and sends the operation (doubts.go).
//
// # Tests
//
// The tests of a service run all services together, over a real log (package commandstest). Those
// of accounts, approvals, erasures, instruments, notifications, pending and service stand in this
// folder, in files with the name of the package: they are one program, because each program of
// tests with the log takes three seconds of CPU time to link. The other services have a program of
// their own.
package commands
