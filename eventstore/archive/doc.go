// Package archive reads the files of a log. Open and Of return the archive of a stopped server, of
// a back-up, and of a running server, which package verify checks. Inspect checks a stopped folder
// before its server starts.
//
// # Rules
//
//   - An embedded server changes a damaged folder when it starts. It cuts a file at its first bad
//     record, trusts its index if it has one, and drops a stream whose description is damaged. So
//     Inspect reads the folder first, and refuses a damaged folder.
//   - No record is changed. A power failure can leave a torn tail (a record that is not complete).
//     Inspect copies it before the server cuts it, but never one of SECRETS, and removes the index
//     of its stream, so that the server does.
//   - An archive reads no further than the ends that were acknowledged when it was opened.
//
// The package must not know: how the store appends. A running store passes two functions (Running).
//
// # Place
//
//	outside       cmd
//	log           engine, verify
//	servers       backup, backup/restore, embedded
//	servers     ► archive
//	servers       remote
//	streams       blocks, deliverylog, folder, secretlog, sidelog, streams and 2 others
//	bytes         checkpoint, fault, format
package archive
