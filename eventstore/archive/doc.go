// Package archive is the log as files. Open and Of give package verify the events of a stopped server, of a back-up, and of a running
// server. Inspect checks a stopped folder before its server starts.
//
// # Rules
//
//   - An embedded server changes a damaged folder when it starts: it cuts a file at its first bad record, trusts its index where it
//     has one, and drops a stream whose description is damaged. So Inspect reads the folder before, and refuses a damaged folder.
//   - No stream is changed. Inspect copies a torn tail, which a power failure can leave; then the server cuts it.
//   - An archive reads no further than the ends that were acknowledged when it was opened.
//
// What it must not know: how the store appends. A running store gives it two functions (Running).
package archive
