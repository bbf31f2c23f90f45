package streams

// Secrets is the stream of sealed secrets, the only one whose messages are destroyed one by one
// (package secretlog). It is no shard, and has segments as a shard has.
const Secrets = "SECRETS"

// SecretSegment returns the name of a segment of Secrets.
func SecretSegment(number uint32) string { return numbered(Secrets, number) }

// SecretNumber returns the number of a segment of Secrets; 0 for another name.
func SecretNumber(name string) uint32 {
	of, number, ok := cut(name)
	if !ok || of != Secrets {
		return 0
	}
	return number
}

// IsSecrets reports whether a stream is a segment of Secrets.
func IsSecrets(name string) bool { return SecretNumber(name) > 0 }

// SecretSegments returns the segments of Secrets among some names, in their order.
func SecretSegments(names []string) []string { return sorted(names, IsSecrets) }

// Ours reports whether a stream is a segment of a shard or of Secrets.
func Ours(name string) bool {
	_, _, shard := Parse(name)
	return shard || IsSecrets(name)
}
