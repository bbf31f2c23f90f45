// Package recovery runs the background work that a crash, another process or the passing of time leaves: unfinished
// operations, actions, inboxes, attempts and erasures, lost dispute notifications, and secrets that are no longer needed.
//
// Rules:
//   - A start does not wait for any of it.
//   - Work that waits for a processor runs in a loop of its own for each processor, so that a processor that does not
//     answer holds up no other (D8, D14.12).
//   - Secrets are destroyed without waiting for a processor (§5.2 rule 3), by Recoverer.RunOnce: the janitor.
//   - Package pending decides when an operation is due, package payments continues it, package secrets destroys secrets.
//
// The package must not know: HTTP, SQL, options of the command line.
package recovery
