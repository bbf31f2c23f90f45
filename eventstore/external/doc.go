// Package external connects to an external NATS cluster, and checks that the cluster can hold the
// log.
//
// Rules:
//
//   - A server counts only if it answered for itself: every server of the JetStream cluster must
//     sync every write, and have a version and limits that the log needs. A server that gives no
//     answer is a fault.
//   - Servers show their configuration only to the system account. The ledger's account sees it if
//     it imports the service ServerInfo from the system account, or if Access has the credentials
//     of a system user.
//   - No error contains a user, a password or the content of a file.
//
// The package must not know: events, shards, commands.
//
// # Place
//
//	outside       cmd
//	log           engine
//	servers       backup/restore, remote
//	servers     ► external
//	storage       jetapi, streams
package external
