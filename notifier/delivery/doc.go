// Package delivery has the rules of one delivery, without I/O: its record, its attempts, its retry
// schedule, and its ownership by one of several nodes (§6.1, D18).
//
//	PLANNED ──► SUCCEEDED                      the first attempt succeeded
//	   ├──► EXHAUSTED                          the first attempt failed, and the schedule has no delays
//	   ├──► FAILED ──► FAILED … ──► SUCCEEDED  a later attempt succeeded
//	   │        ├────────────────► EXHAUSTED   all automatic attempts failed
//	   └────────┴────────────────► CANCELLED   the endpoint was deleted or disabled when an attempt was due
//
// The delays between automatic attempts are 10 s, 60 s, 5, 10 and 15 minutes, each ±10 %. Manual
// attempts are in the record but do not count. A manual attempt that succeeds ends the delivery as
// SUCCEEDED, also after EXHAUSTED or CANCELLED.
//
// Every change writes the whole record again, as a msgpack map with a schema number. Records hold
// references: no bodies, no personal data, no secrets.
//
// A record's name is <accountId>.<endpointId>.<eventId>.<kind>, the kind with "-" for ".": planning
// an event twice gives the same name. ID is 26 characters of the SHA-256 of the name, for clients.
//
// The package must not know: streams, HTTP, clocks.
package delivery
