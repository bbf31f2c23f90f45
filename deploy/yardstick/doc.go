// Command yardstick is the service that a team would write on PostgreSQL instead of payledger.
// payledger bench loads both with the same requests and prints the ratio. It is a module of its
// own: payledger does not depend on PostgreSQL.
//
//	yardstick --data DIR [--listen 127.0.0.1:0] [--api-key KEY] [--signing-secret SECRET] [--postgres-bin DIR] [--pool N]
//	          [--standbys N] [--processor URL]
//
// Rules:
//
//   - It prints one ready line on stdout:
//     {"ready":true,"api":"http://…","pid":…,"apiKey":"…","signingSecret":"…"}.
//   - It makes a cluster of PostgreSQL in DIR/postgres, runs its server on a Unix socket, and stops
//     it on SIGTERM and SIGINT. If yardstick is killed, the kernel stops the server and its
//     standbys.
//   - Without --processor, one create is one transaction: a row each in payments, events and
//     outbox. An answer means that PostgreSQL has synced it to the disk.
//   - With --processor, one create is two transactions with the call of the processor between them,
//     as payledger's is: the request is durable before the processor gets it, the outcome is
//     durable before the client gets it, and the call has an idempotency key. A payment whose
//     outcome is unknown stays PENDING, and the next start sends its request again under the same
//     key.
//   - With --standbys N, the server has N standbys. yardstick makes them with pg_basebackup in
//     DIR/standby_1 and so on, and removes them at its end. They follow the server by TCP on
//     127.0.0.1 (synchronous_standby_names = 'ANY 1 (…)', synchronous_commit = on): an answer means
//     that one of them has synced it, too. yardstick is ready when pg_stat_replication shows all of
//     them as quorum, and ends if one of them ends. GET /metrics, which payledger bench reads
//     around each load, fails when one is not synchronous.
//   - A repeated X-Idempotency-Key is 409, held by a unique constraint.
//   - A relay polls the outbox, sends signed webhooks (§5.2, §6.1) at least once, and logs each
//     attempt in deliveries.
//   - GET /metrics counts the processor time of yardstick and of every process of its PostgreSQL
//     servers.
//
// Requests and answers have the paths and shapes of payledger's contract, as far as they exist
// here. There is no vault: every token stands for the same card. Without a processor every payment
// is authorized. An endpoint gets the events from its registration until its deletion.
//
// It runs on Linux only: it reads /proc.
package main
