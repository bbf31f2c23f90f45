// Command yardstick is the service that a team would write on PostgreSQL instead of payledger. payledger bench loads both with the same
// requests and prints the ratio. It is a module of its own: payledger does not depend on PostgreSQL.
//
//	yardstick --data DIR [--listen 127.0.0.1:0] [--api-key KEY] [--signing-secret SECRET] [--postgres-bin DIR] [--pool N]
//
// Rules:
//
//   - It prints one ready line on stdout: {"ready":true,"api":"http://…","pid":…,"apiKey":"…","signingSecret":"…"}.
//   - It makes a cluster of PostgreSQL in DIR/postgres, runs its server on a Unix socket, and stops it on SIGTERM and SIGINT. If
//     yardstick is killed, the kernel stops the server.
//   - One create is one transaction: a row each in payments, events and outbox. An answer means that PostgreSQL has synced it to the disk.
//   - A repeated X-Idempotency-Key is 409, held by a unique constraint.
//   - A relay polls the outbox, sends signed webhooks (§5.2, §6.1) at least once, and logs each attempt in deliveries.
//   - GET /metrics counts the processor time of yardstick and of every process of its PostgreSQL server.
//
// Requests and answers have the paths and shapes of payledger's contract, as far as they exist here. There is no vault and no
// processor: every token stands for the same card, and every payment is authorized. An endpoint gets the events from its
// registration until its deletion.
//
// It runs on Linux only: it reads /proc.
package main
