// Package folder locks the folder of an embedded server, repairs the folder of a stopped one before
// a start, and copies files that the server will cut.
//
// # Rules
//
//   - Only files that the server makes again are removed: the description of a stream without
//     messages, and an index. No message is ever lost by a repair.
//   - A repair runs after the inspection: a damaged folder is refused unchanged (package comment of
//     eventstore, design notes).
//
// The package must not know: what the messages hold. Package blocks knows the layout of the files.
//
// # Place
//
//	outside       cmd
//	log           engine
//	servers       archive, embedded
//	streams     ► folder
//	streams       blocks
package folder
