// Package delivery has the rules of one delivery, without I/O: its record, its attempts, its retry schedule, and its
// ownership by one of several processes (§6.1, D18).
//
//	PLANNED ──► SUCCEEDED                      the first attempt succeeded
//	   │
//	   ├──► FAILED ──► FAILED … ──► SUCCEEDED  a later attempt succeeded
//	   │        └────────────────► EXHAUSTED   all six automatic attempts failed
//	   └──► CANCELLED                          the endpoint was deleted or disabled when an attempt was due
//
// WithAttempt adds an attempt to the record. After a failed automatic attempt the record is FAILED, and NextAt is the end of
// the attempt plus the delay that Schedule.after returns: 10 s, 60 s, 5, 10 and 15 minutes, each ±10 %. After the sixth
// automatic attempt no delay is left, and the record is EXHAUSTED. Manual attempts are in the record but do not count. A
// manual attempt that succeeds ends the delivery.
//
// Every change writes the whole record again, as a msgpack map with a schema number. Schema 2:
//
//	status    PLANNED, FAILED (the next attempt is due at nextAt), SUCCEEDED, EXHAUSTED, CANCELLED
//	attempts  number, startedAt, durationMicros, statusCode, failure, manual, excerpt, keys
//	nextAt    only while FAILED
//	sender    with several processes: the process that tried the delivery last, or took it over at takenAt
//
// Schema 1 had no retries: Decode returns EXHAUSTED for its FAILED. Records hold references: no bodies, no personal data, no secrets.
//
// A record's name is <accountId>.<endpointId>.<eventId>.<kind>, the kind with "-" for ".": planning an event twice gives the
// same name. ID is 26 characters of the SHA-256 of the name, for clients.
//
// The package must not know: streams, HTTP, clocks.
package delivery
