// Package backups has the commands backup and restore (I1).
//
// Rules: backup reads the files of the data folder itself, and changes nothing there. A running
// service only names the ends of its streams, over the socket in its folder. restore makes the new
// folder under another name beside it, and renames it when verify has found no fault. Before the
// work it renames an empty folder in the same way: the root of a volume cannot be replaced. An
// interrupted restore leaves no folder under the wanted name; the next one removes the rest. A
// restore to a cluster makes the checks of init, and leaves nothing that a node serves unless it is
// complete.
//
// The package must not know: the format of a back-up, the service's parts and how they start.
package backups
