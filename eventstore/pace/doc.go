// Package pace decides how long a shard lets drafts gather before its next group.
//
// A group costs about the same, whether it has one event or fifty: it is encoded, sent, written and
// synced, on a cluster by three servers which agree on it. While they keep up, the next group
// leaves at once. When they do not, a group takes longer than it needs, and groups of few events
// make it worse: then the next group waits for as long as the last ones took beyond what they need,
// at most Longest, and no longer than until as many drafts are there as were there when the last
// group was acknowledged. So a lone writer never waits, and nobody waits for servers that keep up.
//
// The package must not know: groups, drafts, who appends.
//
// # Place
//
//	log           engine
//	shards      ► pace
package pace
