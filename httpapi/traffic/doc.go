// Package traffic counts the requests that this node answered, by account and hour: their statuses
// and the time that the answers took. Nodes adds the counts of all nodes up (D20).
//
// # Rules
//
//   - The counts are in memory: of this node, since its start. A request counts in the hour of its
//     answer, in UTC. Requests that belong to no account do not count, nor do pages, and streams
//     that stay open.
//   - An account has the newest 31 days. The memory is bounded: 256 accounts with 70 kB each. A new
//     account replaces the account that has made no request for the longest time, in hours.
//   - For a report a node requests the counts of the other nodes that serve. A node that does not
//     answer in time is counted as silent: its requests are missing.
//   - A report has only hours and days of which the counts of a node know something: a day before
//     Since is left out, it is not 0. Before AllSince a node is missing that had not started then.
//
// The package must not know: routes, bodies.
//
// # Design notes
//
// A request is counted without a lock: the newest two hours have atomic counters, and older ones
// are packed. A goroutine that counts is never later than an hour. Measured on two busy cores: 110
// ns a request of one account from one goroutine, 70 ns from two at a time (BenchmarkAdd).
package traffic
