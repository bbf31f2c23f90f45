// Package disk watches the free space of an embedded server's folder, and writes files durably.
//
// # Rules
//
//   - The store refuses requests first, so that outcomes of earlier requests still fit (D3).
//   - If other programs fill the disk, a file, the ballast, is removed to make room for outcomes.
//   - A start on a full disk has a ballast of its own. On a full disk the server would stop all its
//     streams for good.
//   - The free space is measured once a second and by appends. While much is free, appends measure
//     at most every 20 ms.
//   - A file is written under a temporary name, synced and renamed, and then its folder is synced.
//     Every package that must find a file whole after a power failure writes it so.
//
// The package must not know: the log, and the contents of files.
//
// # Place
//
//	outside       cmd
//	application   secrets
//	log           engine, eventstream
//	servers       backup, embedded
//	storage       folder
//	storage     ► disk
package disk
