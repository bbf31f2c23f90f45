// Package commands is the common part of the services below it, which carry out the commands of callers. A service loads
// an aggregate, lets the domain decide, and appends the event. The folders, in the order of their imports:
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
// A caller's request gets metadata that a full store refuses (Request). The consequences of a recorded request have no
// such limit (Follow). A caller that waits leaves its place in the limit of concurrent requests (Place, D1).
//
// The package must not know: the services, processors' answers, HTTP, JSON, scopes (httpapi checks them before it calls).
package commands
