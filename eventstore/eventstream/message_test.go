package eventstream_test

import (
	"errors"
	"testing"

	"payledger/eventstore/eventstream"
)

// TestMessageIsAskedForTwice: a message counts as lost only if the server does not have it twice,
// while the stream must have it. The message after the last one may be published between the answer
// and the look at the stream's end, and the first one may leave: this is no damage, and must not
// end the connections of all clients.
func TestMessageIsAskedForTwice(t *testing.T) {
	t.Parallel()
	const there, none = `{"message":{"subject":"events.0ours.x"}}`, `{"error":{"code":404,"err_code":10037}}`
	for _, c := range []struct {
		name    string
		answers []string
		within  []bool
		lost    bool
	}{
		{"a message", []string{there}, nil, false},
		{"after the last one", []string{none}, []bool{false}, false},
		{"published after the answer", []string{none, there}, []bool{true}, false},
		{"left after the look", []string{none, none}, []bool{true, false}, false},
		{"lost", []string{none, none}, []bool{true, true}, true},
		{"another error", []string{`{"error":{"code":500,"err_code":1}}`}, nil, false},
	} {
		asked, looked := 0, 0
		text, lost, err := eventstream.ReadMessage(func() ([]byte, error) {
			asked++
			return []byte(c.answers[asked-1]), nil
		}, func() bool {
			looked++
			return c.within[looked-1]
		})
		if err != nil || lost != c.lost || asked != len(c.answers) || looked != len(c.within) || string(text) != c.answers[asked-1] {
			t.Errorf("%s: lost %t after %d requests and %d looks, with %s, %v", c.name, lost, asked, looked, text, err)
		}
	}
	away := errors.New("away")
	for i, answers := range [][]string{{""}, {none, ""}} { // the server does not answer the last request
		asked := 0
		_, lost, err := eventstream.ReadMessage(func() ([]byte, error) {
			asked++
			if answers[asked-1] == "" {
				return nil, away
			}
			return []byte(answers[asked-1]), nil
		}, func() bool { return true })
		if lost || !errors.Is(err, away) || asked != len(answers) {
			t.Errorf("%d: lost %t after %d requests, %v", i, lost, asked, err)
		}
	}
}
