// Package disk watches the free space of an embedded server's folder.
//
// # Rules
//
//   - The store refuses requests first, so that outcomes of earlier requests still fit (D3).
//   - If other programs fill the disk, a file, the ballast, is removed to make room for outcomes.
//   - A start on a full disk has a ballast of its own. On a full disk the server would stop all its
//     streams for good.
//   - The free space is measured once a second and by appends. While much is free, appends measure
//     at most every 20 ms.
//
// The package must not know: the log, and the content of the folder.
//
// # Place
//
//	outside       cmd
//	log           engine
//	servers       embedded
//	storage     ► disk
package disk
