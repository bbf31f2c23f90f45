package archive

import (
	"fmt"

	"payledger/eventstore/streams"
)

// compareSecrets checks that SECRETS reaches the message that the groups of the log name. It does
// not need the tip store, which may be from an earlier time as the stream itself.
func (in *inspection) compareSecrets(required uint64) error {
	if required == 0 {
		return nil
	}
	newest, last := streams.SecretSegment(max(in.newestSecrets, 1)), uint64(0)
	if in.newestSecrets == 0 {
		return in.missed(newest, 1, fmt.Sprintf("the stream is gone; the log names its record %d", required))
	}
	for name, report := range in.reports {
		if streams.IsSecrets(name) {
			last = max(last, report.Last)
		}
	}
	if last >= required {
		return nil
	}
	return in.missed(newest, last+1, fmt.Sprintf("it ends here, but the log names its record %d", required))
}

// secretsDropped reports whether a stream is a segment of SECRETS that was dropped after a rotation
// of the master key.
func (in *inspection) secretsDropped(name string) bool {
	return streams.IsSecrets(name) && streams.SecretNumber(name) < in.secrets
}
