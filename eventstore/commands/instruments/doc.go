// Package instruments tokenizes cards (D12), and vaults (D5.10), verifies (D5.11) and deletes
// tokens (D5.13).
//
// A card is stored before the event that names its token, and copied after the event that vaults
// the token. After a crash in between, the cleaner asks payments.CardNeeded, which completes the
// vaulting. Discarded cards wait in a queue for destruction. A card that no longer fits in the
// queue is left to the cleaner.
//
// Limits of saved cards (saved.go) count recorded tokens in the read model, of all nodes. The saved
// cards of a customer are in one shard: the count waits for this shard only, and the order of the
// records is known. On one node the cards of a customer are saved one after the other. Of several
// nodes, each looks again after it has recorded its token: the cards that were recorded first stay,
// and a node deletes its card if it is above a limit. If the node ends before, the cleaner of any
// node does. If the merchant changes the customer of a session, the session's cards are in two
// shards: the node that saves a card counts the other shard's cards as far as it has applied them,
// and never deletes one for them.
//
// A verification is an authorization of zero. It moves no money, so it may be sent again under its
// key.
//
// The package must not know: payments. Package payments decides how long a card is needed.
package instruments
