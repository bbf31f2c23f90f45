package eventstore

// Decode returns the events of one message of the log, in their order, for readers of the log's own streams. A message
// without events, a fence or the last of a segment, gives none.
func Decode(message []byte) ([]*Recorded, error) {
	g, err := parseGroup(message)
	if err != nil {
		return nil, err
	}
	return g.frames, nil
}
