package eventstream

import (
	"github.com/nats-io/nats-server/v2/server"
)

// ReadMessage is readMessage without the decoded answer.
func ReadMessage(request func() ([]byte, error), within func() bool) (text []byte, lost bool, err error) {
	a, err := readMessage(request, within)
	return a.text, a.lost, err
}

// Pull returns the request that the gate forwards for a request for messages.
var Pull = pull

// EndServiceConnections ends the service's own connections, as the server ends a slow reader's. It
// returns their number.
func (s *Server) EndServiceConnections() (ended int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ns := s.ns.(natsServer).ns
	all, err := ns.Connz(&server.ConnzOptions{})
	if err != nil {
		return 0, err
	}
	for _, c := range all.Conns {
		if c.Name == "payledger" {
			ended++
			if err := ns.DisconnectClientByID(c.Cid); err != nil {
				return ended, err
			}
		}
	}
	return ended, nil
}

// NoteIn is Note of a server with a folder.
func NoteIn(dir, reason string) error { return (&Server{config: Config{Dir: dir}}).Note(reason) }

// NotedIn is Noted of a server with a folder.
func NotedIn(dir string) string { return (&Server{config: Config{Dir: dir}}).Noted() }
