// Package commands is the common part of the application, which stands in the folders below it. The application carries out
// what callers ask, calls processors, and continues what a crash or the passing of time leaves:
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
// It imports the store; no package of the store imports it (a test checks it). A service loads an aggregate, lets the domain
// decide, and appends the event. The services, in the order of their imports:
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
//   - commandstest: the kit of their tests. It starts all services on a real log with the simulator.
//
// The others:
//
//   - causes: the webhooks that an event causes. So the notifier and workflows have the same causes.
//   - workflows: starts runs of workflows on these causes, and carries out their actions.
//   - pending: finds operations that are due in the views, and passes them to the services.
//   - recovery: runs pending and the other background work of a node.
//   - reconcile: compares the log with a processor's books.
//
// A caller's request gets metadata that a full store refuses (Request). The consequences of a recorded request have no
// such limit (Follow). A caller that waits leaves its place in the limit of concurrent requests (Place, D1).
//
// The package must not know: the services, processors' answers, HTTP, JSON, scopes (httpapi checks them before it calls).
package commands
