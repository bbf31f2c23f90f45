// Package auditlog shows who changed what, when and from where (D20).
//
// # Rules
//
//   - The audit log has the events of an account and of its workflows, erasures, requests to send
//     webhooks again, the operations on payments that came through the management API or from a
//     user of the dashboard, and the decisions about payment attempts by such a user. RowOf selects
//     them.
//   - The log of events is the audit log's only source: the hash chain covers every entry, and
//     nothing can be added to the audit log alone. The table holds the places of the events, so
//     that lists and filters are fast. Each entry is read from its event.
//   - An entry has the differences of the changed thing, of the fields that are listed (shown): a
//     field that nobody listed is never shown.
//   - An entry has names, and no secret, hash or personal data of customers. Addresses of clients
//     are personal data of the merchant's staff: only the bytes of the event and the entry have
//     them, the table has none.
//
// The package must not know: HTTP, how an event is decided. It reads events as plain maps: a new
// type of event needs no code here, only its subject's place if it has one (subjects).
package auditlog
