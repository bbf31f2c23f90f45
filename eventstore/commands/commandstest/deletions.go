package commandstest

import (
	"strings"
	"time"
)

// Deletions counts the values of streams whose deletion any process requests from now on. count
// returns the numbers since its last call: of overwritten values, each of which rewrites a file of
// its stream, and of values that are only removed. A request that comes twice counts once.
func (r *Rig) Deletions() (count func() (overwritten, removed int)) {
	r.T.Helper()
	conn, err := r.connect()
	if err != nil {
		r.T.Fatal(err)
	}
	r.T.Cleanup(conn.Close)
	requests, err := conn.SubscribeSync("$JS.API.STREAM.MSG.DELETE.>")
	if err != nil {
		r.T.Fatal(err)
	}
	seen := map[string]bool{} // a destruction that another call completes meanwhile is requested twice
	return func() (overwritten, removed int) {
		r.T.Helper()
		if err := conn.Flush(); err != nil {
			r.T.Fatal(err)
		}
		for left, _, _ := requests.Pending(); left > 0; left-- {
			m, err := requests.NextMsg(time.Minute)
			if err != nil {
				r.T.Fatal(err)
			}
			text := m.Subject + string(m.Data)
			switch {
			case seen[text]:
			case strings.Contains(text, `"no_erase":true`):
				removed++
			default:
				overwritten++
			}
			seen[text] = true
		}
		return overwritten, removed
	}
}
